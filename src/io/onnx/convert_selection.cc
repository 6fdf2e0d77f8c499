// Rules for nodes that pick elements by index, sort, count or fill.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "src/io/onnx/convert_call.h"

namespace edgesage::onnx::convert {
namespace {

Outcome nothing() { return std::vector<Val>{}; }

// A tensor in ONNX's order, or in that of `from` where the ranks agree.
Val plain_result(Call& call, Id id, size_t output = 0) {
  const Shape shape = call.knows(output) ? call.out_shape(output) : call.net.shape(id);
  return call.result(id, View::plain(shape), output);
}

Id emit(Call& call, OpKind kind, std::vector<Id> inputs, const Made& made, Shape shape) {
  Operator op;
  op.kind = kind;
  op.inputs = std::move(inputs);
  return call.net.add(std::move(op), made, std::move(shape));
}

Outcome gather(Call& call) {
  if (!call.has(0) || !call.has(1) || !call.knows(0)) return nothing();
  const auto axis = Call::axis(call.node.attr_int("axis", 0), call.rank(0));
  if (!axis) return nothing();
  const Id x = call.plain(0), indices = call.plain(1);
  const Made made = call.net.made_of(x);
  Operator op;
  op.kind = OpKind::kGather;
  op.inputs = {x, indices};
  op.set("axis", *axis);
  const Shape out = call.out_shape();
  const Id id = call.net.add(std::move(op), made, out);
  return one(plain_result(call, id));
}

Outcome gather_nd(Call& call) {
  if (!call.has(0) || !call.has(1) || !call.knows(0) || call.node.attr_int("batch_dims", 0) != 0)
    return nothing();
  const Id x = call.plain(0);
  const Id id =
      emit(call, OpKind::kGatherNd, {x, call.plain(1)}, call.net.made_of(x), call.out_shape());
  return one(plain_result(call, id));
}

// Updates are scattered into a copy of the data.
Outcome scatter_nd(Call& call) {
  if (!call.has(0) || !call.has(2) || !call.knows(0)) return nothing();
  const Id x = call.plain(0);
  const Made made = call.net.made_of(x);
  const Shape out = call.out_shape();
  const Id spread =
      emit(call, OpKind::kScatterNd, {call.plain(1), call.plain(2), call.net.ints(out)}, made, out);
  return one(plain_result(call, call.net.binary(OpKind::kAdd, x, spread, made)));
}

Outcome top_k(Call& call) {
  if (!call.has(0) || !call.knows(0)) return nothing();
  const auto axis = Call::axis(call.node.attr_int("axis", -1), call.rank(0));
  if (!axis) return nothing();
  // TFLite sorts the last dimension.
  DimOrder order = call.layout(0);
  if (order.empty() || order.back() != static_cast<int32_t>(*axis)) {
    order = plain_order(call.rank(0));
    std::erase(order, static_cast<int32_t>(*axis));
    order.push_back(static_cast<int32_t>(*axis));
  }
  const Shape out = call.out_shape();
  if (out.size() != call.rank(0)) return nothing();
  const Id x = call.x(0, order);
  const Shape stored = View(out, order).stored_shape(order);
  Operator op;
  op.kind = OpKind::kTopkV2;
  op.inputs = {x, call.net.ints({out[static_cast<size_t>(*axis)]}, true)};
  const std::vector<Id> ids = call.net.add(std::move(op), call.net.made_of(x), {stored, stored});
  call.net.tensor(ids[1]).type = DataType::kInt32;
  call.net.tensor(ids[1]).quantization = {};
  std::vector<Val> values{call.result(ids[0], View(out, order), 0)};
  if (call.outputs() > 1) {
    values.push_back(call.result(ids[1], View(out, order), 1));
    values.back().quant = nullptr;
  }
  return values;
}

template <OpKind kind>
Outcome arg(Call& call) {
  if (!call.has(0)) return nothing();
  const auto axis = Call::axis(call.node.attr_int("axis", 0), call.rank(0));
  if (!axis) return nothing();
  const DimOrder order = call.layout(0);
  const bool keeps = call.in(0).quant != nullptr && !call.in(0).is_constant();
  const Id x = keeps ? call.net.stored(call.in(0), order) : call.x(0, order);
  const auto place = std::ranges::find(order, static_cast<int32_t>(*axis)) - order.begin();
  Shape stored = call.net.shape(x);
  stored.erase(stored.begin() + place);
  Operator op;
  op.kind = kind;
  op.inputs = {x, call.net.ints({place}, true)};
  const DataType type = data_type(call.out_element());
  op.set("output_type", static_cast<int64_t>(type));
  const Id id = call.net.add(std::move(op), {type, nullptr}, stored);
  DimOrder rest = order;
  rest.erase(rest.begin() + place);
  Shape out = call.shape(0);
  out[static_cast<size_t>(*axis)] = 1;
  View view(out, rest);
  if (call.node.attr_int("keepdims", 1) == 0) {
    out.erase(out.begin() + *axis);
    if (auto narrow = view.reshaped(out)) view = *std::move(narrow);
  }
  Val value = call.result(id, std::move(view));
  value.quant = nullptr;
  return one(std::move(value));
}

Outcome one_hot(Call& call) {
  if (call.count() < 3 || !call.has(0) || !call.knows(0)) return nothing();
  const Made made = call.made();
  const Shape out = call.out_shape();
  const auto axis = Call::axis(call.node.attr_int("axis", -1), out.size());
  if (!axis) return nothing();
  Operator op;
  op.kind = OpKind::kOneHot;
  op.inputs = {call.plain(0), call.net.ints({out[static_cast<size_t>(*axis)]}, true),
               call.net.scalar(1, made), call.net.scalar(0, made)};
  op.set("axis", *axis);
  return one(plain_result(call, call.net.add(std::move(op), made, out)));
}

Outcome cum_sum(Call& call) {
  const auto given = call.ints(1);
  if (!call.has(0) || !given || given->size() != 1) return nothing();
  const auto axis = Call::axis(given->front(), call.rank(0));
  if (!axis) return nothing();
  const DimOrder order = call.layout(0);
  const Id x = call.x(0, order);
  const auto place = std::ranges::find(order, static_cast<int32_t>(*axis)) - order.begin();
  Operator op;
  op.kind = OpKind::kCumsum;
  op.inputs = {x, call.net.ints({place}, true)};
  op.set("exclusive", call.node.attr_int("exclusive", 0));
  op.set("reverse", call.node.attr_int("reverse", 0));
  const Id id = call.net.add(std::move(op), call.made(), Shape(call.net.shape(x)));
  return one(call.result(id, View(call.shape(0), order)));
}

// Constant where the shape is: too large to be folded, but no work at run time.
Outcome constant_of_shape(Call& call) {
  if (!call.knows(0)) return nothing();
  const Shape out = call.out_shape();
  if (call.has(0) && call.in(0).is_constant()) {
    Constant constant;
    constant.element = call.out_element();
    constant.dims = out;
    constant.data_missing = true;
    Val value;
    value.constant = &call.scope().all.made_constants.emplace_back(std::move(constant));
    value.element = call.out_element();
    value.view = View::plain(out);
    return one(std::move(value));
  }
  const Made made = call.made();
  const Id shape = call.has(0) ? call.plain(0) : call.net.ints(out);
  return one(
      plain_result(call, emit(call, OpKind::kFill, {shape, call.net.scalar(0, made)}, made, out)));
}

Outcome range(Call& call) {
  if (call.count() < 3 || !call.has(0) || !call.has(1) || !call.has(2) || !call.knows(0))
    return nothing();
  const Made made = call.made();
  return one(
      plain_result(call, emit(call, OpKind::kRange, {call.plain(0), call.plain(1), call.plain(2)},
                              made, call.out_shape())));
}

// Shapes that are only known at run time.
Outcome shape_of(Call& call) {
  if (!call.has(0)) return nothing();
  const Shape out{static_cast<int64_t>(call.rank(0))};
  const Made made = call.made();
  const Id id = emit(call, OpKind::kShape, {call.as_it_lies(0)}, made,
                     {static_cast<int64_t>(call.net.shape(call.as_it_lies(0)).size())});
  call.net.tensor(id).quantization = {};
  return one(call.result(id, View::plain(call.knows(0) ? call.out_shape() : out)));
}

Outcome non_zero(Call& call) {
  if (!call.has(0) || !call.knows(0)) return nothing();
  // TFLite gives one row a hit, ONNX one column.
  const Shape out = call.out_shape();
  if (out.size() != 2) return nothing();
  const Id id =
      emit(call, OpKind::kWhere, {call.plain(0)}, {DataType::kInt64, nullptr}, {out[1], out[0]});
  return one(call.result(id, View(out, {1, 0})));
}

Outcome reverse_sequence(Call& call) {
  if (!call.has(0) || !call.has(1)) return nothing();
  const Id x = call.plain(0);
  Operator op;
  op.kind = OpKind::kReverseSequence;
  op.inputs = {x, call.plain(1)};
  op.set("seq_dim", call.node.attr_int("time_axis", 0));
  op.set("batch_dim", call.node.attr_int("batch_axis", 1));
  const Id id = call.net.add(std::move(op), call.net.made_of(x), Shape(call.net.shape(x)));
  return one(call.result(id, View::plain(call.shape(0))));
}

// Boxes [batch, n, 4], scores [batch, classes, n], the most boxes a class, two thresholds.
Outcome non_max_suppression(Call& call) {
  if (call.count() < 2 || !call.has(0) || !call.has(1)) return nothing();
  const auto most = call.ints(2);
  const int64_t boxes = most && !most->empty() ? std::max<int64_t>(1, most->front()) : 1;
  const auto limit = [&](size_t i) {
    return call.net.scalar(call.real(i).value_or(0), {DataType::kFloat32, nullptr});
  };
  Operator op;
  op.kind = OpKind::kNonMaxSuppressionV4;
  op.inputs = {call.plain(0), call.plain(1), call.net.ints({boxes}, true), limit(3), limit(4)};
  const std::vector<Id> ids = call.net.add(std::move(op), {DataType::kInt32, nullptr},
                                           std::vector<Shape>{{boxes, 3}, Shape{}});
  Val value = call.result(ids[0], View::plain({boxes, 3}));
  value.quant = nullptr;
  call.note("NonMaxSuppression gives as many boxes as the data have; counted as its maximum");
  return one(std::move(value));
}

constexpr std::array kRules{
    NamedRule{"Gather", gather},
    NamedRule{"GatherND", gather_nd},
    NamedRule{"ScatterND", scatter_nd},
    NamedRule{"TopK", top_k},
    NamedRule{"ArgMax", arg<OpKind::kArgMax>},
    NamedRule{"ArgMin", arg<OpKind::kArgMin>},
    NamedRule{"OneHot", one_hot},
    NamedRule{"CumSum", cum_sum},
    NamedRule{"ConstantOfShape", constant_of_shape},
    NamedRule{"Range", range},
    NamedRule{"Shape", shape_of},
    NamedRule{"NonZero", non_zero},
    NamedRule{"ReverseSequence", reverse_sequence},
    NamedRule{"NonMaxSuppression", non_max_suppression},
};

}  // namespace

std::span<const NamedRule> selection_rules() { return kRules; }

}  // namespace edgesage::onnx::convert
