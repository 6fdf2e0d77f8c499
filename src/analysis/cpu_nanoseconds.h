// Closed-form nanoseconds of rows under LiteRT with XNNPACK on one core of an x86 server: a prior
// that learning corrects for the machine at hand.
#pragma once

#include <span>
#include <vector>

#include "src/analysis/row_costs.h"
#include "src/graph/graph.h"
#include "src/lower/rows.h"

namespace edgesage {

// One a row; 0 for rows of Ethos-U targets and for folded ones. Never negative or NaN.
[[nodiscard]] std::vector<double> cpu_row_ns(const Graph& graph, const Lowering& lowering);
// The same for a caller who has row_costs(graph, lowering).
[[nodiscard]] std::vector<double> cpu_row_ns(const Lowering& lowering,
                                             std::span<const RowCost> costs);

}  // namespace edgesage
