#include "src/lower/ethos_placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "src/graph/op_registry.h"
#include "src/lower/ethos_checks.h"
#include "src/lower/operator_shapes.h"

namespace edgesage {
namespace {

using ethos::Check;
using ethos::OperatorView;

enum Devices : uint8_t { kBoth, kU85Only };

struct Rule {
  OpKind kind;
  Devices devices;
  std::array<Check, 5> checks{};  // in order; the first that objects gives the reason
};

using namespace ethos;

constexpr std::array kRules = {
    Rule{OpKind::kAbs, kBoth, {no_int32_on_u55}},
    Rule{OpKind::kAdd, kBoth, {}},
    Rule{OpKind::kArgMax, kBoth, {arg_max_shape}},
    Rule{OpKind::kAssignVariable, kU85Only, {}},
    Rule{OpKind::kAveragePool2D, kBoth, {no_int32_on_u55, average_pool_kernel, wide_stride}},
    Rule{OpKind::kBatchMatmul, kBoth, {mat_mul_operands}},
    Rule{OpKind::kCast, kU85Only, {}},
    Rule{OpKind::kConcatenation, kBoth, {no_int32_on_u55}},
    Rule{OpKind::kConv2D,
         kBoth,
         {no_int32_on_u55, weights_are_8_bit, bias_is_constant, wide_stride, weight_sum}},
    Rule{OpKind::kDepthwiseConv2D,
         kBoth,
         {no_int32_on_u55, weights_are_8_bit, bias_is_constant, narrow_stride, weight_sum}},
    Rule{OpKind::kDiv, kU85Only, {}},
    Rule{OpKind::kElu, kBoth, {same_int8_in_and_out}},
    Rule{OpKind::kEqual, kU85Only, {}},
    Rule{OpKind::kExp, kBoth, {no_int32_on_u55}},
    Rule{OpKind::kExpandDims, kBoth, {}},
    Rule{OpKind::kFullyConnected,
         kBoth,
         {weights_are_8_bit, bias_is_constant, fully_connected_weights, weight_sum}},
    Rule{OpKind::kGather, kU85Only, {gather_axis}},
    Rule{OpKind::kGelu, kBoth, {same_8_bit_in_and_out}},
    Rule{OpKind::kGreater, kU85Only, {}},
    Rule{OpKind::kGreaterEqual, kU85Only, {}},
    Rule{OpKind::kHardSwish, kBoth, {no_int32_on_u55}},
    Rule{OpKind::kLeakyRelu, kBoth, {no_int32_on_u55}},
    Rule{OpKind::kLess, kU85Only, {}},
    Rule{OpKind::kLessEqual, kU85Only, {}},
    Rule{OpKind::kLog, kBoth, {same_int8_or_int16_in_and_out}},
    Rule{OpKind::kLogicalAnd, kU85Only, {}},
    Rule{OpKind::kLogicalNot, kU85Only, {}},
    Rule{OpKind::kLogicalOr, kU85Only, {}},
    Rule{OpKind::kLogistic, kBoth, {no_int32_on_u55}},
    Rule{OpKind::kMaximum, kBoth, {no_int32_on_u55, equal_quantization}},
    Rule{OpKind::kMaxPool2D, kBoth, {no_int32_on_u55, max_pool_kernel, wide_stride}},
    Rule{OpKind::kMean, kBoth, {mean_shape}},
    Rule{OpKind::kMinimum, kBoth, {no_int32_on_u55, equal_quantization}},
    Rule{OpKind::kMirrorPad, kBoth, {parameters_are_constant}},
    Rule{OpKind::kMul, kBoth, {}},
    Rule{OpKind::kNeg, kBoth, {}},
    Rule{OpKind::kNotEqual, kU85Only, {}},
    Rule{OpKind::kPack, kBoth, {no_int32_on_u55}},
    Rule{OpKind::kPad, kBoth, {no_int32_on_u55, parameters_are_constant}},
    Rule{OpKind::kPadv2, kBoth, {no_int32_on_u55, parameters_are_constant}},
    Rule{OpKind::kPrelu, kBoth, {no_int32_on_u55}},
    Rule{OpKind::kQuantize, kBoth, {no_int32_on_u55}},
    Rule{OpKind::kReadVariable, kU85Only, {}},
    Rule{OpKind::kReduceAll, kU85Only, {}},
    Rule{OpKind::kReduceAny, kU85Only, {}},
    Rule{OpKind::kReduceMax, kBoth, {no_int32_on_u55}},
    Rule{OpKind::kReduceMin, kBoth, {no_int32_on_u55}},
    Rule{OpKind::kRelu, kBoth, {no_int32_on_u55}},
    Rule{OpKind::kRelu0To1, kBoth, {no_int32_on_u55}},
    Rule{OpKind::kRelu6, kBoth, {no_int32_on_u55}},
    Rule{OpKind::kReluN1To1, kBoth, {no_int32_on_u55}},
    Rule{OpKind::kReshape, kBoth, {}},
    Rule{OpKind::kResizeBilinear, kBoth, {no_int32_on_u55, resize_bilinear_scale}},
    Rule{OpKind::kResizeNearestNeighbor, kBoth, {no_int32_on_u55, resize_nearest_scale}},
    Rule{OpKind::kReverseV2, kBoth, {no_reverse_on_u55}},
    Rule{OpKind::kRsqrt, kBoth, {input_is_int8_or_int16}},
    Rule{OpKind::kScatterNd, kU85Only, {scatter_operands}},
    Rule{OpKind::kSlice, kBoth, {no_int32_on_u55, parameters_are_constant}},
    Rule{OpKind::kSoftmax, kBoth, {no_int32_on_u55, softmax_shape}},
    Rule{OpKind::kSplit, kBoth, {no_int32_on_u55}},
    Rule{OpKind::kSplitV, kBoth, {no_int32_on_u55}},
    Rule{OpKind::kSquaredDifference, kBoth, {no_int32_on_u55}},
    Rule{OpKind::kSqueeze, kBoth, {}},
    Rule{OpKind::kStridedSlice, kBoth, {no_int32_on_u55, parameters_are_constant, slice_strides}},
    Rule{OpKind::kSub, kBoth, {}},
    Rule{OpKind::kSum, kBoth, {}},
    Rule{OpKind::kTanh, kBoth, {no_int32_on_u55}},
    Rule{OpKind::kTile, kBoth, {no_int32_on_u55}},
    Rule{OpKind::kTranspose, kBoth, {parameters_are_constant, transpose_shape}},
    Rule{OpKind::kTransposeConv,
         kBoth,
         {no_int32_on_u55, weights_are_8_bit, bias_is_constant, transpose_conv_stride, weight_sum}},
    Rule{OpKind::kUnidirectionalSequenceLstm, kBoth, {lstm_variant}},
    Rule{OpKind::kUnpack, kBoth, {no_int32_on_u55}},
};

}  // namespace

std::string ethos_obstacle(const Graph& graph, const Subgraph& subgraph, const Operator& op,
                           TargetKind target) {
  const OperatorView view{graph, subgraph, op, target == TargetKind::kEthosU85};
  const auto* rule = std::ranges::find(kRules, op.kind, &Rule::kind);
  if (rule == kRules.end())
    return op.kind == OpKind::kCustom
               ? fmt::format("custom operator '{}' is not supported", op.custom_code)
               : fmt::format("{} is not supported", op_name(op.kind));
  if (rule->devices == kU85Only && !view.is_u85)
    return fmt::format("{} is supported on Ethos-U85 only", op_name(op.kind));
  if (std::string reason = generic_obstacle(view); !reason.empty()) return reason;
  for (const Check check : rule->checks) {
    if (check == nullptr) break;
    if (std::string reason = check(view); !reason.empty()) return reason;
  }
  return {};
}

}  // namespace edgesage
