// What simulated memory planners need to know of a network.
#pragma once

#include <vector>

#include "src/analysis/liveness.h"
#include "src/graph/graph.h"
#include "src/lower/rows.h"
#include "src/simulate/sim_network.h"

namespace edgesage::simulate {

// Fills `moments`, `all_bytes`, `weights` and `border_bytes`. Moments that another exceeds in
// everything are dropped where `merge` is set.
void fill_memory(const Graph& graph, const Lowering& lowering, const Liveness& live,
                 const std::vector<SimRow>& rows, bool merge, SimNetwork& network);

}  // namespace edgesage::simulate
