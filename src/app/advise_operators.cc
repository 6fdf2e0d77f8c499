// Rewrites of operators that fall back or are slow, into what does about the same.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "src/app/advise_rewrites.h"
#include "src/graph/op_registry.h"
#include "src/transform/constants.h"
#include "src/transform/refit.h"

namespace edgesage::app {
namespace {

// A kind of change, made to all operators that it applies to at once.
struct Rule {
  const char* what;
  bool (*applies)(const Graph& graph, const Operator& op);
  Status (*change)(Graph& graph, int32_t op);
};

Operator& operator_at(Graph& graph, int32_t op) {
  return graph.main().operators[static_cast<size_t>(op)];
}

bool is_output(const Graph& graph, int32_t tensor) {
  return std::ranges::find(graph.main().outputs, tensor) != graph.main().outputs.end();
}

void become(Operator& op, OpKind kind, size_t inputs) {
  op.kind = kind;
  op.attributes.clear();
  op.custom_options.clear();
  op.omits_options = false;
  op.inputs.resize(std::min(op.inputs.size(), inputs));
}

bool is_smooth_activation(const Graph&, const Operator& op) {
  constexpr OpKind kKinds[] = {OpKind::kLogistic,  OpKind::kTanh,  OpKind::kHardSwish, OpKind::kElu,
                               OpKind::kLeakyRelu, OpKind::kPrelu, OpKind::kGelu};
  return std::ranges::find(kKinds, op.kind) != std::end(kKinds);
}

Status to_relu6(Graph& graph, int32_t op) {
  become(operator_at(graph, op), OpKind::kRelu6, 1);
  return {};
}

bool is_bilinear(const Graph&, const Operator& op) { return op.kind == OpKind::kResizeBilinear; }

Status to_nearest(Graph& graph, int32_t op) {
  become(operator_at(graph, op), OpKind::kResizeNearestNeighbor, 2);
  return {};
}

bool is_final_softmax(const Graph& graph, const Operator& op) {
  return (op.kind == OpKind::kSoftmax || op.kind == OpKind::kLogSoftmax) && !op.outputs.empty() &&
         is_output(graph, op.outputs[0]);
}

Status leave_out(Graph& graph, int32_t op) {
  const Operator& softmax = operator_at(graph, op);
  std::ranges::replace(graph.main().outputs, softmax.outputs[0], softmax.inputs[0]);
  for (Signature& signature : graph.signatures)
    for (Signature::Port& port : signature.outputs)
      if (signature.subgraph == 0 && port.tensor == softmax.outputs[0])
        port.tensor = softmax.inputs[0];
  return {};
}

bool divides_by_constant(const Graph& graph, const Operator& op) {
  return op.kind == OpKind::kDiv && op.inputs.size() == 2 && op.inputs[1] >= 0 &&
         graph.main().tensors[static_cast<size_t>(op.inputs[1])].is_constant();
}

Status to_mul(Graph& graph, int32_t op) {
  operator_at(graph, op).kind = OpKind::kMul;
  return {};
}

bool has_kernel_of_five(const Graph& graph, const Operator& op) {
  if (op.kind != OpKind::kConv2D && op.kind != OpKind::kDepthwiseConv2D) return false;
  if (op.inputs.size() < 2 || op.inputs[1] < 0 || op.attr_int("padding", 0) != 0) return false;
  const Tensor& filter = graph.main().tensors[static_cast<size_t>(op.inputs[1])];
  return filter.is_constant() && !filter.sparsity && filter.shape.size() == 4 &&
         filter.shape[1] == 5 && filter.shape[2] == 5 &&
         use_counts(graph.main())[static_cast<size_t>(op.inputs[1])] == 1;
}

Status to_kernel_of_three(Graph& graph, int32_t op) {
  constexpr int64_t kMiddle[] = {1, 2, 3};
  const int32_t filter = operator_at(graph, op).inputs[1];
  EDGESAGE_RETURN_IF_ERROR(take_along(graph, filter, 1, kMiddle));
  return take_along(graph, filter, 2, kMiddle);
}

constexpr int64_t kWidestKernel = 3;

// Stretches the map, to an output of one size in a constant.
bool stretches(const Graph& graph, const Operator& op) {
  if (op.kind != OpKind::kTransposeConv || op.inputs.size() < 3) return false;
  const Subgraph& main = graph.main();
  const auto tensor = [&](size_t input) -> const Tensor& {
    return main.tensors[static_cast<size_t>(op.inputs[input])];
  };
  const Tensor &size = tensor(0), &filter = tensor(1), &in = tensor(2);
  const Tensor& out = main.tensors[static_cast<size_t>(op.outputs[0])];
  return size.is_constant() && size.type == DataType::kInt32 && filter.is_constant() &&
         !filter.sparsity && filter.shape.size() == 4 && in.shape.size() == 4 &&
         out.shape.size() == 4 && out.shape[1] > in.shape[1] && out.shape[2] > in.shape[2] &&
         use_counts(main)[static_cast<size_t>(op.inputs[1])] == 1;
}

// The middle of a kernel that is too wide: the map that it slides over is stretched already.
Status narrow_kernel(Graph& graph, int32_t filter, size_t dimension) {
  const int64_t wide = graph.main().tensors[static_cast<size_t>(filter)].shape[dimension];
  if (wide <= kWidestKernel) return {};
  std::vector<int64_t> middle(kWidestKernel);
  std::iota(middle.begin(), middle.end(), (wide - kWidestKernel) / 2);
  return take_along(graph, filter, dimension, middle);
}

int32_t add_tensor(Graph& graph, Tensor tensor) {
  graph.main().tensors.push_back(std::move(tensor));
  return static_cast<int32_t>(graph.main().tensors.size()) - 1;
}

// The nearest neighbour first, then a convolution of stride 1 (Odena et al., Deconvolution and
// checkerboard artifacts, 2016).
Status to_resize_and_convolution(Graph& graph, int32_t op) {
  const std::vector<int32_t> inputs = operator_at(graph, op).inputs;
  const int32_t filter = inputs[1], image = inputs[2];
  EDGESAGE_RETURN_IF_ERROR(narrow_kernel(graph, filter, 1));
  EDGESAGE_RETURN_IF_ERROR(narrow_kernel(graph, filter, 2));
  const std::vector<Tensor>& tensors = graph.main().tensors;
  const auto made = static_cast<size_t>(operator_at(graph, op).outputs[0]);
  const int64_t height = tensors[made].shape[1], width = tensors[made].shape[2];
  Tensor stretched = tensors[static_cast<size_t>(image)];
  stretched.name += "_stretched";
  stretched.shape[1] = height;
  stretched.shape[2] = width;
  stretched.shape_signature.clear();
  Tensor size = tensors[static_cast<size_t>(inputs[0])];
  size.name = stretched.name + "_size";
  size.shape = {2};
  size.shape_signature.clear();
  const int32_t to[] = {static_cast<int32_t>(height), static_cast<int32_t>(width)};
  const auto bytes = std::as_bytes(std::span(to));
  size.buffer = static_cast<int32_t>(graph.buffers.size());
  graph.buffers.push_back(make_buffer(std::vector<std::byte>(bytes.begin(), bytes.end())));

  Operator resize;
  resize.kind = OpKind::kResizeNearestNeighbor;
  resize.inputs = {image, add_tensor(graph, std::move(size))};
  resize.outputs = {add_tensor(graph, std::move(stretched))};
  Operator& convolution = operator_at(graph, op);
  convolution.kind = OpKind::kConv2D;
  convolution.version = 1;
  convolution.inputs = {resize.outputs[0], filter};
  if (inputs.size() > 3) convolution.inputs.push_back(inputs[3]);
  convolution.set("padding", int64_t{0});
  convolution.set("stride_h", int64_t{1});
  convolution.set("stride_w", int64_t{1});
  std::vector<Operator>& operators = graph.main().operators;
  operators.insert(operators.begin() + op, std::move(resize));
  return {};
}

constexpr Rule kRules[] = {
    {"RELU6 instead", is_smooth_activation, to_relu6},
    {"RESIZE_NEAREST_NEIGHBOR instead", is_bilinear, to_nearest},
    {"left out: the largest stays the largest", is_final_softmax, leave_out},
    {"MUL by the reciprocal instead", divides_by_constant, to_mul},
    {"kernels of 3x3 instead of 5x5", has_kernel_of_five, to_kernel_of_three},
    {"RESIZE_NEAREST_NEIGHBOR and CONV_2D instead", stretches, to_resize_and_convolution},
};

Result<Graph> changed(const Graph& graph, const Rule& rule, const std::vector<int32_t>& operators) {
  Graph edited = graph;
  // From behind: a change may put operators before its own.
  for (auto op = operators.rbegin(); op != operators.rend(); ++op)
    EDGESAGE_RETURN_IF_ERROR(rule.change(edited, *op));
  return edited;
}

// ---- float32 to int8

bool is_float(const Tensor& tensor) { return tensor.type == DataType::kFloat32; }

// One scale a tensor; what a converter would refine costs the same.
void quantise(Graph& graph, Tensor& tensor) {
  double largest = 6;  // of an activation
  const std::span<const std::byte> bytes = graph.constant(tensor);
  std::vector<float> values(bytes.size() / sizeof(float));
  if (!values.empty()) {
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
    largest = 0;
    for (const float value : values)
      if (std::isfinite(value)) largest = std::max(largest, std::abs(double{value}));
    if (largest == 0) largest = 1;
  }
  const double scale = largest / 127;
  tensor.type = DataType::kInt8;
  tensor.quantization = {};
  tensor.quantization.scale = {static_cast<float>(scale)};
  tensor.quantization.zero_point = {0};
  if (!tensor.is_constant()) return;
  std::vector<std::byte> stored;
  for (const float value : values)
    stored.push_back(static_cast<std::byte>(static_cast<int8_t>(
        std::isfinite(value) ? std::clamp(std::lround(value / scale), -127L, 127L) : 0)));
  tensor.buffer = static_cast<int32_t>(graph.buffers.size());
  graph.buffers.push_back(make_buffer(stored));
}

// Biases of convolutions and dense layers are int32 in such a model.
void quantise_bias(Graph& graph, Tensor& tensor) {
  tensor.type = DataType::kInt32;
  tensor.quantization = {};
  tensor.quantization.scale = {1};
  tensor.quantization.zero_point = {0};
  const std::vector<std::byte> zeros(graph.constant(tensor).size());
  tensor.buffer = static_cast<int32_t>(graph.buffers.size());
  graph.buffers.push_back(make_buffer(zeros));
}

Result<Graph> quantised(const Graph& graph) {
  Graph edited = graph;
  for (const Operator& op : edited.main().operators) {
    const bool has_bias = op.kind == OpKind::kConv2D || op.kind == OpKind::kDepthwiseConv2D ||
                          op.kind == OpKind::kFullyConnected;
    if (!has_bias || op.inputs.size() < 3 || op.inputs[2] < 0) continue;
    Tensor& bias = edited.main().tensors[static_cast<size_t>(op.inputs[2])];
    if (is_float(bias) && bias.is_constant()) quantise_bias(edited, bias);
  }
  for (size_t i = 0; i < edited.main().tensors.size(); ++i)
    if (is_float(edited.main().tensors[i])) quantise(edited, edited.main().tensors[i]);
  refit_bias_scales(edited);
  return edited;
}

bool falls_back(const OperatorPrediction& op) { return op.placement == "cpu"; }

}  // namespace

std::vector<Rewrite> operator_rewrites(const Graph& graph, const Prediction& prediction) {
  std::vector<Rewrite> out;
  const std::vector<Operator>& operators = graph.main().operators;
  for (const Rule& rule : kRules) {
    Rewrite rewrite{.topic = "operator", .what = "", .operators = {}, .make = {}};
    std::string kinds;
    for (size_t i = 0; i < operators.size(); ++i) {
      if (!is_complete(operators[i]) || !rule.applies(graph, operators[i])) continue;
      rewrite.operators.push_back(static_cast<int32_t>(i));
      const std::string name(op_name(operators[i].kind));
      if (kinds.find(name) == std::string::npos) kinds += (kinds.empty() ? "" : ", ") + name;
    }
    if (rewrite.operators.empty()) continue;
    rewrite.what =
        fmt::format("{} ({}): {}", operators_in_words(rewrite.operators), kinds, rule.what);
    rewrite.make = [&graph, &rule, touched = rewrite.operators] {
      return changed(graph, rule, touched);
    };
    out.push_back(std::move(rewrite));
  }
  // Most of what an accelerator for integers leaves alone is not quantised.
  Rewrite integers{.topic = "operator", .what = "", .operators = {}, .make = {}};
  for (size_t i = 0; i < std::min(operators.size(), prediction.operators.size()); ++i) {
    const std::vector<int32_t>& made = operators[i].outputs;
    if (falls_back(prediction.operators[i]) && !made.empty() && made[0] >= 0 &&
        is_float(graph.main().tensors[static_cast<size_t>(made[0])]))
      integers.operators.push_back(static_cast<int32_t>(i));
  }
  if (!integers.operators.empty()) {
    integers.what = "the model quantised to int8 instead of float32";
    integers.make = [&graph] { return quantised(graph); };
    out.push_back(std::move(integers));
  }
  return out;
}

}  // namespace edgesage::app
