#include "src/graph/graph_hash.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <vector>

#include "src/base/hash.h"
#include "src/graph/op_registry.h"

namespace edgesage {
namespace {

constexpr std::string_view kGraphPrefix = "g1-";
constexpr std::string_view kWeightsPrefix = "w1-";
// Constants that define shapes are small; longer ones are data of another purpose.
constexpr size_t kMaxShapeConstantBytes = 1024;

void add_list(Hasher& hasher, const auto& list) {
  hasher.add(list.size());
  for (const auto& item : list) hasher.add(item);
}

bool is_default(const Operator& op, const Attribute& attribute) {
  if (const auto* integer = std::get_if<int64_t>(&attribute.value))
    return *integer == default_option(op.kind, attribute.name);
  if (const auto* real = std::get_if<double>(&attribute.value)) return *real == 0;
  return std::visit(
      [](const auto& value) {
        if constexpr (requires { value.empty(); })
          return value.empty();
        else
          return false;
      },
      attribute.value);
}

void add_value(Hasher& hasher, const Attribute::Value& value) {
  hasher.add(value.index());
  std::visit(
      [&hasher](const auto& held) {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(held)>> ||
                      std::is_same_v<std::decay_t<decltype(held)>, std::string>)
          hasher.add(held);
        else
          add_list(hasher, held);
      },
      value);
}

void add_options(Hasher& hasher, const Operator& op) {
  std::vector<const Attribute*> options;
  for (const Attribute& attribute : op.attributes)
    if (!is_default(op, attribute)) options.push_back(&attribute);
  std::sort(options.begin(), options.end(),
            [](const Attribute* a, const Attribute* b) { return a->name < b->name; });
  hasher.add(options.size());
  for (const Attribute* option : options) {
    hasher.add(option->name);
    add_value(hasher, option->value);
  }
  hasher.add(op.custom_options.size());
  hasher.add_bytes(op.custom_options);
}

// Numbers the tensors of a subgraph by first use and hashes each when it is met first.
class TensorHasher {
 public:
  TensorHasher(const Graph& graph, const Subgraph& subgraph, Hasher& hasher)
      : graph_(graph), subgraph_(subgraph), hasher_(hasher), number_(subgraph.tensors.size(), -1) {}

  void add_uses(const std::vector<int32_t>& tensors, const Operator* reader) {
    hasher_.add(tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i)
      add_use(tensors[i], reader != nullptr && defines_shape(reader->kind, i));
  }

 private:
  void add_use(int32_t index, bool with_values) {
    if (index < 0 || static_cast<size_t>(index) >= number_.size()) {
      hasher_.add(kNoTensor);
      return;
    }
    const Tensor& tensor = subgraph_.tensors[static_cast<size_t>(index)];
    int32_t& number = number_[static_cast<size_t>(index)];
    const bool is_new = number < 0;
    if (is_new) number = next_++;
    hasher_.add(number);
    if (is_new) add_tensor(tensor);
    const auto bytes = graph_.constant(tensor);
    if (with_values && bytes.size() <= kMaxShapeConstantBytes) hasher_.add_bytes(bytes);
  }

  void add_tensor(const Tensor& tensor) {
    hasher_.add(static_cast<int>(tensor.type));
    hasher_.add(tensor.has_rank);
    add_list(hasher_, tensor.shape);
    // A signature without dynamic dimensions says nothing beyond the shape.
    const bool dynamic = std::find(tensor.shape_signature.begin(), tensor.shape_signature.end(),
                                   -1) != tensor.shape_signature.end();
    add_list(hasher_, dynamic ? tensor.shape_signature : std::vector<int64_t>{});
    hasher_.add(tensor.is_constant());
    hasher_.add(tensor.is_variable);
    hasher_.add(tensor.sparsity.has_value());
  }

  const Graph& graph_;
  const Subgraph& subgraph_;
  Hasher& hasher_;
  std::vector<int32_t> number_;
  int32_t next_ = 0;
};

void add_subgraph(Hasher& hasher, const Graph& graph, const Subgraph& subgraph) {
  TensorHasher tensors(graph, subgraph, hasher);
  tensors.add_uses(subgraph.inputs, nullptr);
  hasher.add(subgraph.operators.size());
  for (const Operator& op : subgraph.operators) {
    hasher.add(static_cast<int>(op.kind));
    hasher.add(op.custom_code);
    add_options(hasher, op);
    tensors.add_uses(op.inputs, &op);
    tensors.add_uses(op.outputs, nullptr);
    tensors.add_uses(op.intermediates, nullptr);
  }
  tensors.add_uses(subgraph.outputs, nullptr);
}

}  // namespace

std::string graph_hash(const Graph& graph) {
  Hasher hasher;
  hasher.add(kGraphPrefix);
  hasher.add(graph.subgraphs.size());
  for (const Subgraph& subgraph : graph.subgraphs) add_subgraph(hasher, graph, subgraph);
  return std::string(kGraphPrefix) + hasher.hex();
}

std::string weights_hash(const Graph& graph) {
  Hasher hasher;
  hasher.add(kWeightsPrefix);
  for (const Subgraph& subgraph : graph.subgraphs) {
    std::vector<bool> seen(subgraph.tensors.size());
    for (const Operator& op : subgraph.operators) {
      for (const int32_t input : op.inputs) {
        if (input < 0 || static_cast<size_t>(input) >= seen.size()) continue;
        const auto index = static_cast<size_t>(input);
        if (seen[index] || !subgraph.tensors[index].is_constant()) continue;
        seen[index] = true;
        const auto bytes = graph.constant(subgraph.tensors[index]);
        hasher.add(bytes.size());
        hasher.add_bytes(bytes);
      }
    }
  }
  return std::string(kWeightsPrefix) + hasher.hex();
}

}  // namespace edgesage
