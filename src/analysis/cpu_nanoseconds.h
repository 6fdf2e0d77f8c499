// Closed-form nanoseconds of rows under LiteRT with XNNPACK on one core of an x86 server: a prior
// that learning corrects for the machine at hand.
#pragma once

#include <vector>

#include "src/graph/graph.h"
#include "src/lower/rows.h"

namespace edgesage {

// One a row; 0 for rows of Ethos-U targets and for folded ones. Never negative or NaN.
[[nodiscard]] std::vector<double> cpu_row_ns(const Graph& graph, const Lowering& lowering);

}  // namespace edgesage
