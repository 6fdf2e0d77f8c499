// What a row of an Ethos-U reads and writes besides its weights, by its blocks.
#pragma once

#include "src/analysis/ethos_machine.h"
#include "src/analysis/ethos_staging.h"
#include "src/lower/rows.h"

namespace edgesage {

// Bytes of feature maps, counting what blocks fetch again and, on U55, what short bursts waste.
[[nodiscard]] EthosTraffic ethos_map_traffic(const EthosMachine& machine, const Row& row,
                                             const EthosTiling& tiling);

// Bytes of a constant operand, or of the zeros of a border, from the slow memory.
[[nodiscard]] double ethos_constant_operand_bytes(const Row& row, const EthosTiling& tiling);

// Bytes of constants between the steps of an operator: the table of a softmax's exponential, and
// zeros that spread one value over all channels.
[[nodiscard]] double ethos_table_bytes(const Row& row, const EthosTiling& tiling);

}  // namespace edgesage
