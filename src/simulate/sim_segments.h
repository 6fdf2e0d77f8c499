// Cuts a network where everything has to pass, so that branches can overlap between two cuts only.
#pragma once

#include "src/graph/graph.h"
#include "src/lower/rows.h"
#include "src/simulate/sim_network.h"

namespace edgesage::simulate {

// Fills `segments`, `segment_of` and `serial_count`; reads `unique_of` and `times`. Equal segments
// are kept once where `merge` is set.
void fill_segments(const Graph& graph, const Lowering& lowering, bool merge, SimNetwork& network);

}  // namespace edgesage::simulate
