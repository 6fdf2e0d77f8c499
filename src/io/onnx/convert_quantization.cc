// Rules for quantised ONNX: QuantizeLinear and DequantizeLinear are no operators where the nodes
// between them work with integers, but say what the integers stand for.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "src/io/onnx/convert_call.h"

namespace edgesage::onnx::convert {
namespace {

Outcome nothing() { return std::vector<Val>{}; }

bool same(const QuantParameters& a, const QuantParameters& b) {
  return a.scale == b.scale && a.zero_point == b.zero_point && a.type == b.type;
}

Quant quant_of(Call& call) {
  const DataType type =
      call.op() == "DequantizeLinear" ? data_type(call.in(0).element) : DataType::kUInt8;
  const Val* zero = call.has(2) ? &call.in(2) : nullptr;
  if (!call.has(1)) return nullptr;
  const auto axis = Call::axis(call.node.attr_int("axis", 1), std::max<size_t>(1, call.rank(0)));
  Quant quant = make_quant(call.in(1), zero, axis.value_or(0), type);
  if (quant == nullptr || call.node.attr_int("block_size", 0) == 0) return quant;
  auto blocks = std::make_shared<QuantParameters>(*quant);
  blocks->block = call.node.attr_int("block_size", 0);
  return blocks;
}

Outcome dequantize_linear(Call& call) {
  if (!call.has(0)) return nothing();
  const Val& in = call.in(0);
  Quant quant = quant_of(call);
  if (quant == nullptr) {
    // The scale is computed: reals are made at run time.
    const Id id = call.net.cast(OpKind::kDequantize, call.as_it_lies(0), call.made());
    return one(call.result(id, in.is_constant() ? View::plain(in.view.shape()) : in.view));
  }
  Val value = in;
  value.element = call.out_element();
  if (in.element == ElementType::kInt32 && !in.is_constant()) {  // accumulators, not activations
    const Id id = call.net.cast(OpKind::kDequantize, call.as_it_lies(0), call.made());
    return one(call.result(id, in.view));
  }
  if (!in.is_constant()) {
    Tensor& tensor = call.net.tensor(in.tensor);
    if (tensor.quantization.empty()) {
      const auto order = in.view.order_in(tensor.shape);
      int32_t axis = 0;
      if (order && quant->axis >= 0)
        axis = static_cast<int32_t>(std::ranges::find(*order, static_cast<int32_t>(quant->axis)) -
                                    order->begin());
      tensor.quantization = quantization_of(*quant, axis);
      call.net.set_quant(in.tensor, quant);
    }
  }
  value.quant = std::move(quant);
  value.made_by = -1;
  return one(std::move(value));
}

Outcome quantize_linear(Call& call) {
  if (!call.has(0)) return nothing();
  const Val& in = call.in(0);
  const int32_t index = static_cast<int32_t>(&call.node - call.scope().table.nodes.data());
  Quant quant = quantizer_of(call.scope(), call.input_id(0));
  if (quant == nullptr || call.scope().uses.quantizer(call.input_id(0)) != index)
    quant = quant_of(call);
  const DataType type = data_type(call.out_element());
  Val value = in;
  value.element = call.out_element();
  value.quant = nullptr;
  if (quant != nullptr && in.quant != nullptr && same(*quant, *in.quant) && !in.is_constant())
    return one(std::move(value));
  const Made made{type, quant};
  const Id x = in.is_constant() ? call.plain(0) : in.tensor;
  const Id id = call.net.cast(OpKind::kQuantize, x, made);
  Val result = call.result(id, in.is_constant() ? View::plain(in.view.shape()) : in.view);
  result.quant = nullptr;
  return one(std::move(result));
}

// Integers, scale and zero point of a tensor's own range. What multiplies them next reads the reals
// and quantises them itself, as TFLite's kernels for 8-bit weights do.
Outcome dynamic_quantize_linear(Call& call) {
  if (!call.has(0)) return nothing();
  const Val& in = call.in(0);
  if (in.is_constant() || in.quant != nullptr) return nothing();
  std::vector<Val> values(3, in);
  values[0].role = Val::Role::kDynamic;
  values[0].made_by = -1;
  for (const size_t i : {size_t{1}, size_t{2}}) {
    Val& value = values[i];
    value = {};
    const Made made{i == 1 ? DataType::kFloat32 : DataType::kUInt8, nullptr};
    value.tensor = call.net.absent(made, {});
    value.view = View::plain({});
    value.element = i == 1 ? ElementType::kFloat : ElementType::kUint8;
    value.role = Val::Role::kDynamicScale;
  }
  return values;
}

Val as_real(Call& call, size_t i, Quant quant) {
  Val value = call.in(i);
  value.element = ElementType::kFloat;
  if (!value.is_constant()) {
    Tensor& tensor = call.net.tensor(value.tensor);
    if (tensor.quantization.empty()) {
      tensor.quantization = quantization_of(*quant, 0);
      call.net.set_quant(value.tensor, quant);
    }
  }
  value.quant = std::move(quant);
  return value;
}

Val as_integers(Call& call, Id id, const DimOrder& order) {
  Val value = call.result(id, order);
  value.quant = nullptr;
  return value;
}

// a, scale, zero, b, scale, zero, c scale, zero.
Outcome qlinear_binary(Call& call, OpKind kind) {
  if (call.count() < 7 || !call.knows(0)) return nothing();
  const Quant a = make_quant(call.in(1), &call.in(2), -1, DataType::kUInt8);
  const Quant b = make_quant(call.in(4), &call.in(5), -1, DataType::kUInt8);
  const Quant c = make_quant(call.in(6), &call.in(7), -1, DataType::kUInt8);
  if (a == nullptr || b == nullptr || c == nullptr) return nothing();
  call.quantise(c);
  const size_t leader = call.in(0).is_constant() || call.rank(0) < call.rank(3) ? 3 : 0;
  const size_t rank = call.rank(leader);
  const DimOrder order = call.rank(0) == call.rank(3) ? call.layout(leader) : plain_order(rank);
  const auto operand = [&](size_t i, const Quant& quant) {
    Val value = as_real(call, i, quant);
    Shape shape(rank - std::min(rank, value.view.rank()), 1);
    const Shape own = value.view.shape();
    shape.insert(shape.end(), own.begin(), own.end());
    if (auto view = value.view.reshaped(shape)) value.view = *std::move(view);
    return call.x(value, value.view.rank() == rank ? order : plain_order(value.view.rank()));
  };
  const Id id = call.net.binary(kind, operand(0, a), operand(3, b), {c->type, c});
  if (call.out_shape().size() != rank) return nothing();
  return one(as_integers(call, id, order));
}

Outcome qlinear_add(Call& call) { return qlinear_binary(call, OpKind::kAdd); }
Outcome qlinear_mul(Call& call) { return qlinear_binary(call, OpKind::kMul); }

// x, scale, zero, y scale, zero.
template <OpKind kind>
Outcome qlinear_unary(Call& call) {
  if (call.count() < 4) return nothing();
  const Quant x = make_quant(call.in(1), &call.in(2), -1, DataType::kUInt8);
  const Quant y = make_quant(call.in(3), &call.in(4), -1, DataType::kUInt8);
  if (x == nullptr || y == nullptr) return nothing();
  call.quantise(y);
  const DimOrder order = call.layout(0);
  const Val input = as_real(call, 0, x);
  const Id id = call.net.unary(kind, call.x(input, order), {y->type, y});
  if (kind == OpKind::kLeakyRelu) call.net.last().set("alpha", call.node.attr_float("alpha", 0.01));
  Val value = call.result(id, View(call.shape(0), order));
  value.quant = nullptr;
  return one(std::move(value));
}

// y scale, zero, then x, scale, zero of each part.
Outcome qlinear_concat(Call& call) {
  if (call.count() < 5 || (call.count() - 2) % 3 != 0 || !call.knows(0)) return nothing();
  const Quant y = make_quant(call.in(0), &call.in(1), -1, DataType::kUInt8);
  if (y == nullptr) return nothing();
  call.quantise(y);
  const size_t rank = call.rank(2);
  const auto axis = Call::axis(call.node.attr_int("axis", 1), rank);
  if (!axis || call.out_shape().size() != rank) return nothing();
  const DimOrder order = call.layout(2);
  Operator op;
  op.kind = OpKind::kConcatenation;
  for (size_t i = 2; i < call.count(); i += 3) {
    const Quant x = make_quant(call.in(i + 1), &call.in(i + 2), -1, DataType::kUInt8);
    if (x == nullptr || call.rank(i) != rank) return nothing();
    op.inputs.push_back(call.x(as_real(call, i, x), order));
  }
  op.set("axis", std::ranges::find(order, static_cast<int32_t>(*axis)) - order.begin());
  const Shape stored = View(call.out_shape(), order).stored_shape(order);
  const Id id = call.net.add(std::move(op), {y->type, y}, stored);
  return one(as_integers(call, id, order));
}

constexpr std::array kRules{
    NamedRule{"DequantizeLinear", dequantize_linear},
    NamedRule{"QuantizeLinear", quantize_linear},
    NamedRule{"DynamicQuantizeLinear", dynamic_quantize_linear},
    NamedRule{"QLinearAdd", qlinear_add},
    NamedRule{"QLinearMul", qlinear_mul},
    NamedRule{"QLinearSigmoid", qlinear_unary<OpKind::kLogistic>},
    NamedRule{"QLinearLeakyRelu", qlinear_unary<OpKind::kLeakyRelu>},
    NamedRule{"QLinearSoftmax", qlinear_unary<OpKind::kSoftmax>},
    NamedRule{"QLinearConcat", qlinear_concat},
};

}  // namespace

std::span<const NamedRule> quantization_rules() { return kRules; }

}  // namespace edgesage::onnx::convert
