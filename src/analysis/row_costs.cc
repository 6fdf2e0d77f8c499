#include "src/analysis/row_costs.h"

#include <algorithm>
#include <array>
#include <limits>

#include "src/lower/operator_shapes.h"

namespace edgesage {
namespace {

int64_t product(std::initializer_list<int64_t> factors) {
  return saturating_product(std::span(factors.begin(), factors.size()));
}

int64_t sum(int64_t a, int64_t b) {
  int64_t result = 0;
  return __builtin_add_overflow(a, b, &result) ? std::numeric_limits<int64_t>::max() : result;
}

int64_t dimension(const Tensor& tensor, size_t from_end) {
  if (tensor.shape.size() < from_end) return 1;
  return std::max<int64_t>(tensor.shape[tensor.shape.size() - from_end], 0);
}

// Taps of a filter times the input channels that one output element sees.
int64_t taps_per_output(const Operator& op, const Tensor& filter) {
  switch (op.kind) {
    case OpKind::kDepthwiseConv2D:
      return product({dimension(filter, 3), dimension(filter, 2)});
    case OpKind::kConv3D:  // depth, height, width, in, out
      return product(
          {dimension(filter, 5), dimension(filter, 4), dimension(filter, 3), dimension(filter, 2)});
    default:  // out, height, width, in
      return product({dimension(filter, 3), dimension(filter, 2), dimension(filter, 1)});
  }
}

// Every element of the weight matrices once for each step of each sequence.
int64_t recurrent_macs(const Subgraph& subgraph, const Operator& op) {
  int64_t weights = 0;
  for (size_t i = 1; i < op.inputs.size(); ++i) {
    const Tensor* tensor = input_tensor(subgraph, op, i);
    if (tensor != nullptr && !tensor->is_variable && tensor->shape.size() == 2 &&
        tensor->is_constant())
      weights = sum(weights, tensor->element_count());
  }
  const Tensor* input = input_tensor(subgraph, op, 0);
  const int64_t features = input != nullptr ? dimension(*input, 1) : 0;
  const int64_t steps = features > 0 ? input->element_count() / features : 0;
  return product({weights, steps});
}

int64_t mat_mul_macs(const Subgraph& subgraph, const Operator& op) {
  const Tensor* left = input_tensor(subgraph, op, 0);
  const Tensor* output = output_tensor(subgraph, op, 0);
  if (left == nullptr || output == nullptr) return 0;
  const bool transposed = op.attr_int("adj_x", 0) != 0;
  return product({output->element_count(), dimension(*left, transposed ? 2 : 1)});
}

int64_t flat_macs(const Subgraph& subgraph, const Operator& op) {
  const OperandRoles roles = operand_roles(op);
  const Tensor* input = input_tensor(subgraph, op, roles.ifm);
  const Tensor* output = output_tensor(subgraph, op, 0);
  const Tensor* filter = input_tensor(subgraph, op, 1);
  if (input == nullptr || output == nullptr || filter == nullptr) return 0;
  switch (op.kind) {
    case OpKind::kConv2D:
    case OpKind::kDepthwiseConv2D:
    case OpKind::kConv3D:
      return product({output->element_count(), taps_per_output(op, *filter)});
    case OpKind::kTransposeConv:  // filter: out, height, width, in
      return product({input->element_count(), dimension(*filter, 4), dimension(*filter, 3),
                      dimension(*filter, 2)});
    case OpKind::kConv3DTranspose:  // filter: depth, height, width, out, in
      return product({input->element_count(), dimension(*filter, 5), dimension(*filter, 4),
                      dimension(*filter, 3), dimension(*filter, 2)});
    case OpKind::kFullyConnected:
      return product({output->element_count(), dimension(*filter, 1)});
    default:
      return 0;
  }
}

class MacCounter {
 public:
  explicit MacCounter(const Graph& graph)
      : graph_(graph), bodies_(graph.subgraphs.size(), kUnseen) {}

  int64_t of(const Subgraph& subgraph, const Operator& op) {
    switch (op.kind) {
      case OpKind::kBatchMatmul:
        return mat_mul_macs(subgraph, op);
      case OpKind::kLstm:
      case OpKind::kRnn:
      case OpKind::kSvdf:
      case OpKind::kUnidirectionalSequenceLstm:
      case OpKind::kUnidirectionalSequenceRnn:
      case OpKind::kBidirectionalSequenceLstm:
      case OpKind::kBidirectionalSequenceRnn:
        return recurrent_macs(subgraph, op);
      case OpKind::kIf:
        return sum(body(op, "then_subgraph_index"), body(op, "else_subgraph_index"));
      case OpKind::kWhile:
        return sum(body(op, "cond_subgraph_index"), body(op, "body_subgraph_index"));
      case OpKind::kCallOnce:
        return body(op, "init_subgraph_index");
      case OpKind::kCall:
        return body(op, "subgraph");
      case OpKind::kStablehloComposite:
        return body(op, "decomposition_subgraph_index");
      default:
        return flat_macs(subgraph, op);
    }
  }

 private:
  // Each subgraph is walked once, however many operators name it; one that (by mistake) contains
  // itself counts once.
  int64_t body(const Operator& op, std::string_view attribute) {
    const int64_t index = op.attr_int(attribute, -1);
    if (index <= 0 || static_cast<size_t>(index) >= graph_.subgraphs.size()) return 0;
    const auto i = static_cast<size_t>(index);
    if (bodies_[i] != kUnseen) return bodies_[i];
    bodies_[i] = 0;
    int64_t total = 0;
    for (const Operator& inner : graph_.subgraphs[i].operators)
      total = sum(total, of(graph_.subgraphs[i], inner));
    return bodies_[i] = total;
  }

