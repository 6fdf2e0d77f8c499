// Cycles and traffic of rows on a U65 or U85 with DRAM and little SRAM: the steps of the compiler's
// scheduler in their order. Cascades, weights copied ahead, places of feature maps, and what each
// row then takes (the headers of each say how).
#pragma once

#include <span>
#include <vector>

#include "src/analysis/ethos_cycles.h"

namespace edgesage {

// One a row; as ethos_row_cycles, for targets whose machine has DRAM. Cost: n log n in rows.
[[nodiscard]] std::vector<RowCycles> ethos_scheduled_cycles(const Graph& graph,
                                                            const Lowering& lowering,
                                                            std::span<const WeightStats> weights,
                                                            EthosBlockMemo& memo);

}  // namespace edgesage
