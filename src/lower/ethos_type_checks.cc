#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "src/lower/ethos_checks.h"
#include "src/lower/operator_shapes.h"

namespace edgesage::ethos {
namespace {

bool is_integer_feature_map(DataType type) {
  return type == DataType::kInt8 || type == DataType::kUInt8 || type == DataType::kInt16 ||
         type == DataType::kInt32 || type == DataType::kInt64;
}

bool may_lack_quantization(OpKind kind) {
  constexpr std::array kKinds = {OpKind::kArgMax,   OpKind::kExpandDims, OpKind::kMirrorPad,
                                 OpKind::kPad,      OpKind::kPadv2,      OpKind::kQuantize,
                                 OpKind::kTranspose};
  return std::ranges::find(kKinds, kind) != kKinds.end();
}

bool may_have_any_zero_point(OpKind kind) {
  constexpr std::array kKinds = {OpKind::kAveragePool2D, OpKind::kResizeBilinear,
                                 OpKind::kResizeNearestNeighbor,
                                 OpKind::kUnidirectionalSequenceLstm, OpKind::kDiv};
  return std::ranges::find(kKinds, kind) != kKinds.end();
}

bool may_be_per_axis(OpKind kind) {
  constexpr std::array kKinds = {OpKind::kConv2D, OpKind::kDepthwiseConv2D, OpKind::kFullyConnected,
                                 OpKind::kTransposeConv};
  return std::ranges::find(kKinds, kind) != kKinds.end();
}

std::string tensor_obstacle(const OperatorView& view, const Tensor& tensor, std::string_view role,
                            bool is_weights_or_bias) {
  const bool u85_bool = view.is_u85 && tensor.type == DataType::kBool;
  const bool resource =
      tensor.type == DataType::kResource && view.is_u85 &&
      (view.op.kind == OpKind::kReadVariable || view.op.kind == OpKind::kAssignVariable);
  if (resource) return {};
  if (!is_weights_or_bias && !is_integer_feature_map(tensor.type) && !u85_bool)
    return fmt::format("{} {}; int8, uint8, int16{} are allowed", type_name(tensor.type), role,
                       view.is_u85 ? ", int32 or bool" : " or int32");
  // The compiler takes an empty shape for an unknown one, except where it is a constant.
  if (!tensor.has_rank || (tensor.shape.empty() && !tensor.is_constant()))
    return fmt::format("the {}'s shape is not known", role);
  for (size_t i = 0; i < tensor.shape_signature.size(); ++i)
    if (i > 0 && tensor.shape_signature[i] < 0)
      return fmt::format("dimension {} of the {} is dynamic; only the first may be", i, role);
  if (!is_weights_or_bias && tensor.type == DataType::kInt64 && !view.is_u85 &&
      view.op.kind != OpKind::kArgMax)
    return fmt::format("64-bit {}", role);
  return {};
}

// Scales are asked of quantized types; 32-bit integers may do without.
bool needs_scale(const OperatorView& view, DataType type) {
  return !may_lack_quantization(view.op.kind) && type != DataType::kInt32 &&
         type != DataType::kInt64 && type != DataType::kBool;
}

bool is_allowed_zero_point(const OperatorView& view, DataType type, int64_t zero, bool is_input) {
  if (type == DataType::kUInt8) return zero >= 0;
  if (!view.is_u85) return type != DataType::kInt32 || zero == 0;
  if (is_input && type != DataType::kInt8) return zero == 0;
  return zero >= -128 && zero <= 127;
}

std::string quantization_obstacle(const OperatorView& view, const Tensor& tensor,
                                  std::string_view role, bool is_weights_or_bias) {
  const Quantization& quantization = tensor.quantization;
  if (needs_scale(view, tensor.type)) {
    if (quantization.scale.empty()) return fmt::format("the {} has no quantization", role);
    for (const float scale : quantization.scale)
      if (!(scale > 0.0F)) return fmt::format("the {} has a scale that is not positive", role);
  }
  if (is_weights_or_bias) return {};
  if (quantization.scale.size() > 1 && !may_be_per_axis(view.op.kind))
    return fmt::format("the {} is quantized per axis", role);
  if (may_have_any_zero_point(view.op.kind)) return {};
  for (const int64_t zero : quantization.zero_point)
    if (!is_allowed_zero_point(view, tensor.type, zero, role == "input"))
      return fmt::format("zero point {} of the {} {}", zero, type_name(tensor.type), role);
  return {};
}

const Tensor* first_input(const OperatorView& view) {
  return input_tensor(view.subgraph, view.op, operand_roles(view.op).ifm);
}

}  // namespace

std::string generic_obstacle(const OperatorView& view) {
  const Operator& op = view.op;
  if (op.outputs.empty() && op.kind != OpKind::kAssignVariable) return "it has no output";
  if (op.inputs.empty()) return "it has no input";
  if (first_input(view) == nullptr) return "its input is missing";
  for (size_t i = 0; i < op.outputs.size(); ++i)
    if (output_tensor(view.subgraph, op, i) == nullptr) return "an output is missing";
  const OperandRoles roles = operand_roles(op);
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const Tensor* tensor = input_tensor(view.subgraph, op, i);
    if (tensor == nullptr || is_shape_operand(op, i)) continue;
    const bool is_weights = op.inputs[i] == roles.weights && i != roles.ifm;
    const bool is_bias = op.inputs[i] == roles.bias && i != roles.ifm;
    const std::string_view role = is_weights ? "weights" : is_bias ? "bias" : "input";
    std::string reason = tensor_obstacle(view, *tensor, role, is_weights || is_bias);
    if (reason.empty() && !is_bias) reason = quantization_obstacle(view, *tensor, role, is_weights);
    if (!reason.empty()) return reason;
  }
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    const Tensor* tensor = output_tensor(view.subgraph, op, i);
    if (tensor == nullptr) continue;
    std::string reason = tensor_obstacle(view, *tensor, "output", false);
    if (reason.empty()) reason = quantization_obstacle(view, *tensor, "output", false);
    if (!reason.empty()) return reason;
  }
  return {};
}

