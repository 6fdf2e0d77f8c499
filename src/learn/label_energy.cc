#include "src/learn/label_energy.h"

namespace edgesage {

int64_t add_energy(std::span<LabelRow> rows, const EnergyTable& table) {
  int64_t known = 0;
  for (LabelRow& row : rows) {
    if (!row.quantities.contains(kEnergyQuantity))
      if (const Result<double> energy = energy_mj(table, row.quantities))
        row.quantities[kEnergyQuantity] = *energy;
    if (row.quantities.contains(kEnergyQuantity)) ++known;
  }
  return known;
}

}  // namespace edgesage
