// The energy column of labels: derived, never stored in label files (src/devices/energy.h).
#pragma once

#include <span>

#include "src/devices/energy.h"
#include "src/learn/label_file.h"

namespace edgesage {

// Sets "energy_mj" of every row that has none and of which the table says one; the others stay
// without. Returns how many have one now.
int64_t add_energy(std::span<LabelRow> rows, const EnergyTable& table);

}  // namespace edgesage