std::string no_int32_on_u55(const OperatorView& view) {
  if (view.is_u85) return {};
  for (const Tensor* tensor : {first_input(view), output_tensor(view.subgraph, view.op, 0)})
    if (tensor != nullptr && tensor->type == DataType::kInt32)
      return "int32 feature map; int8, uint8 or int16 are allowed here";
  return {};
}

namespace {

std::string types_in_and_out(const OperatorView& view, DataType a, DataType b) {
  const Tensor* in = first_input(view);
  const Tensor* out = output_tensor(view.subgraph, view.op, 0);
  if (in == nullptr || out == nullptr) return "an operand is missing";
  if (in->type != out->type)
    return fmt::format("{} input and {} output; they must be the same", type_name(in->type),
                       type_name(out->type));
  if (in->type != a && in->type != b)
    return fmt::format("{} input; {}{} allowed", type_name(in->type), type_name(a),
                       a == b ? " is" : fmt::format(" or {} are", type_name(b)));
  if (in->shape != out->shape) return "input and output shapes differ";
  return {};
}

}  // namespace

std::string same_int8_in_and_out(const OperatorView& view) {
  return types_in_and_out(view, DataType::kInt8, DataType::kInt8);
}

std::string same_8_bit_in_and_out(const OperatorView& view) {
  return types_in_and_out(view, DataType::kInt8, DataType::kUInt8);
}

std::string same_int8_or_int16_in_and_out(const OperatorView& view) {
  return types_in_and_out(view, DataType::kInt8, DataType::kInt16);
}

std::string input_is_int8_or_int16(const OperatorView& view) {
  const Tensor* in = first_input(view);
  if (in == nullptr || in->type == DataType::kInt8 || in->type == DataType::kInt16) return {};
  return fmt::format("{} input; int8 or int16 are allowed", type_name(in->type));
}

std::string equal_quantization(const OperatorView& view) {
  const Tensor* out = output_tensor(view.subgraph, view.op, 0);
  for (size_t i = 0; i < 2; ++i) {
    const Tensor* in = input_tensor(view.subgraph, view.op, i);
    if (in == nullptr || out == nullptr) continue;
    if (in->quantization.scale != out->quantization.scale ||
        in->quantization.zero_point != out->quantization.zero_point)
      return "inputs and output must have the same quantization";
  }
  return {};
}

std::string weights_are_8_bit(const OperatorView& view) {
  const Tensor* weights = input_tensor(view.subgraph, view.op, 1);
  if (weights == nullptr) return "the weights are missing";
  if (weights->type == DataType::kInt8 || weights->type == DataType::kUInt8) return {};
  return fmt::format("{} weights; int8 or uint8 are allowed", type_name(weights->type));
}

std::string bias_is_constant(const OperatorView& view) {
  const size_t position = view.op.kind == OpKind::kTransposeConv ? 3 : 2;
  const Tensor* bias = input_tensor(view.subgraph, view.op, position);
  if (bias == nullptr) return {};
  if (!bias->is_constant()) return "the bias is not constant";
  if (bias->type != DataType::kInt32 && bias->type != DataType::kInt64)
    return fmt::format("{} bias; int32 or int64 are allowed", type_name(bias->type));
  if (bias->type == DataType::kInt64) {
    const int64_t limit = view.is_u85 ? int64_t{1} << 48 : int64_t{1} << 40;
    const auto values = constant_ints(view.graph, *bias);
    if (values &&
        std::ranges::any_of(*values, [limit](int64_t v) { return v >= limit || v <= -limit; }))
      return fmt::format("a 64-bit bias value is beyond +-{}", limit);
  }
  return {};
}

std::string weight_sum(const OperatorView& view) {
  constexpr int64_t kLimit = 8323072;  // 65,536 * 127
  const Tensor* weights = input_tensor(view.subgraph, view.op, 1);
  if (weights == nullptr || weights->shape.empty()) return {};
  // Cannot be reached below: each output channel adds up count/channels values of at most 255.
  const int64_t channels =
      view.op.kind == OpKind::kDepthwiseConv2D ? weights->shape.back() : weights->shape.front();
  if (channels <= 0 || weights->element_count() / channels < kLimit / 255) return {};
  if (view.op.kind == OpKind::kDepthwiseConv2D) return {};
  const std::span<const std::byte> bytes = view.graph.constant(*weights);
  const auto slice = static_cast<size_t>(weights->element_count() / channels);
  const int64_t zero =
      weights->quantization.zero_point.empty() ? 0 : weights->quantization.zero_point.front();
  for (size_t start = 0; start + slice <= bytes.size(); start += slice) {
    int64_t sum = 0;
    for (size_t i = start; i < start + slice; ++i) {
      const auto raw = std::to_integer<uint8_t>(bytes[i]);
      const int64_t value = weights->type == DataType::kInt8 ? static_cast<int8_t>(raw) : raw;
      sum += std::abs(value - zero);
    }
    if (sum > kLimit)
      return fmt::format("absolute weights of a channel sum to {}, above {}", sum, kLimit);
  }
  return {};
}

}  // namespace edgesage::ethos
