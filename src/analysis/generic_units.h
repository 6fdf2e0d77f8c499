// A plain roofline for a device that nothing is known about.
//
// A row costs a launch of 20,000 units plus the larger of its MACs and 16 units for each byte that
// it reads or writes; a row of element-wise work counts one MAC an element. The unit is arbitrary:
// the time of one multiply-accumulate of a well-shaped layer. None of the constants was measured:
// they are round numbers about the middle of what machines have, and stand for the shape of a cost,
// not for its size.
#pragma once

#include <vector>

#include "src/graph/graph.h"
#include "src/lower/rows.h"

namespace edgesage {

// One a row, always positive but for rows that nothing runs for (kFolded): 0. Reshapes cost a
// launch and no more. Zeros for targets other than `generic`.
[[nodiscard]] std::vector<double> generic_row_units(const Graph& graph, const Lowering& lowering);

}  // namespace edgesage
