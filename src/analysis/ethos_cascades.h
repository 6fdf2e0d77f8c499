// Rows that run together on a U65 or U85, some lines at a time: a closed form of Vela's scheduler.
//
// Consecutive rows that work by lines, each the only reader of the one before, form a cascade: the
// maps between them shrink to rolling buffers in SRAM. It grows until a row's input and output
// would fit in SRAM whole, or until the buffers of one line no longer fit, and then takes the most
// lines at a time that fit beside the weights that it copies. It may fall into several then, but
// into no more than at two lines. Facts of Vela 5's compiler core,
// regor (Arm, Apache-2.0: ethosu/regor/compiler).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "src/analysis/ethos_maps.h"
#include "src/lower/rows.h"

namespace edgesage {

struct EthosCascades {
  std::vector<int32_t> first_row;   // one a row: where its cascade starts, or itself
  std::vector<int64_t> lines;       // one a row: output lines at a time; 0: all, not in a cascade
  std::vector<int64_t> buffers;     // one a row, at the start of a cascade: of the maps between
  std::vector<uint8_t> is_rolling;  // one a map: only a rolling buffer of it exists
};

[[nodiscard]] EthosCascades no_ethos_cascades(size_t rows, size_t maps);

// Bytes of weights that each row of a cascade copies, of rows `first` to `last`, by the cascades so
// far, which hold these rows with the fewest lines.
using CascadeWeights =
    std::function<std::vector<int64_t>(const EthosCascades& cascades, size_t first, size_t last)>;

// `limit`: bytes of SRAM. Cost: linear in rows, times the lines.
[[nodiscard]] EthosCascades ethos_cascades(const Lowering& lowering, const EthosMaps& maps,
                                           const CascadeWeights& weights, int64_t limit);

}  // namespace edgesage
