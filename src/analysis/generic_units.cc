#include "src/analysis/generic_units.h"

#include <algorithm>

#include "src/analysis/row_costs.h"

namespace edgesage {
namespace {

constexpr double kLaunch = 20000;
constexpr double kByte = 16;

}  // namespace

std::vector<double> generic_row_units(const Graph& graph, const Lowering& lowering) {
  std::vector<double> units(lowering.rows.size(), 0.0);
  if (lowering.target.kind != TargetKind::kGeneric) return units;
  const std::vector<RowCost> costs = row_costs(graph, lowering);
  for (size_t i = 0; i < units.size(); ++i) {
    const Row& row = lowering.rows[i];
    if (row.placement == Placement::kFolded) continue;
    units[i] = kLaunch;
    if (row.kind == RowKind::kReshape) continue;
    const double work =
        std::max(static_cast<double>(costs[i].macs), static_cast<double>(row.ofm.elements()));
    const double bytes = static_cast<double>(costs[i].ifm_bytes) +
                         static_cast<double>(costs[i].ofm_bytes) +
                         static_cast<double>(costs[i].weights_bytes);
    units[i] += std::max(work, kByte * bytes);
  }
  return units;
}

}  // namespace edgesage
