#include "src/graph/validate.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "src/graph/op_registry.h"

namespace edgesage {
namespace {

constexpr int32_t kNobody = -1;
constexpr int32_t kGiven = -2;  // a graph input, constant or variable

class SubgraphCheck {
 public:
  SubgraphCheck(const Graph& graph, size_t index)
      : graph_(graph), subgraph_(graph.subgraphs[index]), index_(index) {}

  Status run() {
    EDGESAGE_RETURN_IF_ERROR(check_ports(subgraph_.inputs, "inputs"));
    EDGESAGE_RETURN_IF_ERROR(check_ports(subgraph_.outputs, "outputs"));
    producer_.assign(subgraph_.tensors.size(), kNobody);
    for (const int32_t input : subgraph_.inputs) producer_[static_cast<size_t>(input)] = kGiven;
    for (size_t i = 0; i < subgraph_.tensors.size(); ++i) EDGESAGE_RETURN_IF_ERROR(check_tensor(i));
    for (size_t i = 0; i < subgraph_.operators.size(); ++i)
      EDGESAGE_RETURN_IF_ERROR(check_operator(static_cast<int32_t>(i)));
    for (const int32_t output : subgraph_.outputs)
      if (producer_[static_cast<size_t>(output)] == kNobody)
        return bad(place(), fmt::format("output {} is made by no operator", tensor_name(output)));
    return {};
  }

 private:
  Status check_ports(const std::vector<int32_t>& tensors, std::string_view what) const {
    for (const int32_t tensor : tensors)
      if (tensor < 0 || static_cast<size_t>(tensor) >= subgraph_.tensors.size())
        return bad(place(), fmt::format("{} name tensor {}; 0 to {} are allowed", what, tensor,
                                        static_cast<int64_t>(subgraph_.tensors.size()) - 1));
    return {};
  }

  Status check_tensor(size_t index) {
    const Tensor& tensor = subgraph_.tensors[index];
    if (tensor.is_variable) producer_[index] = kGiven;
    if (!tensor.is_constant()) return {};
    producer_[index] = kGiven;
    const std::string where = fmt::format("{}, tensor {}", place(), index);
    if (tensor.buffer < 0 || static_cast<size_t>(tensor.buffer) >= graph_.buffers.size())
      return bad(where, fmt::format("names buffer {}; the model has {}", tensor.buffer,
                                    graph_.buffers.size()));
    const auto expected = tensor.byte_size();
    const auto held = static_cast<int64_t>(graph_.constant(tensor).size());
    // Empty buffers stand for bytes that lie in another file.
    if (!expected || tensor.sparsity || !tensor.has_rank || held == 0 || held == *expected)
      return {};
    return bad(where, fmt::format("{} bytes for a constant whose shape and type need {}", held,
                                  *expected));
  }

  Status check_operator(int32_t index) {
    const Operator& op = subgraph_.operators[static_cast<size_t>(index)];
    const std::string where =
        fmt::format("{}, operator {} ({})", place(), index,
                    op.custom_code.empty() ? op_name(op.kind) : std::string_view(op.custom_code));
    EDGESAGE_RETURN_IF_ERROR(check_arity(op, where));
    for (const auto* list : {&op.inputs, &op.outputs, &op.intermediates})
      for (const int32_t tensor : *list)
        if (tensor != kNoTensor &&
            (tensor < 0 || static_cast<size_t>(tensor) >= subgraph_.tensors.size()))
          return bad(where, fmt::format("names tensor {}; the subgraph has {}", tensor,
                                        subgraph_.tensors.size()));
    for (const int32_t input : op.inputs)
      if (input != kNoTensor && producer_[static_cast<size_t>(input)] == kNobody)
        return bad(where, fmt::format("reads {} before any operator makes it", tensor_name(input)));
    for (const int32_t output : op.outputs) {
      if (output == kNoTensor) continue;
      int32_t& producer = producer_[static_cast<size_t>(output)];
      if (producer == kGiven)
        return bad(where, fmt::format("writes {}, which is a constant, variable or graph input",
                                      tensor_name(output)));
      if (producer != kNobody)
        return bad(where, fmt::format("writes {}, which operator {} makes; one producer is allowed",
                                      tensor_name(output), producer));
      producer = index;
    }
    return {};
  }

  static Status check_arity(const Operator& op, const std::string& where) {
    const OpInfo* info = op_info(op.kind);
    if (info == nullptr) return {};
    const auto inputs = static_cast<int64_t>(op.inputs.size());
    if (inputs < info->min_inputs || inputs > info->max_inputs)
      return bad(where,
                 fmt::format("has {} inputs; {} are allowed", inputs,
                             info->min_inputs == info->max_inputs
                                 ? fmt::format("{}", info->min_inputs)
                                 : fmt::format("{} to {}", info->min_inputs, info->max_inputs)));
    if (info->outputs != kAnyNumber && static_cast<int64_t>(op.outputs.size()) != info->outputs)
      return bad(where,
                 fmt::format("has {} outputs; {} are needed", op.outputs.size(), info->outputs));
    return {};
  }

  [[nodiscard]] std::string place() const { return fmt::format("subgraph {}", index_); }
  [[nodiscard]] std::string tensor_name(int32_t tensor) const {
    const std::string& name = subgraph_.tensors[static_cast<size_t>(tensor)].name;
    return name.empty() ? fmt::format("tensor {}", tensor)
                        : fmt::format("tensor {} ({})", tensor, name);
  }
  static Status bad(std::string where, std::string message) {
    return make_error(ErrorCode::kBadModel, std::move(where), std::move(message));
  }

  const Graph& graph_;
  const Subgraph& subgraph_;
  const size_t index_;
  std::vector<int32_t> producer_;  // operator index, kNobody or kGiven, by tensor
};

}  // namespace

Status validate(const Graph& graph) {
  if (graph.subgraphs.empty())
    return make_error(ErrorCode::kBadModel, {}, "the model has no subgraph; one is needed");
  for (size_t i = 0; i < graph.subgraphs.size(); ++i)
    EDGESAGE_RETURN_IF_ERROR(SubgraphCheck(graph, i).run());
  return {};
}

}  // namespace edgesage
