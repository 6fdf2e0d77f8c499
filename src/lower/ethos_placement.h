// Would Vela 5.2 put an operator on the NPU, and if not, which constraint fails?
//
// One table: an operator kind, the devices that have it, and its constraints. The facts are those
// of `vela --supported-ops-report` and of experiments with the compiler; what the tool does counts
// where the two differ. tests/lower compares this table with the compiler's own placement.
#pragma once

#include <string>

#include "src/graph/graph.h"
#include "src/lower/target.h"

namespace edgesage {

// The reason against, short and concrete ("stride 4x4 is above 3"); empty: it runs on the NPU.
// `op` must be an operator of `subgraph`. Cost: linear in the operator's tensors (the weights
// themselves are read for the weight-sum limit of 16-bit and very large filters only).
[[nodiscard]] std::string ethos_obstacle(const Graph& graph, const Subgraph& subgraph,
                                         const Operator& op, TargetKind target);

}  // namespace edgesage
