// Where the feature maps of a U65 or U85 live that has DRAM and little SRAM (Dedicated_Sram): a
// closed-form approximation of Vela's scheduler.
//
// Two rules, in this order:
//  - Cascades. Consecutive rows that work by lines, each the only reader of the one before, run
//    some lines at a time; the maps between them shrink to rolling buffers in SRAM. A cascade grows
//    until a row's input and output would fit in SRAM whole, or until buffers and weights no longer
//    fit. It then takes the most lines at a time that fit.
//  - Staging. Each other map between rows of the NPU is in SRAM while it fits beside the rolling
//    buffers, the weights fetched ahead and the other maps; where they do not all fit, the ones
//    with the fewest accesses for the room and time they take go to DRAM.
//
// Limits: Vela solves the choice exactly for groups of twenty maps, and may give up weight buffers
// for maps; here one is dropped at a time. Alignment and fragmentation are not modelled.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/analysis/ethos_maps.h"
#include "src/lower/rows.h"

namespace edgesage {

struct EthosCascades {
  std::vector<int32_t> first_row;   // one a row: where its cascade starts, or itself
  std::vector<int64_t> lines;       // one a row: output lines at a time; 0: all, not in a cascade
  std::vector<int64_t> buffers;     // one a row, at the start of a cascade: SRAM it takes, in bytes
  std::vector<uint8_t> is_rolling;  // one a map: only a rolling buffer of it exists
};

// `weight_bytes`: encoded, one a row. `limit`: bytes of SRAM. Cost: linear in rows, times the
// logarithm of the lines.
[[nodiscard]] EthosCascades ethos_cascades(const Lowering& lowering, const EthosMaps& maps,
                                           std::span<const double> weight_bytes, int64_t limit);

// Bytes that a row moves, of what EthosRowMaps names, and SRAM that its weights take.
struct EthosTraffic {
  double read[2] = {0, 0};
  double written = 0;
  double weight_buffer = 0;
  [[nodiscard]] double all() const { return read[0] + read[1] + written; }
};

// One a map: whether it is in SRAM. Cost: n log n in maps and rows.
[[nodiscard]] std::vector<uint8_t> ethos_staged(const Lowering& lowering, const EthosMaps& maps,
                                                const EthosCascades& cascades,
                                                std::span<const EthosTraffic> traffic,
                                                int64_t limit);

// Bytes in use while each row runs, weights fetched ahead not counted: of maps in SRAM (`staged`)
// with rolling buffers, and of all others. The model's inputs are there from the first row, its
// outputs to the last. Maps stored pixel after pixel have no channels to fill up bricks.
struct EthosOccupancy {
  std::vector<double> staged, others;  // one a row
};
[[nodiscard]] EthosOccupancy ethos_occupancy(const Lowering& lowering, const EthosMaps& maps,
                                             const EthosCascades& cascades,
                                             const std::vector<uint8_t>& staged);

}  // namespace edgesage
