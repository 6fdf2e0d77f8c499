#include "src/app/inspect_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "src/graph/custom_ops.h"
#include "src/graph/op_registry.h"

namespace edgesage::app {
namespace {

// What the user would call the operator: the custom code where it has one.
std::string kind_label(const Operator& op) {
  if (op.kind == OpKind::kCustom) return fmt::format("CUSTOM {}", op.custom_code);
  if (op.kind == OpKind::kUnknown && !op.custom_code.empty())
    return fmt::format("UNKNOWN {}", op.custom_code);
  return std::string(op_name(op.kind));
}

template <class Visit>
void for_each_tensor(const Graph& graph, Visit visit) {
  for (const Subgraph& subgraph : graph.subgraphs)
    for (const Tensor& tensor : subgraph.tensors) visit(tensor);
}

// "a, b, c and 4 more"
std::string some_of(const std::vector<std::string>& names) {
  constexpr size_t kShown = 4, kLongest = 40;
  std::string text;
  for (size_t i = 0; i < std::min(kShown, names.size()); ++i)
    text += (i == 0 ? "" : ", ") +
            (names[i].size() > kLongest ? names[i].substr(0, kLongest) + "..." : names[i]);
  if (names.size() > kShown) text += fmt::format(" and {} more", names.size() - kShown);
  return text;
}

std::string tensor_label(const Tensor& tensor, size_t index) {
  return tensor.name.empty() ? fmt::format("tensor {}", index) : tensor.name;
}

void collect_operator_warnings(const Graph& graph, std::vector<std::string>& warnings,
                               std::vector<std::string>& unsupported) {
  std::map<std::string, int> unknown;
  std::set<std::string> custom, options;
  for (const Subgraph& subgraph : graph.subgraphs) {
    for (const Operator& op : subgraph.operators) {
      if (is_opaque(op)) ++unknown[kind_label(op)];
      if (std::string text = describe_custom(graph, op); !text.empty())
        custom.insert(std::move(text));
      if (op.has_unknown_options) options.insert(kind_label(op));
    }
  }
  for (const auto& [label, count] : unknown) {
    unsupported.push_back(fmt::format(
        "unknown operator {} ({} times): it adds nothing to the MACs, and its cost is not known",
        label, count));
    warnings.push_back(unsupported.back());
  }
  warnings.insert(warnings.end(), custom.begin(), custom.end());
  for (const std::string& label : options)
    warnings.push_back(fmt::format("{}: options of a newer format version are ignored", label));
}

// Operators of the main subgraph whose results go nowhere: they run, and cost, all the same.
void collect_detached(const Subgraph& main, std::vector<std::string>& warnings) {
  std::vector<uint8_t> read(main.tensors.size(), 0);
  const auto mark = [&read](const std::vector<int32_t>& tensors) {
    for (const int32_t tensor : tensors)
      if (tensor >= 0) read[static_cast<size_t>(tensor)] = 1;
  };
  for (const Operator& op : main.operators) mark(op.inputs);
  mark(main.outputs);
  std::vector<std::string> detached;
  for (size_t i = 0; i < main.operators.size(); ++i) {
    const Operator& op = main.operators[i];
    const auto is_read = [&](int32_t tensor) {
      return tensor >= 0 && read[static_cast<size_t>(tensor)] != 0;
    };
    if (!op.outputs.empty() && std::ranges::none_of(op.outputs, is_read))
      detached.push_back(fmt::format("{} ({})", i, kind_label(op)));
  }
  if (!detached.empty())
    warnings.push_back(
        fmt::format("nothing reads the results of operator{} {}; counted all the same",
                    detached.size() == 1 ? "" : "s", some_of(detached)));
}

void collect_tensor_warnings(const Graph& graph, std::vector<std::string>& warnings,
                             std::vector<std::string>& unsupported) {
  std::vector<std::string> unranked, unknown_type, unsized;
  for (const Subgraph& subgraph : graph.subgraphs) {
    for (size_t i = 0; i < subgraph.tensors.size(); ++i) {
      const Tensor& tensor = subgraph.tensors[i];
      if (!tensor.has_rank && !tensor.is_constant()) unranked.push_back(tensor_label(tensor, i));
      if (tensor.type == DataType::kUnknown)
        unknown_type.push_back(tensor_label(tensor, i));
      else if (!tensor.byte_size())
        unsized.push_back(fmt::format("{} ({})", tensor_label(tensor, i), type_name(tensor.type)));
    }
  }
  if (!unranked.empty())
    warnings.push_back(
        fmt::format("no shape in the file, counted as one element: {}", some_of(unranked)));
  if (!unsized.empty())
    warnings.push_back(fmt::format("no fixed size, left out of the memory: {}", some_of(unsized)));
  if (!unknown_type.empty()) {
    unsupported.push_back(
        fmt::format("element type not known to this version: {}", some_of(unknown_type)));
    warnings.push_back(unsupported.back());
  }
}

}  // namespace

InspectedTensor inspect_tensor(const Subgraph& subgraph, int32_t index) {
  InspectedTensor out;
  out.index = index;
  if (index == kNoTensor) return out;
  const Tensor& tensor = subgraph.tensors[static_cast<size_t>(index)];
  out.name = tensor.name;
  out.type = type_name(tensor.type);
  out.has_rank = tensor.has_rank;
  out.shape = tensor.shape;
  out.shape_signature = tensor.shape_signature;
  out.is_constant = tensor.is_constant();
  out.bytes = tensor.byte_size();
  return out;
}

InspectedOperator inspect_operator(const Graph& graph, int32_t subgraph_index, int32_t index) {
  const Subgraph& subgraph = graph.subgraphs[static_cast<size_t>(subgraph_index)];
  const Operator& op = subgraph.operators[static_cast<size_t>(index)];
  InspectedOperator out;
  out.subgraph = subgraph_index;
  out.index = index;
  out.kind = op_name(op.kind);
  out.custom_code = op.custom_code;
  out.code = static_cast<int32_t>(op.kind);
  out.version = op.version;
  out.name = op.name;
  for (const int32_t tensor : op.inputs) {
    out.inputs.push_back(inspect_tensor(subgraph, tensor));
    const InspectedTensor& operand = out.inputs.back();
    if (!operand.is_constant) continue;
    const Tensor& constant = subgraph.tensors[static_cast<size_t>(tensor)];
    out.parameters += constant.element_count();
    const auto stored = static_cast<int64_t>(graph.constant(constant).size());
    // Constants may be known by their shapes alone.
    out.weights_bytes += stored > 0 ? stored : constant.byte_size().value_or(0);
  }
  for (const int32_t tensor : op.outputs) out.outputs.push_back(inspect_tensor(subgraph, tensor));
  if (out.name.empty() && !out.outputs.empty()) out.name = out.outputs.front().name;
  return out;
}

InspectedSubgraph inspect_subgraph(const Subgraph& subgraph) {
  InspectedSubgraph out;
  out.name = subgraph.name;
  out.operators = static_cast<int64_t>(subgraph.operators.size());
  out.tensors = static_cast<int64_t>(subgraph.tensors.size());
  std::set<std::pair<OpKind, std::string>> kinds;
  for (const Operator& op : subgraph.operators) kinds.emplace(op.kind, op.custom_code);
  out.distinct_operators = static_cast<int64_t>(kinds.size());
  for (const int32_t tensor : subgraph.inputs)
    out.inputs.push_back(inspect_tensor(subgraph, tensor));
  for (const int32_t tensor : subgraph.outputs)
    out.outputs.push_back(inspect_tensor(subgraph, tensor));
  return out;
}

std::vector<OperatorCount> count_operators(const Graph& graph) {
  std::map<std::pair<OpKind, std::string>, int64_t> counts;
  for (const Subgraph& subgraph : graph.subgraphs)
    for (const Operator& op : subgraph.operators) ++counts[{op.kind, op.custom_code}];
  std::vector<OperatorCount> out;
  for (const auto& [key, count] : counts)
    out.push_back(
        {std::string(op_name(key.first)), static_cast<int32_t>(key.first), key.second, count});
  std::ranges::stable_sort(out, std::greater{}, &OperatorCount::count);
  return out;
}

std::map<std::string, TypeCount> count_types(const Graph& graph) {
  std::map<std::string, TypeCount> types;
  for_each_tensor(graph, [&](const Tensor& tensor) {
    TypeCount& count = types[std::string(type_name(tensor.type))];
    if (tensor.is_constant()) {
      ++count.constants;
      count.constant_bytes += static_cast<int64_t>(graph.constant(tensor).size());
    } else {
      ++count.activations;
    }
  });
  return types;
}

QuantizationCount count_quantization(const Graph& graph) {
  QuantizationCount count;
  for_each_tensor(graph, [&](const Tensor& tensor) {
    const Quantization& quantization = tensor.quantization;
    if (quantization.block_size > 0)
      ++count.blockwise;
    else if (!quantization.custom.empty())
      ++count.custom;
    else if (quantization.scale.size() > 1)
      ++count.per_channel;
    else if (quantization.scale.size() == 1)
      ++count.per_tensor;
    else
      ++count.none;
  });
  return count;
}

std::string dominant_type(const Graph& graph) {
  // Biases and shapes are kept apart from weights by size: the type with most elements wins.
  std::map<DataType, double> constants, activations;
  for_each_tensor(graph, [&](const Tensor& tensor) {
    (tensor.is_constant() ? constants : activations)[tensor.type] +=
        static_cast<double>(tensor.element_count());
  });
  const auto& elements = constants.empty() ? activations : constants;
  double total = 0;
  DataType largest = DataType::kUnknown;
  double most = 0;
  for (const auto& [type, count] : elements) {
    total += count;
    if (count > most) std::tie(largest, most) = std::pair(type, count);
  }
  if (most <= 0) return "unknown";
  return most * 3 >= total * 2 ? std::string(type_name(largest)) : "mixed";
}

void collect_warnings(const Graph& graph, std::vector<std::string>& warnings,
                      std::vector<std::string>& unsupported) {
  if (graph.main().operators.empty())
    warnings.emplace_back("the main subgraph has no operators: nothing is computed");
  unsupported.insert(unsupported.end(), graph.unsupported.begin(), graph.unsupported.end());
  collect_operator_warnings(graph, warnings, unsupported);
  collect_detached(graph.main(), warnings);
  collect_tensor_warnings(graph, warnings, unsupported);
}

}  // namespace edgesage::app
