// One virtual device in plain double arithmetic, row by row, without merging, vectors or floats:
// what docs/virtual_devices.md says, written a second time.
#pragma once

#include "src/graph/graph.h"
#include "src/lower/rows.h"
#include "src/simulate/simulate.h"

namespace edgesage::simulate {

// exp of what log_costs() should give. Prices of the device are taken from `devices`, what stands
// around a row (context, repetition, bytes alive) from `network`, which must not be merged.
[[nodiscard]] double reference_cost(const Graph& graph, const Lowering& lowering,
                                    const SimNetwork& network, const DeviceSet& devices,
                                    int32_t device, SimQuantity quantity);

}  // namespace edgesage::simulate
