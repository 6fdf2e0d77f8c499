// What each row computes and moves, from shapes alone.
#pragma once

#include <cstdint>
#include <vector>

#include "src/graph/graph.h"
#include "src/lower/rows.h"

namespace edgesage {

struct RowCost {
  int64_t macs = 0;           // convolution, fully connected, matrix multiply, recurrent cells
  int64_t ifm_bytes = 0;      // activations read, each operand once
  int64_t ofm_bytes = 0;      // activations written
  int64_t weights_bytes = 0;  // constants read, as stored (bias included)
  // MACs per byte moved; 0 where nothing is multiplied.
  [[nodiscard]] double intensity() const {
    const double bytes = static_cast<double>(ifm_bytes) + static_cast<double>(ofm_bytes) +
                         static_cast<double>(weights_bytes);
    return bytes > 0 ? static_cast<double>(macs) / bytes : 0.0;
  }
};

// One a row.
[[nodiscard]] std::vector<RowCost> row_costs(const Graph& graph, const Lowering& lowering);

// MACs of each operator of the main subgraph, by the graph alone (no target): the figure users
// know. Control flow adds the MACs of its bodies (loops: once, the caller warns).
[[nodiscard]] std::vector<int64_t> operator_macs(const Graph& graph);

struct GraphTotals {
  int64_t macs = 0;
  // Elements of the constants that operators compute with: weights and biases, not shapes or axes.
  int64_t parameters = 0;
  // Bytes of all constants that operators read, as stored. In both, a buffer used twice counts
  // once.
  int64_t weights_bytes = 0;
};
[[nodiscard]] GraphTotals graph_totals(const Graph& graph);
// All but the MACs, in less than half the time.
[[nodiscard]] GraphTotals constant_totals(const Graph& graph);

}  // namespace edgesage
