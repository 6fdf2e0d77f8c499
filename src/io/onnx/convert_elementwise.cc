// Rules for element-wise nodes of ONNX. What has no operator of its own is put together as TFLite's
// converters do it.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "src/io/onnx/convert_call.h"

namespace edgesage::onnx::convert {
namespace {

constexpr std::string_view kFused = "fused_activation_function";

// The result lies as input 0 does, unless inference says another shape.
Val like_input(Call& call, Id id) {
  const Val& in = call.in(0);
  if (in.is_constant()) return call.result(id, View::plain(in.view.shape()));
  return call.result(id, in.view);
}

Outcome unary(Call& call, OpKind kind) {
  return one(like_input(call, call.net.unary(kind, call.as_it_lies(0), call.made())));
}

template <OpKind kind>
Outcome plain_unary(Call& call) {
  if (!call.has(0)) return std::vector<Val>{};
  return unary(call, kind);
}

template <OpKind kind>
Outcome fusable(Call& call) {
  return activation(call, kind);
}

// x, or the same value under another name.
Outcome pass(Call& call) {
  if (!call.has(0)) return std::vector<Val>{};
  std::vector<Val> values{call.in(0)};
  values.front().element = call.out_element();
  // Dropout's mask is not needed to run a network.
  return values;
}

Outcome cast(Call& call) {
  const Val& in = call.in(0);
  const ElementType to = call.out_element();
  if (in.role == Val::Role::kDynamicSum || to == in.element) {
    Val value = in;
    value.element = to;
    return one(std::move(value));
  }
  Operator* op = call.sole_producer(0);
  const bool index = op != nullptr && (op->kind == OpKind::kArgMax || op->kind == OpKind::kArgMin);
  if (index && (to == ElementType::kInt32 || to == ElementType::kInt64)) {
    op->set("output_type", static_cast<int64_t>(data_type(to)));
    Val value = in;
    value.element = to;
    call.net.tensor(value.tensor).type = data_type(to);
    return one(std::move(value));
  }
  const Id x = call.as_it_lies(0);
  return one(like_input(call, call.net.cast(OpKind::kCast, x, {data_type(to), nullptr})));
}

Outcome leaky_relu(Call& call) {
  Val value = like_input(call, call.net.unary(OpKind::kLeakyRelu, call.as_it_lies(0), call.made()));
  call.net.last().set("alpha", call.node.attr_float("alpha", 0.01));
  return one(std::move(value));
}

Outcome gelu(Call& call) {
  Val value = like_input(call, call.net.unary(OpKind::kGelu, call.as_it_lies(0), call.made()));
  if (call.op() == "FastGelu" || call.node.attr_string("approximate", "none") == "tanh")
    call.net.last().set("approximate", int64_t{1});
  return one(std::move(value));
}

// The order in which operands are joined: that of the largest one that is no constant.
DimOrder joint_order(const Call& call, size_t rank) {
  std::optional<DimOrder> best;
  int64_t most = -1;
  bool best_is_image = false;
  for (size_t i = 0; i < call.count(); ++i) {
    if (!call.has(i) || call.in(i).is_constant() || call.rank(i) != rank) continue;
    Tensor tensor;
    tensor.shape = call.shape(i);
    const int64_t elements = tensor.element_count();
    DimOrder order = call.layout(i);
    const bool image = order == image_order(rank) && rank > 2;
    if (elements > most || (elements == most && image && !best_is_image && call.wants_image())) {
      most = elements;
      best_is_image = image;
      best = std::move(order);
    }
  }
  if (best) return *std::move(best);
  return call.wants_image() && rank > 2 ? image_order(rank) : plain_order(rank);
}

// An operand with leading sides of 1 where the joint order has dimensions that it lacks.
Val with_rank(const Val& value, size_t rank) {
  if (value.view.rank() >= rank) return value;
  Shape shape(rank - value.view.rank(), 1);
  const Shape own = value.view.shape();
  shape.insert(shape.end(), own.begin(), own.end());
  Val result = value;
  if (auto view = value.view.reshaped(shape)) {
    result.view = *std::move(view);
    if (result.quant != nullptr && result.quant->axis >= 0) {
      auto quant = std::make_shared<QuantParameters>(*result.quant);
      quant->axis += static_cast<int64_t>(rank - value.view.rank());
      result.quant = std::move(quant);
    }
  }
  return result;
}

// Constants as short as broadcasting allows: one scale a channel is [C].
Id operand(Call& call, const Val& value, const DimOrder& order) {
  const Val full =
      with_rank(value, order.size() - static_cast<size_t>(std::ranges::count(order, kNoDim)));
  if (!value.is_constant()) return call.x(full, order);
  const Shape stored = full.view.stored_shape(order);
  size_t first = 0;
  while (first < stored.size() && stored[first] == 1) ++first;
  return call.x(full, DimOrder(order.begin() + static_cast<std::ptrdiff_t>(first), order.end()));
}

size_t joint_rank(const Call& call) {
  size_t rank = 0;
  for (size_t i = 0; i < call.count(); ++i)
    if (call.has(i)) rank = std::max(rank, call.rank(i));
  return rank;
}

Val joint_result(Call& call, Id id, const DimOrder& order) {
  const size_t rank = joint_rank(call);
  if (call.knows(0) && call.out_shape().size() == rank) return call.result(id, order);
  // Nothing is declared: the tensor says it.
  Shape shape(rank, 1);
  const Shape& stored = call.net.shape(id);
  for (size_t d = 0; d < order.size() && d < stored.size(); ++d)
    if (order[d] != kNoDim) shape[static_cast<size_t>(order[d])] = stored[d];
  return call.result(id, View(shape, order));
}

Outcome join(Call& call, OpKind kind) {
  if (!call.has(0)) return std::vector<Val>{};
  const DimOrder order = joint_order(call, joint_rank(call));
  const Made made = call.made();
  Id id = operand(call, call.in(0), order);
  for (size_t i = 1; i < call.count(); ++i)
    if (call.has(i)) id = call.net.binary(kind, id, operand(call, call.in(i), order), made);
  if (call.count() == 1) return pass(call);
  return one(joint_result(call, id, order));
}

template <OpKind kind>
Outcome binary(Call& call) {
  return join(call, kind);
}

Outcome mean_of_all(Call& call) {
  EDGESAGE_ASSIGN_OR_RETURN(auto values, join(call, OpKind::kAdd));
  if (call.count() < 2 || values.empty()) return values;
  const Made made = call.made();
  const Id share = call.net.scalar(1 / static_cast<double>(call.count()), made);
  values.front().tensor = call.net.binary(OpKind::kMul, values.front().tensor, share, made);
  values.front().made_by += 1;
  return values;
}

Outcome fold_or_join(Call& call, OpKind kind) {
  for (const auto& [constant, other] : {std::pair{1, 0}, std::pair{0, 1}})
    if (auto value = fold_constant(call, static_cast<size_t>(constant), static_cast<size_t>(other)))
      return one(*std::move(value));
  return join(call, kind);
}

Outcome add(Call& call) { return fold_or_join(call, OpKind::kAdd); }

// Integers multiplied after quantising on the fly are scaled back here: nothing is left to do.
Outcome mul(Call& call) {
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const Val& value = call.in(i);
    const Val& other = call.in(1 - i);
    const bool scales = value.role == Val::Role::kDynamicScale &&
                        (other.is_constant() || other.role == Val::Role::kDynamicScale);
    const bool scaled = value.role == Val::Role::kDynamicSum &&
                        (other.is_constant() || other.role == Val::Role::kDynamicScale);
    if (!scales && !scaled) continue;
    Val result = value;
    result.element = call.out_element();
    if (scaled) result.role = Val::Role::kPlain;
    return one(std::move(result));
  }
  return fold_or_join(call, OpKind::kMul);
}

Outcome power(Call& call) {
  const auto exponent = call.real(1);
  if (exponent && *exponent == 2) return unary(call, OpKind::kSquare);
  if (exponent && *exponent == 0.5) return unary(call, OpKind::kSqrt);
  if (exponent && *exponent == 1) return pass(call);
  return join(call, OpKind::kPow);
}

Outcome clip(Call& call) {
  const bool attributes = call.node.since < 11;
  const auto limit = [&](std::string_view name, size_t input) -> std::optional<double> {
    if (!attributes) return call.real(input);
    const Attribute* attribute = call.node.find(name);
    return attribute != nullptr ? std::optional(attribute->f) : std::nullopt;
  };
  const auto low = limit("min", 1), high = limit("max", 2);
  const bool open_above = !high || *high > 3e38;
  if (low && *low == 0 && open_above && !call.has(2)) return activation(call, OpKind::kRelu);
  if (low && high && *low == 0 && *high == 6) return activation(call, OpKind::kRelu6);
  if (low && high && *low == -1 && *high == 1) return activation(call, OpKind::kReluN1To1);
  if (low && high && *low == 0 && *high == 1) return unary(call, OpKind::kRelu0To1);
  const Made made = call.made();
  Id x = call.as_it_lies(0);
  const bool below = low ? *low > -3e38 : call.has(1);
  const bool above = high ? *high < 3e38 : call.has(2);
  if (!below && !above) return pass(call);
  if (below)
    x = call.net.binary(OpKind::kMaximum, x, low ? call.net.scalar(*low, made) : call.plain(1),
                        made);
  if (above)
    x = call.net.binary(OpKind::kMinimum, x, high ? call.net.scalar(*high, made) : call.plain(2),
                        made);
  return one(like_input(call, x));
}

// alpha * x + beta between 0 and 1; with a sixth and a half it is RELU6 of x + 3.
Outcome hard_sigmoid(Call& call) {
  const Made made = call.made();
  Id x = call.net.binary(OpKind::kAdd, call.as_it_lies(0), call.net.scalar(3, made), made);
  call.net.last().set(kFused, static_cast<int64_t>(Activation::kRelu6));
  const double alpha = call.node.attr_float("alpha", 0.2);
  x = call.net.binary(OpKind::kMul, x, call.net.scalar(alpha, made), made);
  return one(like_input(call, x));
}

// x by a function of x that TFLite takes an operator for.
template <OpKind kind>
Outcome gated(Call& call) {
  const Made made = call.made();
  const Id x = call.as_it_lies(0);
  return one(
      like_input(call, call.net.binary(OpKind::kMul, x, call.net.unary(kind, x, made), made)));
}

// log(1 + exp(x)).
Id softplus_of(Call& call, Id x) {
  const Made made = call.made();
  x = call.net.unary(OpKind::kExp, x, made);
  x = call.net.binary(OpKind::kAdd, x, call.net.scalar(1, made), made);
  return call.net.unary(OpKind::kLog, x, made);
}

Outcome softplus(Call& call) {
  return one(like_input(call, softplus_of(call, call.as_it_lies(0))));
}

Outcome mish(Call& call) {
  const Made made = call.made();
  const Id x = call.as_it_lies(0);
  const Id gate = call.net.unary(OpKind::kTanh, softplus_of(call, x), made);
  return one(like_input(call, call.net.binary(OpKind::kMul, x, gate, made)));
}

Outcome softsign(Call& call) {
  const Made made = call.made();
  const Id x = call.as_it_lies(0);
  const Id below = call.net.binary(OpKind::kAdd, call.net.unary(OpKind::kAbs, x, made),
                                   call.net.scalar(1, made), made);
  return one(like_input(call, call.net.binary(OpKind::kDiv, x, below, made)));
}

Outcome selu(Call& call) {
  const Made made = call.made();
  const Id x = call.net.unary(OpKind::kElu, call.as_it_lies(0), made);
  const Id scale = call.net.scalar(call.node.attr_float("gamma", 1.0507), made);
  return one(like_input(call, call.net.binary(OpKind::kMul, x, scale, made)));
}

Outcome reciprocal(Call& call) {
  const Made made = call.made();
  const Id one_by = call.net.scalar(1, made);
  return one(like_input(call, call.net.binary(OpKind::kDiv, one_by, call.as_it_lies(0), made)));
}

Outcome is_nan(Call& call) {
  const Id x = call.as_it_lies(0);
  return one(
      like_input(call, call.net.binary(OpKind::kNotEqual, x, x, {DataType::kBool, nullptr})));
}

Outcome select(Call& call) {
  if (call.count() < 3) return std::vector<Val>{};
  const DimOrder order = joint_order(call, joint_rank(call));
  Operator op;
  op.kind = OpKind::kSelectV2;
  for (size_t i = 0; i < 3; ++i) op.inputs.push_back(operand(call, call.in(i), order));
  Shape stored{};
  for (const Id x : op.inputs)
    if (auto joined = broadcast_shapes(stored, call.net.shape(x))) stored = *std::move(joined);
  const Id id = call.net.add(std::move(op), call.made(), stored);
  return one(joint_result(call, id, order));
}

// GELU of x plus a bias.
Outcome bias_gelu(Call& call) {
  EDGESAGE_ASSIGN_OR_RETURN(auto values, join(call, OpKind::kAdd));
  if (values.empty()) return values;
  Val& value = values.front();
  value.tensor = call.net.unary(OpKind::kGelu, value.tensor, call.made());
  value.made_by += 1;
  return values;
}

Outcome modulo(Call& call) { return join(call, OpKind::kFloorMod); }

Outcome bit_shift(Call& call) {
  if (call.node.attr_string("direction", "RIGHT") != "RIGHT") return std::vector<Val>{};
  return join(call, OpKind::kRightShift);
}

constexpr std::array kRules{
    NamedRule{"Relu", fusable<OpKind::kRelu>},
    NamedRule{"LeakyRelu", leaky_relu},
    NamedRule{"PRelu", binary<OpKind::kPrelu>},
    NamedRule{"Elu", plain_unary<OpKind::kElu>},
    NamedRule{"Selu", selu},
    NamedRule{"Sigmoid", plain_unary<OpKind::kLogistic>},
    NamedRule{"Tanh", plain_unary<OpKind::kTanh>},
    NamedRule{"Abs", plain_unary<OpKind::kAbs>},
    NamedRule{"Neg", plain_unary<OpKind::kNeg>},
    NamedRule{"Exp", plain_unary<OpKind::kExp>},
    NamedRule{"Log", plain_unary<OpKind::kLog>},
    NamedRule{"Sqrt", plain_unary<OpKind::kSqrt>},
    NamedRule{"Ceil", plain_unary<OpKind::kCeil>},
    NamedRule{"Floor", plain_unary<OpKind::kFloor>},
    NamedRule{"Round", plain_unary<OpKind::kRound>},
    NamedRule{"Sin", plain_unary<OpKind::kSin>},
    NamedRule{"Cos", plain_unary<OpKind::kCos>},
    NamedRule{"Sign", plain_unary<OpKind::kSign>},
    NamedRule{"Not", plain_unary<OpKind::kLogicalNot>},
    NamedRule{"HardSwish", plain_unary<OpKind::kHardSwish>},
    NamedRule{"HardSigmoid", hard_sigmoid},
    NamedRule{"Softplus", softplus},
    NamedRule{"Softsign", softsign},
    NamedRule{"Mish", mish},
    NamedRule{"Swish", gated<OpKind::kLogistic>},
    NamedRule{"QuickGelu", gated<OpKind::kLogistic>},
    NamedRule{"Gelu", gelu},
    NamedRule{"FastGelu", gelu},
    NamedRule{"BiasGelu", bias_gelu},
    NamedRule{"Reciprocal", reciprocal},
    NamedRule{"IsNaN", is_nan},
    NamedRule{"Clip", clip},
    NamedRule{"Cast", cast},
    NamedRule{"CastLike", cast},
    NamedRule{"Identity", pass},
    NamedRule{"Dropout", pass},
    NamedRule{"Add", add},
    NamedRule{"Sub", binary<OpKind::kSub>},
    NamedRule{"Mul", mul},
    NamedRule{"Div", binary<OpKind::kDiv>},
    NamedRule{"Pow", power},
    NamedRule{"Max", binary<OpKind::kMaximum>},
    NamedRule{"Min", binary<OpKind::kMinimum>},
    NamedRule{"Sum", binary<OpKind::kAdd>},
    NamedRule{"Mean", mean_of_all},
    NamedRule{"Equal", binary<OpKind::kEqual>},
    NamedRule{"Less", binary<OpKind::kLess>},
    NamedRule{"LessOrEqual", binary<OpKind::kLessEqual>},
    NamedRule{"Greater", binary<OpKind::kGreater>},
    NamedRule{"GreaterOrEqual", binary<OpKind::kGreaterEqual>},
    NamedRule{"And", binary<OpKind::kLogicalAnd>},
    NamedRule{"Or", binary<OpKind::kLogicalOr>},
    NamedRule{"Xor", binary<OpKind::kNotEqual>},
    NamedRule{"BitwiseXor", binary<OpKind::kBitwiseXor>},
    NamedRule{"BitShift", bit_shift},
    NamedRule{"Mod", modulo},
    NamedRule{"Where", select},
};

}  // namespace

