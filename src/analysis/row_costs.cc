#include "src/analysis/row_costs.h"

#include <algorithm>
#include <array>
#include <limits>

#include "src/lower/control_flow.h"
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
      return product({row.ifm.elements(), taps, row.ofm.c / std::max<int64_t>(row.groups, 1)});
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
  const SubgraphWork work(graph);
  for (const Operator& op : graph.main().operators) macs.push_back(work.macs(graph.main(), op));
  return macs;
}

std::vector<RowCost> row_costs(const Graph& graph, const Lowering& lowering) {
  std::vector<RowCost> costs(lowering.rows.size());
  std::vector<int64_t> by_operator;  // where a row asks
  for (size_t i = 0; i < costs.size(); ++i) {
    const Row& row = lowering.rows[i];
    RowCost& cost = costs[i];
    const bool by_graph = row.kind == RowKind::kMatMul || row.kind == RowKind::kRecurrent ||
                          row.kind == RowKind::kControl || row.op_kind == OpKind::kConv3D ||
                          row.op_kind == OpKind::kConv3DTranspose;
    if (by_graph && by_operator.empty()) by_operator = operator_macs(graph);
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
  GraphTotals totals = constant_totals(graph);
  for (const int64_t macs : operator_macs(graph)) totals.macs = sum(totals.macs, macs);
  return totals;
}

GraphTotals constant_totals(const Graph& graph) {
  GraphTotals totals;
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
