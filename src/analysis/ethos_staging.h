// Where the feature maps of a U65 or U85 live that has DRAM and little SRAM (Dedicated_Sram): a
// closed form of Vela's scheduler.
//
// What a row outside a cascade writes is a candidate for SRAM, if only the NPU reads it. It is
// there where it fits beside the rolling buffers of cascades, the weights copied ahead and the
// other candidates; of those that do not all fit, the ones with most elements read and written
// stay, by a search over groups of some twenty that overlap. A map that only element-wise rows
// read goes to DRAM with the other operand. Facts of Vela 5's compiler core, regor (Arm,
// Apache-2.0: ethosu/regor/compiler). Alignment and fragmentation are not modelled.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/analysis/ethos_buffering.h"
#include "src/analysis/ethos_cascades.h"
#include "src/analysis/ethos_maps.h"
#include "src/lower/rows.h"

namespace edgesage {

// What a row moves of what EthosRowMaps names: bytes, or elements.
struct EthosTraffic {
  double read[2] = {0, 0};
  double written = 0;
  [[nodiscard]] double all() const { return read[0] + read[1] + written; }
};

struct EthosPlaces {
  std::vector<uint8_t> staged;  // one a map: whether it is in SRAM
  std::vector<double> peak;     // one a row: SRAM in use while it runs, with weights copied ahead
};

// `elements` and `buffers`: one a row. Cost: n log n in maps and rows.
[[nodiscard]] EthosPlaces ethos_places(const Lowering& lowering, const EthosMaps& maps,
                                       const EthosCascades& cascades,
                                       std::span<const EthosTraffic> elements,
                                       std::span<const EthosBuffering> buffers, int64_t limit);

}  // namespace edgesage
