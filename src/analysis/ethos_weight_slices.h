// How an Ethos-U's compiler cuts weights that are copied to on-chip memory ahead of a row.
//
// What the row before leaves the time to fetch is the first slice, a multiple of 16 channels; if
// that is not all, the rest follows in slices as deep as the row computes while they are fetched,
// in whole blocks, and two of them are in memory by turns.
#pragma once

#include <cstdint>
#include <functional>

namespace edgesage {

struct EthosWeightSlices {
  int64_t first = 0, later = 0, last = 0;  // output channels; later and last 0: one slice
  int64_t later_count = 0;                 // the last one too
  int64_t held = 0;                        // channels in memory at once
};

// `depth` output channels, cut into blocks of `block_depth`; `transfer`: cycles to fetch all
// weights, `slack`: cycles of the row before; `cycles`: of so many channels of the row. Constant
// cost and one call of `cycles`.
[[nodiscard]] EthosWeightSlices ethos_weight_slices(int64_t depth, int64_t block_depth,
                                                    double transfer, double slack,
                                                    const std::function<double(int64_t)>& cycles);

}  // namespace edgesage