  const Graph& graph_;
  static constexpr int64_t kUnseen = -1;
  std::vector<int64_t> bodies_;  // MACs of each subgraph; 0 while it is walked
};

int64_t bytes_of(int64_t elements, DataType type) {
  const int64_t bits = bits_per_element(type);
  return product({elements, bits}) / 8 + (product({elements, bits}) % 8 != 0 ? 1 : 0);
}

int64_t stored_bytes(const Graph& graph, const Subgraph& subgraph, int32_t index) {
  if (index < 0 || static_cast<size_t>(index) >= subgraph.tensors.size()) return 0;
  const Tensor& tensor = subgraph.tensors[static_cast<size_t>(index)];
  if (!tensor.is_constant()) return 0;
  const auto stored = static_cast<int64_t>(graph.constant(tensor).size());
  return stored > 0 ? stored : tensor.byte_size().value_or(0);
}

int64_t row_macs(const Row& row) {
  const int64_t taps = product({row.kernel_h, row.kernel_w});
  switch (row.kind) {
    case RowKind::kConv2D:
      return product({row.ofm.elements(), taps, row.ifm.c / std::max<int64_t>(row.groups, 1)});
    case RowKind::kDepthwiseConv2D:
      return product({row.ofm.elements(), taps});
    case RowKind::kTransposeConv:
      return product({row.ifm.elements(), taps, row.ofm.c});
    case RowKind::kFullyConnected:
      return product({row.ofm.elements(), row.ifm.c});
    default:
      return 0;
  }
}

}  // namespace

std::vector<int64_t> operator_macs(const Graph& graph) {
  std::vector<int64_t> macs;
  if (graph.subgraphs.empty()) return macs;
  MacCounter counter(graph);
  for (const Operator& op : graph.main().operators) macs.push_back(counter.of(graph.main(), op));
  return macs;
}

std::vector<RowCost> row_costs(const Graph& graph, const Lowering& lowering) {
  std::vector<RowCost> costs(lowering.rows.size());
  const std::vector<int64_t> by_operator = operator_macs(graph);
  for (size_t i = 0; i < costs.size(); ++i) {
    const Row& row = lowering.rows[i];
    RowCost& cost = costs[i];
    const bool by_graph = row.kind == RowKind::kMatMul || row.kind == RowKind::kRecurrent ||
                          row.kind == RowKind::kControl || row.op_kind == OpKind::kConv3D ||
                          row.op_kind == OpKind::kConv3DTranspose;
    cost.macs = by_graph && row.op >= 0 ? by_operator[static_cast<size_t>(row.op)] : row_macs(row);
    cost.ofm_bytes = bytes_of(row.ofm.elements(), row.ofm_type);
    cost.ifm_bytes = bytes_of(row.ifm.elements(), row.ifm_type);
    const Subgraph& subgraph = graph.main();
    const Operator& op = subgraph.operators[static_cast<size_t>(row.op)];
    cost.weights_bytes =
        sum(stored_bytes(graph, subgraph, row.weights), stored_bytes(graph, subgraph, row.bias));
    if (row.invented_weights) cost.weights_bytes = product({row.kernel_h, row.kernel_w, row.ofm.c});
    if (row.has_ifm2 && row.ifm2_constant)
      cost.weights_bytes = sum(cost.weights_bytes, bytes_of(row.ifm2.elements(), row.ifm_type));
    // Several activation operands (concatenation, addition): each once, at its own size.
    if (row.ifm_tensors.size() > 1 && op.inputs.size() > 1) {
      cost.ifm_bytes = 0;
      for (const int32_t tensor : row.ifm_tensors)
        cost.ifm_bytes = sum(cost.ifm_bytes,
                             subgraph.tensors[static_cast<size_t>(tensor)].byte_size().value_or(0));
    } else if (row.has_ifm2 && !row.ifm2_constant && row.ifm_tensors.empty()) {
      cost.ifm_bytes = sum(cost.ifm_bytes, bytes_of(row.ifm2.elements(), row.ifm_type));
    }
  }
  return costs;
}

GraphTotals graph_totals(const Graph& graph) {
  GraphTotals totals;
  for (const int64_t macs : operator_macs(graph)) totals.macs = sum(totals.macs, macs);
  std::vector<uint8_t> counted(graph.buffers.size(), 0);
  for (const Subgraph& subgraph : graph.subgraphs)
    for (const Operator& op : subgraph.operators)
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        const Tensor* tensor = input_tensor(subgraph, op, i);
        if (tensor == nullptr || !tensor->is_constant()) continue;
        if (static_cast<size_t>(tensor->buffer) >= counted.size()) continue;
        uint8_t& seen = counted[static_cast<size_t>(tensor->buffer)];
        if (seen != 0) continue;
        seen = 1;
        if (!is_shape_operand(op, i))
          totals.parameters = sum(totals.parameters, tensor->element_count());
        totals.weights_bytes =
            sum(totals.weights_bytes, stored_bytes(graph, subgraph, op.inputs[i]));
      }
  return totals;
}

}  // namespace edgesage
