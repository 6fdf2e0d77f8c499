#include "src/lower/xnnpack_placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/graph/op_registry.h"
#include "src/lower/operator_shapes.h"

namespace edgesage {
namespace {

bool is_8_bit(DataType type) { return type == DataType::kInt8 || type == DataType::kUInt8; }

enum Types : uint8_t { kFloat = 1, kQuantized = 2, kAny = 3, kUntyped = 7 };

struct View {
  const Graph& graph;
  const Subgraph& subgraph;
  const Operator& op;
  const Tensor& input;
  const Tensor& output;
  std::span<const int32_t> unpacked;
};

using Check = std::string (*)(const View&);

std::string weights_are_constant(const View& view) {
  const Tensor* weights = input_tensor(view.subgraph, view.op, 1);
  if (weights == nullptr) return "the weights are missing";
  if (weights->is_constant()) return {};
  // Unpacked at load: as good as constant.
  if (view.unpacked[static_cast<size_t>(view.op.inputs[1])] >= 0) return {};
  return "the weights are not constant";
}

// Both operands and the result of one type, and scales within what the kernels' shifts allow.
std::string binary_operands(const View& view) {
  const Tensor* second = input_tensor(view.subgraph, view.op, 1);
  if (second == nullptr) return "an operand is missing";
  if (second->type != view.input.type || view.output.type != view.input.type)
    return fmt::format("{} and {} give {}; one type is delegated", type_name(view.input.type),
                       type_name(second->type), type_name(view.output.type));
  if (!is_8_bit(view.input.type) || view.op.kind == OpKind::kMul) return {};
  const auto scale = [](const Tensor& tensor) {
    return tensor.quantization.scale.empty() ? 0.0F : tensor.quantization.scale.front();
  };
  for (const float from : {scale(view.input), scale(*second)}) {
    const float ratio = from / scale(view.output);
    if (!(ratio >= 1.0F / 1024 && ratio < 256.0F))
      return fmt::format("an input's scale is {:g} times the output's; 1/1024 to 256 are delegated",
                         ratio);
  }
  return {};
}

std::string pool_stride(const View& view) {
  const Operator& op = view.op;
  const int64_t h = op.attr_int("filter_height", 1), w = op.attr_int("filter_width", 1);
  const int64_t stride_h = op.attr_int("stride_h", 1), stride_w = op.attr_int("stride_w", 1);
  if (stride_h > h || stride_w > w)
    return fmt::format("stride {}x{} is above the kernel's {}x{}", stride_h, stride_w, h, w);
  return {};
}

std::string quantize_types(const View& view) {
  const bool from_float = view.input.type == DataType::kFloat32 && is_8_bit(view.output.type);
  if (from_float || view.input.type == view.output.type) return {};
  return fmt::format("{} to {} is not delegated", type_name(view.input.type),
                     type_name(view.output.type));
}

std::string unit_steps(const View& view) {
  const Tensor* steps = input_tensor(view.subgraph, view.op, 3);
  const auto values = steps != nullptr ? constant_ints(view.graph, *steps) : std::nullopt;
  if (!values) return "the strides are not constant";
  if (std::ranges::any_of(*values, [](int64_t step) { return step != 1; }))
    return "strides other than 1";
  for (const char* mask : {"shrink_axis_mask", "new_axis_mask", "ellipsis_mask"})
    if (view.op.attr_int(mask, 0) != 0) return fmt::format("{} is set", mask);
  return {};
}

std::string constant_parameters(const View& view) {
  for (size_t i = 1; i < view.op.inputs.size(); ++i) {
    const Tensor* tensor = input_tensor(view.subgraph, view.op, i);
    if (tensor != nullptr && !tensor->is_constant()) return "its parameters are not constant";
  }
  return {};
}

std::string few_inputs(const View& view) {
  constexpr size_t kMost = 5;
  if (view.op.inputs.size() <= kMost) return {};
  return fmt::format("{} inputs; at most {} are delegated", view.op.inputs.size(), kMost);
}

struct Rule {
  OpKind kind;
  Types types;
  Check check = nullptr;
};

constexpr std::array kRules = {
    Rule{OpKind::kAbs, kFloat},
    Rule{OpKind::kAdd, kAny, binary_operands},
    Rule{OpKind::kAveragePool2D, kFloat, pool_stride},
    Rule{OpKind::kBatchMatmul, kAny},
    Rule{OpKind::kCeil, kFloat},
    Rule{OpKind::kConcatenation, kAny, few_inputs},
    Rule{OpKind::kConv2D, kAny, weights_are_constant},
    Rule{OpKind::kCos, kFloat},
    Rule{OpKind::kDepthToSpace, kAny},
    Rule{OpKind::kDepthwiseConv2D, kAny, weights_are_constant},
    Rule{OpKind::kDequantize, kAny},
    Rule{OpKind::kDiv, kFloat, binary_operands},
    Rule{OpKind::kElu, kAny},
    Rule{OpKind::kExp, kFloat},
    Rule{OpKind::kFloor, kFloat},
    Rule{OpKind::kFullyConnected, kAny, weights_are_constant},
    Rule{OpKind::kGelu, kFloat},
    Rule{OpKind::kHardSwish, kFloat},
    Rule{OpKind::kLeakyRelu, kAny},
    Rule{OpKind::kLog, kFloat},
    Rule{OpKind::kLogistic, kAny},
    Rule{OpKind::kMaxPool2D, kAny, pool_stride},
    Rule{OpKind::kMaximum, kFloat, binary_operands},
    Rule{OpKind::kMean, kAny, constant_parameters},
    Rule{OpKind::kMinimum, kFloat, binary_operands},
    Rule{OpKind::kMul, kAny, binary_operands},
    Rule{OpKind::kNeg, kFloat},
    Rule{OpKind::kPad, kAny, constant_parameters},
    Rule{OpKind::kPrelu, kFloat},
    Rule{OpKind::kQuantize, kAny, quantize_types},
    Rule{OpKind::kReadVariable, kUntyped},
    Rule{OpKind::kReduceMax, kAny, constant_parameters},
    Rule{OpKind::kReduceMin, kAny, constant_parameters},
    Rule{OpKind::kRelu, kFloat},
    Rule{OpKind::kRelu6, kFloat},
    Rule{OpKind::kReluN1To1, kFloat},
    Rule{OpKind::kReshape, kAny, constant_parameters},
    Rule{OpKind::kResizeBilinear, kAny, constant_parameters},
    Rule{OpKind::kRound, kFloat},
    Rule{OpKind::kRsqrt, kFloat},
    Rule{OpKind::kSin, kFloat},
    Rule{OpKind::kSlice, kAny, constant_parameters},
    Rule{OpKind::kSoftmax, kFloat},
    Rule{OpKind::kSpaceToDepth, kAny},
    Rule{OpKind::kSplit, kAny},
    Rule{OpKind::kSqrt, kFloat},
    Rule{OpKind::kSquare, kFloat},
    Rule{OpKind::kSquaredDifference, kFloat, binary_operands},
    Rule{OpKind::kStridedSlice, kAny, unit_steps},
    Rule{OpKind::kSub, kAny, binary_operands},
    Rule{OpKind::kSum, kAny, constant_parameters},
    Rule{OpKind::kTanh, kAny},
    Rule{OpKind::kTranspose, kAny, constant_parameters},
    Rule{OpKind::kTransposeConv, kAny, weights_are_constant},
};

std::string shape_obstacle(const Tensor& tensor) {
  constexpr size_t kMostDimensions = 6;
  if (tensor.element_count() == 0) return "a tensor without elements";
  if (tensor.shape.size() > kMostDimensions)
    return fmt::format("{} dimensions; at most {} are delegated", tensor.shape.size(),
                       kMostDimensions);
  return {};
}

}  // namespace

std::vector<int32_t> xnnpack_unpacked(const Subgraph& subgraph) {
  std::vector<int32_t> unpacked(subgraph.tensors.size(), kNoTensor);
  for (const Operator& op : subgraph.operators) {
    if (op.kind != OpKind::kDequantize && op.kind != OpKind::kDensify) continue;
    const Tensor* source = input_tensor(subgraph, op, 0);
    if (source == nullptr || !source->is_constant()) continue;
    for (size_t i = 0; i < op.outputs.size(); ++i)
      if (output_tensor(subgraph, op, i) != nullptr)
        unpacked[static_cast<size_t>(op.outputs[i])] = op.inputs.front();
  }
  return unpacked;
}

std::string xnnpack_obstacle(const Graph& graph, const Subgraph& subgraph, const Operator& op,
                             std::span<const int32_t> unpacked) {
  if (op.kind == OpKind::kVarHandle) return {};
  const auto* rule = std::ranges::find(kRules, op.kind, &Rule::kind);
  if (rule == kRules.end())
    return op.kind == OpKind::kCustom
               ? fmt::format("custom operator '{}' is not delegated", op.custom_code)
               : fmt::format("{} is not delegated", op_name(op.kind));
  const Tensor* input = input_tensor(subgraph, op, operand_roles(op).ifm);
  const Tensor* output = output_tensor(subgraph, op, 0);
  if (input == nullptr || output == nullptr) return "an operand is missing";
  if (rule->types == kUntyped) return output->shape.empty() ? "a scalar variable" : "";
  const bool quantized = is_8_bit(input->type);
  if (input->type != DataType::kFloat32 && !quantized)
    return fmt::format("{} input; float32, int8 or uint8 are delegated", type_name(input->type));
  if (quantized && (rule->types & kQuantized) == 0)
    return fmt::format("{} of {} is not delegated", op_name(op.kind), type_name(input->type));
  for (const Tensor* tensor : {input, output})
    if (std::string reason = shape_obstacle(*tensor); !reason.empty()) return reason;
  if (fused_activation(op) == OpKind::kTanh || fused_activation(op) == OpKind::kSign)
    return fmt::format("fused {} is not delegated", op_name(fused_activation(op)));
  return rule->check != nullptr ? rule->check({graph, subgraph, op, *input, *output, unpacked})
                                : std::string();
}

std::vector<int32_t> xnnpack_partitions(const Subgraph& subgraph,
                                        std::span<const std::string> obstacles,
                                        std::span<const uint8_t> folded) {
  // Steps alternate between delegated operators and others; the first operator says which begins.
  // ready[t]: the step in which tensor t exists.
  std::vector<int32_t> ready(subgraph.tensors.size(), 0);
  std::vector<int32_t> step(subgraph.operators.size(), -1);
  std::vector<int32_t> used;
  size_t first = 0;
  while (first < folded.size() && folded[first] != 0) ++first;
  const int32_t delegated = first < folded.size() && !obstacles[first].empty() ? 1 : 0;
  for (size_t i = 0; i < subgraph.operators.size(); ++i) {
    const Operator& op = subgraph.operators[i];
    int32_t now = 0;
    for (const int32_t tensor : op.inputs)
      if (tensor >= 0) now = std::max(now, ready[static_cast<size_t>(tensor)]);
    if (folded[i] == 0) {
      const int32_t parity = obstacles[i].empty() ? delegated : 1 - delegated;
      if (now % 2 != parity) ++now;
      step[i] = now;
      if (parity == delegated) used.push_back(now);
    }
    for (const int32_t tensor : op.outputs)
      if (tensor >= 0) ready[static_cast<size_t>(tensor)] = now;
  }
  std::ranges::sort(used);
  used.erase(std::unique(used.begin(), used.end()), used.end());
  std::vector<int32_t> partition(step.size(), -1);
  for (size_t i = 0; i < step.size(); ++i)
    if (step[i] >= 0 && step[i] % 2 == delegated)
      partition[i] = static_cast<int32_t>(std::ranges::lower_bound(used, step[i]) - used.begin());
  return partition;
}

}  // namespace edgesage
