#include "src/graph/custom_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "src/graph/op_registry.h"

namespace edgesage {
namespace {

constexpr std::string_view kEdgeTpu = "edgetpu-custom-op";
constexpr std::string_view kEthosU = "ethos-u";

struct NamedKind {
  std::string_view name;
  OpKind kind;
};

// TensorFlow's names of operators that have a builtin one of the same inputs and results.
constexpr NamedKind kFlexKinds[] = {
    {"Abs", OpKind::kAbs},
    {"Add", OpKind::kAdd},
    {"AddV2", OpKind::kAdd},
    {"AvgPool", OpKind::kAveragePool2D},
    {"BatchMatMul", OpKind::kBatchMatmul},
    {"BatchMatMulV2", OpKind::kBatchMatmul},
    {"Cast", OpKind::kCast},
    {"ConcatV2", OpKind::kConcatenation},
    {"Conv2D", OpKind::kConv2D},
    {"DepthwiseConv2dNative", OpKind::kDepthwiseConv2D},
    {"Elu", OpKind::kElu},
    {"Erf", OpKind::kGelu},  // the same work an element
    {"Exp", OpKind::kExp},
    {"GatherV2", OpKind::kGather},
    {"Log", OpKind::kLog},
    {"MatMul", OpKind::kBatchMatmul},
    {"Max", OpKind::kReduceMax},
    {"MaxPool", OpKind::kMaxPool2D},
    {"Maximum", OpKind::kMaximum},
    {"Mean", OpKind::kMean},
    {"Minimum", OpKind::kMinimum},
    {"Mul", OpKind::kMul},
    {"Neg", OpKind::kNeg},
    {"Pad", OpKind::kPad},
    {"RealDiv", OpKind::kDiv},
    {"Relu", OpKind::kRelu},
    {"Relu6", OpKind::kRelu6},
    {"Reshape", OpKind::kReshape},
    {"Rsqrt", OpKind::kRsqrt},
    {"Sigmoid", OpKind::kLogistic},
    {"Slice", OpKind::kSlice},
    {"Softmax", OpKind::kSoftmax},
    {"Sqrt", OpKind::kSqrt},
    {"Square", OpKind::kSquare},
    {"SquaredDifference", OpKind::kSquaredDifference},
    {"StridedSlice", OpKind::kStridedSlice},
    {"Sub", OpKind::kSub},
    {"Sum", OpKind::kSum},
    {"Tanh", OpKind::kTanh},
    {"Tile", OpKind::kTile},
    {"Transpose", OpKind::kTranspose},
};

// Kernels that LiteRT, TFLM or MediaPipe register under these names; none multiplies matrices.
constexpr std::string_view kKnownKernels[] = {
    "TFLite_Detection_PostProcess",
    "AudioSpectrogram",
    "Mfcc",
    "NumericVerify",
};

// "Conv2D" of "FlexConv2D"; empty for others.
std::string_view flex_name(const Operator& op) {
  constexpr std::string_view kPrefix = "Flex";
  const std::string_view code = op.custom_code;
  const bool flex = op.kind == OpKind::kCustom && code.size() > kPrefix.size() &&
                    code.starts_with(kPrefix) &&
                    std::isupper(static_cast<unsigned char>(code[kPrefix.size()])) != 0;
  return flex ? code.substr(kPrefix.size()) : std::string_view();
}

// Which Vela compiled the network, where the file says it.
std::string vela_version(const Graph& graph) {
  for (const Metadata& entry : graph.metadata) {
    if (entry.name != "vela_version" || entry.buffer < 0 ||
        static_cast<size_t>(entry.buffer) >= graph.buffers.size())
      continue;
    constexpr size_t kLongest = 32;
    std::string version;
    for (const std::byte byte : graph.buffers[static_cast<size_t>(entry.buffer)].data) {
      const auto c = static_cast<unsigned char>(byte);
      if (version.size() == kLongest || std::isprint(c) == 0) break;
      version += static_cast<char>(c);
    }
    return version;
  }
  return {};
}

}  // namespace

CustomFamily custom_family(const Operator& op) {
  if (op.kind != OpKind::kCustom) return CustomFamily::kUnknown;
  if (op.custom_code == kEdgeTpu || op.custom_code == kEthosU) return CustomFamily::kCompiled;
  if (is_flex(op)) return CustomFamily::kFlex;
  return std::ranges::find(kKnownKernels, op.custom_code) != std::end(kKnownKernels)
             ? CustomFamily::kKnown
             : CustomFamily::kUnknown;
}

bool is_flex(const Operator& op) { return !flex_name(op).empty(); }

OpKind base_kind(const Operator& op) {
  if (op.kind != OpKind::kCustom) return op.kind;
  const auto* found = std::ranges::find(kFlexKinds, flex_name(op), &NamedKind::name);
  return found == std::end(kFlexKinds) ? op.kind : found->kind;
}

std::string describe_custom(const Graph& graph, const Operator& op) {
  if (op.kind != OpKind::kCustom) return {};
  switch (custom_family(op)) {
    case CustomFamily::kCompiled:
      if (op.custom_code == kEdgeTpu)
        return "edgetpu-custom-op is a network compiled for the Edge TPU: what is inside cannot be "
               "seen and its cost is not known; give the model from before the Edge TPU compiler";
      return fmt::format(
          "ethos-u: already compiled by Vela{}{}: what is inside cannot be seen and its cost is "
          "not known; give the model from before Vela, or take the figures of Vela's summary CSV",
          vela_version(graph).empty() ? "" : " ", vela_version(graph));
    case CustomFamily::kFlex:
      if (base_kind(op) == OpKind::kCustom)
        return fmt::format(
            "{} is TensorFlow's operator {}: no builtin operator is known that computes the same, "
            "and its cost is not known",
            op.custom_code, flex_name(op));
      return fmt::format(
          "{} is TensorFlow's operator {}, run by TensorFlow's kernels; it is "
          "counted as {}",
          op.custom_code, flex_name(op), op_name(base_kind(op)));
    case CustomFamily::kKnown:
      return fmt::format(
          "{} is a known kernel without multiply-accumulates; its time is estimated "
          "from what it reads and writes",
          op.custom_code);
    case CustomFamily::kUnknown:
      break;
  }
  return fmt::format("custom operator '{}' is opaque: nothing is known of what it computes",
                     op.custom_code);
}

bool is_opaque(const Operator& op) {
  if (op.kind == OpKind::kUnknown || op.kind == OpKind::kPlaceholderForGreaterOpCodes) return true;
  if (op.kind != OpKind::kCustom || custom_family(op) == CustomFamily::kKnown) return false;
  return base_kind(op) == OpKind::kCustom;
}

}  // namespace edgesage
