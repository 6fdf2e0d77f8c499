#include "src/io/onnx/convert_uses.h"

#include <algorithm>
#include <array>
#include <unordered_set>

namespace edgesage::onnx::convert {
namespace {

template <size_t n>
bool is_one_of(std::string_view name, const std::array<std::string_view, n>& names) {
  return std::ranges::find(names, name) != names.end();
}

// Operators whose first input is an image.
bool reads_image(std::string_view op) {
  static constexpr std::array<std::string_view, 22> kOps{"Conv",
                                                         "ConvTranspose",
                                                         "MaxPool",
                                                         "AveragePool",
                                                         "LpPool",
                                                         "GlobalAveragePool",
                                                         "GlobalMaxPool",
                                                         "GlobalLpPool",
                                                         "QLinearConv",
                                                         "ConvInteger",
                                                         "FusedConv",
                                                         "InstanceNormalization",
                                                         "LRN",
                                                         "DepthToSpace",
                                                         "SpaceToDepth",
                                                         "Resize",
                                                         "Upsample",
                                                         "GroupNormalization",
                                                         "QLinearAveragePool",
                                                         "QLinearGlobalAveragePool",
                                                         "MaxUnpool",
                                                         "BatchNormalization"};
  return is_one_of(op, kOps);
}

// Operators that give out an image where they are given one.
bool passes_image(std::string_view op) {
  static constexpr std::array<std::string_view, 44> kOps{"Add",
                                                         "Sub",
                                                         "Mul",
                                                         "Div",
                                                         "Pow",
                                                         "Max",
                                                         "Min",
                                                         "Mean",
                                                         "Sum",
                                                         "Relu",
                                                         "LeakyRelu",
                                                         "PRelu",
                                                         "Elu",
                                                         "Sigmoid",
                                                         "Tanh",
                                                         "HardSigmoid",
                                                         "HardSwish",
                                                         "Clip",
                                                         "Gelu",
                                                         "Softplus",
                                                         "Abs",
                                                         "Neg",
                                                         "Exp",
                                                         "Log",
                                                         "Sqrt",
                                                         "Cast",
                                                         "Identity",
                                                         "Dropout",
                                                         "Pad",
                                                         "Concat",
                                                         "Slice",
                                                         "Split",
                                                         "Swish",
                                                         "Mish",
                                                         "Selu",
                                                         "Round",
                                                         "Floor",
                                                         "Ceil",
                                                         "Erf",
                                                         "Softmax",
                                                         "QuantizeLinear",
                                                         "DequantizeLinear",
                                                         "DynamicQuantizeLinear",
                                                         "QLinearAdd"};
  return is_one_of(op, kOps);
}

// Operators that keep the values of their first input, or are fused into what makes it.
bool passes_quantizer(std::string_view op) {
  static constexpr std::array<std::string_view, 9> kOps{"Relu",      "Clip",     "Reshape",
                                                        "Transpose", "Flatten",  "Squeeze",
                                                        "Unsqueeze", "Identity", "Dropout"};
  return is_one_of(op, kOps);
}

bool may_fold(std::string_view op) {
  return op == "Add" || op == "Mul" || op == "BatchNormalization";
}

// Graphs such that those inside others come first.
std::vector<int32_t> inner_first(const Model& model) {
  std::vector<int32_t> depth(model.graphs.size(), -1), path;
  for (size_t i = 0; i < model.graphs.size(); ++i) {
    auto g = static_cast<int32_t>(i);
    while (g >= 0 && depth[static_cast<size_t>(g)] < 0 && path.size() <= model.graphs.size()) {
      path.push_back(g);
      g = model.graphs[static_cast<size_t>(g)].parent;
    }
    int32_t above = g < 0 ? -1 : depth[static_cast<size_t>(g)];
    for (; !path.empty(); path.pop_back()) depth[static_cast<size_t>(path.back())] = ++above;
  }
  std::vector<int32_t> order(model.graphs.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
  std::ranges::stable_sort(order, [&](int32_t a, int32_t b) {
    return depth[static_cast<size_t>(a)] > depth[static_cast<size_t>(b)];
  });
  return order;
}

}  // namespace

std::vector<std::vector<std::string_view>> captured_names(const Model& model) {
  std::vector<std::vector<std::string_view>> captured(model.graphs.size());
  if (model.graphs.size() < 2) return captured;
  for (const int32_t index : inner_first(model)) {
    if (index == 0) continue;
    const GraphTable& graph = model.graphs[static_cast<size_t>(index)];
    std::unordered_set<std::string_view> mine;
    for (const Value& input : graph.inputs) mine.insert(input.name);
    for (const Constant& constant : graph.initializers) mine.insert(constant.name);
    for (const Node& node : graph.nodes) mine.insert(node.outputs.begin(), node.outputs.end());
    auto& outside = captured[static_cast<size_t>(index)];
    const auto read = [&](std::string_view name) {
      if (!name.empty() && mine.insert(name).second) outside.push_back(name);
    };
    for (const Node& node : graph.nodes) {
      for (const std::string_view name : node.inputs) read(name);
      for (const int32_t body : bodies_of(node))
        for (const std::string_view name : captured[static_cast<size_t>(body)]) read(name);
    }
    for (const Value& output : graph.outputs) read(output.name);
  }
  return captured;
}

int32_t GraphUses::id(std::string_view name) const {
  const auto it = ids_.find(name);
  return it == ids_.end() ? -1 : it->second;
}

int32_t GraphUses::number(std::string_view name) {
  if (name.empty()) return -1;
  const auto [it, added] = ids_.emplace(name, static_cast<int32_t>(names_.size()));
  if (added) names_.push_back(name);
  return it->second;
}

bool GraphUses::is_constant(int32_t value) const {
  if (value < 0) return false;
  const InferredValue* known = known_[at(value)];
  return known != nullptr && known->constant != nullptr;
}

int64_t GraphUses::rank(int32_t value) const {
  const InferredValue* known = known_[at(value)];
  return known != nullptr && known->type.has_shape ? static_cast<int64_t>(known->type.shape.size())
                                                   : -1;
}

GraphUses::GraphUses(const Model& model, const Inferred& inferred, int32_t index,
                     std::span<const std::vector<std::string_view>> captured) {
  const GraphTable& graph = model.graphs[static_cast<size_t>(index)];
  ids_.reserve(graph.nodes.size() * 2 + graph.initializers.size());
  for (const Value& input : graph.inputs) number(input.name);
  for (const Node& node : graph.nodes) {
    for (const std::string_view name : node.inputs) inputs_.push_back(number(name));
    for (const int32_t body : bodies_of(node))
      for (const std::string_view name : captured[static_cast<size_t>(body)])
        inputs_.push_back(number(name));
    input_ends_.push_back(static_cast<int32_t>(inputs_.size()));
    for (const std::string_view name : node.outputs) outputs_.push_back(number(name));
    output_ends_.push_back(static_cast<int32_t>(outputs_.size()));
  }
  for (const Value& output : graph.outputs) number(output.name);
  const size_t count = names_.size();
  known_.resize(count);
  for (size_t i = 0; i < count; ++i) known_[i] = inferred.find(index, names_[i]);
  is_output_.assign(count, 0);
  mentioned_.assign(count, 0);
  wants_image_.assign(count, 0);
  reads_.assign(count, 0);
  reader_.assign(count, -1);
  quantizer_.assign(count, -1);
  producer_.assign(count, -1);
  needed_.assign(graph.nodes.size(), 0);
  for (const Value& output : graph.outputs) {
    const int32_t value = id(output.name);
    if (value < 0) continue;
    is_output_[at(value)] = 1;
    ++reads_[at(value)];
  }
  for (size_t node = graph.nodes.size(); node-- > 0;) read_backwards(graph, node);
}

void GraphUses::read_backwards(const GraphTable& graph, size_t index) {
  const Node& node = graph.nodes[index];
  bool needed = false, constant = true, detached = true;
  for (const int32_t output : outputs(index)) {
    if (output < 0) continue;
    producer_[at(output)] = static_cast<int32_t>(index);
    constant = constant && is_constant(output);
    needed = needed || reads_[at(output)] > 0;
    detached = detached && mentioned_[at(output)] == 0 && is_output_[at(output)] == 0;
  }
  for (const int32_t input : inputs(index))
    if (input >= 0) mentioned_[at(input)] = 1;
  // A node that nobody reads runs all the same; one that only led to constants does not.
  if (constant || (!needed && !detached)) return;
  needed_[index] = 1;
  pass_back(node, index);
  for (const int32_t input : inputs(index)) {
    if (input < 0) continue;
    ++reads_[at(input)];
    reader_[at(input)] = static_cast<int32_t>(index);
  }
}

// What the readers of this node's first output want, its inputs are wanted for too.
void GraphUses::pass_back(const Node& node, size_t index) {
  const auto in = inputs(index);
  const auto out = outputs(index);
  const int32_t result = out.empty() ? -1 : out[0];
  const bool image_behind = result >= 0 && wants_image_[at(result)] != 0;
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i] < 0) continue;
    const bool image = (reads_image(node.op_type) && i == 0) ||
                       (passes_image(node.op_type) && image_behind && rank(in[i]) == rank(result));
    if (image) wants_image_[at(in[i])] = 1;
  }
  if (in.empty() || in[0] < 0 || result < 0) return;
  if (node.op_type == "QuantizeLinear") {
    quantizer_[at(in[0])] = static_cast<int32_t>(index);
    return;
  }
  if (quantizer_[at(result)] < 0 || reads_[at(result)] != 1) return;
  if (passes_quantizer(node.op_type)) quantizer_[at(in[0])] = quantizer_[at(result)];
  if (!may_fold(node.op_type)) return;
  for (const int32_t input : in)
    if (input >= 0 && !is_constant(input) && quantizer_[at(input)] < 0)
      quantizer_[at(input)] = quantizer_[at(result)];
}

}  // namespace edgesage::onnx::convert
