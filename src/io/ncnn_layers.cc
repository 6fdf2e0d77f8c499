// Element-wise layers of ncnn, reductions, and the table of all.
#include "src/io/ncnn_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace edgesage {
namespace {

NcnnOutputs one(int32_t x) { return std::vector{x}; }

template <OpKind kind>
NcnnOutputs unary(const NcnnCall& call) {
  return one(call.net.unary(kind, call.in[0]));
}

NcnnOutputs leaky(const NcnnCall& call, double slope) {
  const int32_t x = call.net.unary(OpKind::kLeakyRelu, call.in[0]);
  call.net.graph().main().operators.back().set("alpha", slope);
  return one(x);
}

NcnnOutputs relu(const NcnnCall& call) {
  const double slope = call.layer.real(0, 0);
  return slope == 0 ? one(call.net.unary(OpKind::kRelu, call.in[0])) : leaky(call, slope);
}

NcnnOutputs clip(const NcnnCall& call) {
  const double low = call.layer.real(0, -3e38), high = call.layer.real(1, 3e38);
  int32_t x = call.in[0];
  if (low == 0 && high == 6) return one(call.net.unary(OpKind::kRelu6, x));
  if (low == -1 && high == 1) return one(call.net.unary(OpKind::kReluN1To1, x));
  const Shape shape = call.shape();
  x = call.net.binary(OpKind::kMaximum, x, call.net.scalar(low, call.net.type(x)), shape);
  return one(call.net.binary(OpKind::kMinimum, x, call.net.scalar(high, call.net.type(x)), shape));
}

NcnnOutputs swish(const NcnnCall& call) {
  const int32_t gate = call.net.unary(OpKind::kLogistic, call.in[0]);
  return one(call.net.binary(OpKind::kMul, call.in[0], gate, call.shape()));
}

// alpha * x + beta, kept between 0 and 1.
NcnnOutputs hard_sigmoid(const NcnnCall& call) {
  NcnnEmitter& net = call.net;
  const DataType type = net.type(call.in[0]);
  int32_t x = net.binary(OpKind::kAdd, call.in[0], net.scalar(3, type), call.shape());
  net.graph().main().operators.back().set("fused_activation_function", int64_t{3});
  return one(net.binary(OpKind::kMul, x, net.scalar(call.layer.real(0, 0.2), type), call.shape()));
}

NcnnOutputs softmax(const NcnnCall& call) {
  const int32_t x = call.net.unary(OpKind::kSoftmax, call.in[0]);
  call.net.graph().main().operators.back().set("beta", 1.0);
  return one(x);
}

NcnnOutputs prelu(const NcnnCall& call) {
  if (call.layer.integer(0, 1) == 1) return leaky(call, 0.25);
  const int32_t slope = call.net.constant("", {call.shape().back()});
  return one(call.net.binary(OpKind::kPrelu, call.in[0], slope, call.shape()));
}

NcnnOutputs unary_op(const NcnnCall& call) {
  constexpr std::array kKinds{OpKind::kAbs,    OpKind::kNeg,  OpKind::kFloor, OpKind::kCeil,
                              OpKind::kSquare, OpKind::kSqrt, OpKind::kRsqrt, OpKind::kExp,
                              OpKind::kLog,    OpKind::kSin,  OpKind::kCos};
  const int64_t type = call.layer.integer(0, 0);
  if (type >= 0 && type < static_cast<int64_t>(kKinds.size()))
    return one(call.net.unary(kKinds[static_cast<size_t>(type)], call.in[0]));
  const int32_t x = call.net.unary(type == 16 ? OpKind::kTanh : OpKind::kUnknown, call.in[0]);
  if (type == 16) return one(x);
  call.net.graph().main().operators.back().custom_code = fmt::format("UnaryOp {}", type);
  call.net.warn(fmt::format("line {}: UnaryOp {} is not known", call.layer.line, type));
  return one(x);
}

std::optional<OpKind> binary_kind(int64_t type) {
  constexpr std::array kKinds{OpKind::kAdd, OpKind::kSub,     OpKind::kMul,
                              OpKind::kDiv, OpKind::kMaximum, OpKind::kMinimum,
                              OpKind::kPow, OpKind::kSub,     OpKind::kDiv};
  if (type < 0 || type >= static_cast<int64_t>(kKinds.size())) return std::nullopt;
  return kKinds[static_cast<size_t>(type)];
}

NcnnOutputs join(const NcnnCall& call, OpKind kind, int32_t a, int32_t b) {
  // One side may have left int8 where a layer computes in float.
  if (call.net.type(a) != call.net.type(b)) {
    a = call.net.as_float(a);
    b = call.net.as_float(b);
  }
  const auto shape = broadcast_shapes(call.net.shape(a), call.net.shape(b));
  if (!shape) return call.bad("joins blobs that do not fit: " + shape.error().message);
  return one(call.net.binary(kind, a, b, *shape));
}

NcnnOutputs binary_op(const NcnnCall& call) {
  const int64_t type = call.layer.integer(0, 0);
  const auto kind = binary_kind(type);
  if (!kind) return call.bad(fmt::format("has operation {}; 0 to 8 are known", type));
  if (call.layer.integer(1, 0) != 0 || call.in.size() < 2) {
    const int32_t constant = call.net.scalar(call.layer.real(2, 0), call.net.type(call.in[0]));
    return one(call.net.binary(*kind, call.in[0], constant, call.shape()));
  }
  return join(call, *kind, call.in[0], call.in[1]);
}

NcnnOutputs eltwise(const NcnnCall& call) {
  constexpr std::array kKinds{OpKind::kMul, OpKind::kAdd, OpKind::kMaximum};
  const int64_t type = call.layer.integer(0, 0);
  if (type < 0 || type > 2)
    return call.bad(fmt::format("has operation {}; 0 to 2 are known", type));
  int32_t sum = call.in[0];
  for (size_t i = 1; i < call.in.size(); ++i) {
    EDGESAGE_ASSIGN_OR_RETURN(const auto joined,
                              join(call, kKinds[static_cast<size_t>(type)], sum, call.in[i]));
    sum = joined.front();
  }
  return one(sum);
}

NcnnOutputs reduction(const NcnnCall& call) {
  constexpr std::array kKinds{OpKind::kSum,       OpKind::kSum,       OpKind::kSum,
                              OpKind::kMean,      OpKind::kReduceMax, OpKind::kReduceMin,
                              OpKind::kReduceProd};
  const int64_t type = call.layer.integer(0, 0);
  if (type < 0 || type >= static_cast<int64_t>(kKinds.size()))
    return call.bad(fmt::format("has operation {}; 0 to 6 are known", type));
  const bool keep = call.layer.integer(4, 0) != 0;
  std::vector<bool> reduced(call.shape().size(), call.layer.integer(1, 1) != 0);
  reduced[0] = false;
  for (const int64_t axis : call.layer.integers(3)) {
    EDGESAGE_ASSIGN_OR_RETURN(const int64_t dimension, call.axis(axis));
    reduced[static_cast<size_t>(dimension)] = true;
  }
  Shape out;
  std::vector<int64_t> axes;
  for (size_t i = 0; i < reduced.size(); ++i) {
    if (reduced[i]) axes.push_back(static_cast<int64_t>(i));
    if (!reduced[i] || keep) out.push_back(reduced[i] ? 1 : call.shape()[i]);
  }
  Operator op;
  op.kind = kKinds[static_cast<size_t>(type)];
  op.inputs = {call.in[0], call.net.ints(axes)};
  op.set("keep_dims", static_cast<int64_t>(keep));
  return one(call.net.add(std::move(op), out));
}

// A value a channel that is multiplied, and one that is added where there is one.
template <bool always_shifts, int shift_id>
NcnnOutputs scale(const NcnnCall& call) {
  const Shape shape = call.shape();
  int32_t x =
      call.net.binary(OpKind::kMul, call.in[0], call.net.constant("", {shape.back()}), shape);
  if (always_shifts || call.layer.integer(shift_id, 0) != 0)
    x = call.net.binary(OpKind::kAdd, x, call.net.constant("", {shape.back()}), shape);
  return one(x);
}

NcnnOutputs memory_data(const NcnnCall& call) {
  constexpr int64_t kMost = int64_t{1} << 31;
  Shape shape{1};
  for (const int id : {1, 0, 2}) {
    EDGESAGE_ASSIGN_OR_RETURN(const int64_t side, call.bounded(id, 0, 0, kMost, "size"));
    if (side > 0) shape.push_back(side);
  }
  if (shape.size() == 1) return call.bad("gives no size");
  return one(
      call.net.constant(call.layer.outputs.empty() ? "" : call.layer.outputs.front(), shape));
}

NcnnOutputs cast_to_float(const NcnnCall& call) { return one(call.net.as_float(call.in[0])); }

struct Named {
  std::string_view type;
  NcnnRule rule;
};
constexpr std::array kRules{Named{"ReLU", {relu}},
                            Named{"Clip", {clip}},
                            Named{"Swish", {swish}},
                            Named{"HardSwish", {unary<OpKind::kHardSwish>}},
                            Named{"HardSigmoid", {hard_sigmoid}},
                            Named{"Sigmoid", {unary<OpKind::kLogistic>}},
                            Named{"TanH", {unary<OpKind::kTanh>}},
                            Named{"GELU", {unary<OpKind::kGelu>}},
                            Named{"ELU", {unary<OpKind::kElu>}},
                            Named{"AbsVal", {unary<OpKind::kAbs>}},
                            Named{"Exp", {unary<OpKind::kExp>}},
                            Named{"Log", {unary<OpKind::kLog>}},
                            Named{"PReLU", {prelu}},
                            Named{"Softmax", {softmax}},
                            Named{"LRN", {unary<OpKind::kLocalResponseNormalization>}},
                            Named{"UnaryOp", {unary_op}},
                            Named{"BinaryOp", {binary_op}},
                            Named{"Eltwise", {eltwise, 2}},
                            Named{"Reduction", {reduction}},
                            Named{"BatchNorm", {scale<true, 0>}},
                            Named{"Scale", {scale<false, 1>}},
                            Named{"MemoryData", {memory_data, 0}},
                            Named{"Dequantize", {cast_to_float}}};

}  // namespace

Result<int64_t> NcnnCall::bounded(int id, int64_t otherwise, int64_t least, int64_t most,
                                  std::string_view meaning) const {
  const int64_t value = layer.integer(id, otherwise);
  if (value < least || value > most)
    return bad(fmt::format("has a {} (parameter {}) of {}; {} to {} are allowed", meaning, id,
                           value, least, most));
  return value;
}

Result<int64_t> NcnnCall::axis(int64_t value) const {
  const int64_t dimension = net.dimension(in[0], value);
  if (dimension < 0)
    return bad(fmt::format("names axis {} of a blob of {} dimensions", value, shape().size() - 1));
  return dimension;
}

tl::unexpected<Error> NcnnCall::bad(std::string message) const {
  return make_error(ErrorCode::kBadModel, fmt::format("{}: line {}", where, layer.line),
                    fmt::format("{} {} {}", layer.type, layer.name, message));
}

std::optional<NcnnRule> ncnn_rule(std::string_view type) {
  for (const auto rule : {ncnn_window_rule(type), ncnn_shape_rule(type), ncnn_composite_rule(type)})
    if (rule) return rule;
  for (const Named& named : kRules)
    if (named.type == type) return named.rule;
  return std::nullopt;
}

}  // namespace edgesage
