#include "src/lower/xnnpack_placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/graph/op_registry.h"
#include "src/lower/operator_shapes.h"

namespace edgesage {
namespace {

bool is_8_bit(DataType type) { return type == DataType::kInt8 || type == DataType::kUInt8; }

enum Types : uint8_t { kFloat = 1, kQuantized = 2, kAny = 3 };

struct Rule {
  OpKind kind;
  Types types;
};

constexpr std::array kRules = {
    Rule{OpKind::kAbs, kFloat},           Rule{OpKind::kAdd, kAny},
    Rule{OpKind::kAveragePool2D, kFloat}, Rule{OpKind::kBatchMatmul, kAny},
    Rule{OpKind::kCeil, kFloat},          Rule{OpKind::kConcatenation, kAny},
    Rule{OpKind::kConv2D, kAny},          Rule{OpKind::kDepthToSpace, kAny},
    Rule{OpKind::kDepthwiseConv2D, kAny}, Rule{OpKind::kDequantize, kAny},
    Rule{OpKind::kDiv, kFloat},           Rule{OpKind::kElu, kAny},
    Rule{OpKind::kExp, kFloat},           Rule{OpKind::kExpandDims, kAny},
    Rule{OpKind::kFloor, kFloat},         Rule{OpKind::kFullyConnected, kAny},
    Rule{OpKind::kGelu, kFloat},          Rule{OpKind::kHardSwish, kFloat},
    Rule{OpKind::kLeakyRelu, kAny},       Rule{OpKind::kLog, kFloat},
    Rule{OpKind::kLogistic, kAny},        Rule{OpKind::kMaxPool2D, kAny},
    Rule{OpKind::kMaximum, kFloat},       Rule{OpKind::kMean, kAny},
    Rule{OpKind::kMinimum, kFloat},       Rule{OpKind::kMul, kAny},
    Rule{OpKind::kNeg, kFloat},           Rule{OpKind::kPad, kAny},
    Rule{OpKind::kPrelu, kFloat},         Rule{OpKind::kQuantize, kAny},
    Rule{OpKind::kRelu, kFloat},          Rule{OpKind::kRelu6, kFloat},
    Rule{OpKind::kReluN1To1, kFloat},     Rule{OpKind::kReshape, kAny},
    Rule{OpKind::kResizeBilinear, kAny},  Rule{OpKind::kRound, kFloat},
    Rule{OpKind::kRsqrt, kFloat},         Rule{OpKind::kSlice, kAny},
    Rule{OpKind::kSoftmax, kFloat},       Rule{OpKind::kSpaceToDepth, kAny},
    Rule{OpKind::kSplit, kAny},           Rule{OpKind::kSqrt, kFloat},
    Rule{OpKind::kSquare, kFloat},        Rule{OpKind::kSquaredDifference, kFloat},
    Rule{OpKind::kStridedSlice, kAny},    Rule{OpKind::kSub, kAny},
    Rule{OpKind::kSum, kFloat},           Rule{OpKind::kTanh, kAny},
    Rule{OpKind::kTranspose, kAny},       Rule{OpKind::kTransposeConv, kAny},
};

}  // namespace

std::string xnnpack_obstacle(const Graph& /*graph*/, const Subgraph& subgraph, const Operator& op) {
  const auto* rule = std::ranges::find(kRules, op.kind, &Rule::kind);
  if (rule == kRules.end())
    return op.kind == OpKind::kCustom
               ? fmt::format("custom operator '{}' is not delegated", op.custom_code)
               : fmt::format("{} is not delegated", op_name(op.kind));
  const Tensor* input = input_tensor(subgraph, op, operand_roles(op).ifm);
  const Tensor* output = output_tensor(subgraph, op, 0);
  if (input == nullptr || output == nullptr) return "an operand is missing";
  const bool quantized = is_8_bit(input->type);
  if (input->type != DataType::kFloat32 && !quantized)
    return fmt::format("{} input; float32, int8 or uint8 are delegated", type_name(input->type));
  if (quantized && (rule->types & kQuantized) == 0)
    return fmt::format("{} of {} is not delegated", op_name(op.kind), type_name(input->type));
  if (op.kind == OpKind::kConcatenation && op.inputs.size() > 5)
    return fmt::format("{} inputs; at most 5 are delegated", op.inputs.size());
  return {};
}

std::vector<int32_t> xnnpack_partitions(const Subgraph& subgraph,
                                        std::span<const std::string> obstacles,
                                        std::span<const uint8_t> folded) {
  // epoch[t]: the step of the alternation in which tensor t becomes ready. Even steps delegate.
  std::vector<int32_t> epoch(subgraph.tensors.size(), 0);
  std::vector<int32_t> step(subgraph.operators.size(), -1);
  std::vector<int32_t> used;
  for (size_t i = 0; i < subgraph.operators.size(); ++i) {
    const Operator& op = subgraph.operators[i];
    int32_t ready = 0;
    for (const int32_t tensor : op.inputs)
      if (tensor >= 0) ready = std::max(ready, epoch[static_cast<size_t>(tensor)]);
    if (folded[i] == 0) {
      const int32_t parity = obstacles[i].empty() ? 0 : 1;
      if (ready % 2 != parity) ++ready;
      step[i] = ready;
      if (parity == 0) used.push_back(ready);
    }
    for (const int32_t tensor : op.outputs)
      if (tensor >= 0) epoch[static_cast<size_t>(tensor)] = ready;
  }
  std::ranges::sort(used);
  used.erase(std::unique(used.begin(), used.end()), used.end());
  std::vector<int32_t> partition(step.size(), -1);
  for (size_t i = 0; i < step.size(); ++i)
    if (step[i] >= 0 && step[i] % 2 == 0)
      partition[i] = static_cast<int32_t>(std::ranges::lower_bound(used, step[i]) - used.begin());
  return partition;
}

}  // namespace edgesage
