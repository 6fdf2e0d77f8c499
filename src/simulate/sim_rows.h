// Rows of a lowering as virtual devices see them.
#pragma once

#include <algorithm>
#include <vector>

#include "src/analysis/row_costs.h"
#include "src/analysis/weight_stats.h"
#include "src/graph/graph.h"
#include "src/lower/rows.h"
#include "src/simulate/sim_network.h"

namespace edgesage::simulate {

// One a row. `consumers` holds for each row how many rows read it, plus one where a graph output is
// among its tensors; `live` the bytes alive while it runs.
[[nodiscard]] std::vector<SimRow> make_sim_rows(const Lowering& lowering,
                                                const std::vector<RowCost>& costs,
                                                const std::vector<WeightStats>& stats,
                                                const std::vector<int32_t>& consumers,
                                                const std::vector<int64_t>& live);

// A count as a float that is at most kLargest.
[[nodiscard]] float bounded(double value);
inline void add_bounded(float& sum, float value) { sum = std::min(sum + value, kLargest); }

// Bytes of `value` when `channels` are rounded up to `tile`.
[[nodiscard]] double rounded_up(double value, int64_t channels, int64_t tile);

}  // namespace edgesage::simulate