Outcome activation(Call& call, OpKind kind) {
  if (!call.has(0)) return std::vector<Val>{};
  Operator* op = call.sole_producer(0);
  const auto fuses = [](OpKind made) {
    switch (made) {
      case OpKind::kConv2D:
      case OpKind::kDepthwiseConv2D:
      case OpKind::kTransposeConv:
      case OpKind::kConv3D:
      case OpKind::kFullyConnected:
      case OpKind::kAdd:
      case OpKind::kSub:
      case OpKind::kMul:
      case OpKind::kDiv:
      case OpKind::kAveragePool2D:
      case OpKind::kMaxPool2D:
        return true;
      default:
        return false;
    }
  };
  const bool same_numbers = op == nullptr || call.in(0).quant == nullptr || call.quantised();
  if (op == nullptr || !fuses(op->kind) || op->attr_int(kFused, 0) != 0 || !same_numbers)
    return unary(call, kind);
  const Activation fused = kind == OpKind::kRelu    ? Activation::kRelu
                           : kind == OpKind::kRelu6 ? Activation::kRelu6
                                                    : Activation::kReluN1To1;
  op->set(kFused, static_cast<int64_t>(fused));
  Val value = call.in(0);
  value.element = call.out_element();
  return one(std::move(value));
}

std::span<const NamedRule> elementwise_rules() { return kRules; }

}  // namespace edgesage::onnx::convert
