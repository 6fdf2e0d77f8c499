// Bytes of feature maps in use while each row of an Ethos-U runs.
#pragma once

#include <cstdint>
#include <vector>

#include "src/analysis/ethos_cascades.h"
#include "src/analysis/ethos_maps.h"
#include "src/lower/rows.h"

namespace edgesage {

// An element-wise row outside cascades may write over what it alone reads.
struct EthosSharedPlaces {
  std::vector<int32_t> place;     // one a map: the map whose memory it is in, or itself
  std::vector<int32_t> last_row;  // one a map: the last that uses its memory
};

// `lines`: one a row, of its cascade; `may_share`: one a map. Linear cost.
[[nodiscard]] EthosSharedPlaces ethos_shared_places(const Lowering& lowering, const EthosMaps& maps,
                                                    const std::vector<int64_t>& lines,
                                                    const std::vector<uint8_t>& may_share);

// Weights fetched ahead not counted: of maps in SRAM (`staged`) with rolling buffers, and of all
// others. The model's inputs are there from the first row, its outputs to the last. Maps stored
// pixel after pixel have no channels to fill up bricks.
struct EthosOccupancy {
  std::vector<double> staged, others;  // one a row
};
[[nodiscard]] EthosOccupancy ethos_occupancy(const Lowering& lowering, const EthosMaps& maps,
                                             const EthosCascades& cascades,
                                             const std::vector<uint8_t>& staged);

}  // namespace edgesage
