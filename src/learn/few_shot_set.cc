#include <algorithm>
#include <cmath>
#include <limits>

#include "src/features/row_facts.h"
#include "src/learn/few_shot.h"

namespace edgesage {
namespace {

constexpr auto kKinds = static_cast<size_t>(RowKind::kCount);

// What a row waits for, as far as the closed form knows: four units of an Ethos-U, or nothing.
size_t bound_of(const RowCycles& cycles) {
  const double units[] = {cycles.npu, cycles.sram, cycles.dram, cycles.flash};
  return static_cast<size_t>(std::max_element(std::begin(units), std::end(units)) -
                             std::begin(units));
}
constexpr size_t kBounds = 4;

std::vector<float> bounds_of(const Lowering& lowering, const LoweringFacts& facts) {
  double whole = 0, arithmetic = 0, on_chip = 0, bound_outside = 0;
  for (size_t i = 0; i < facts.rows.size(); ++i) {
    const RowCycles& c = facts.rows[i].cycles;
    const auto runs = static_cast<double>(lowering.rows[i].repeat);
    const double inside = std::max(c.npu, c.sram), all = std::max({inside, c.dram, c.flash});
    whole += all * runs;
    arithmetic += c.npu * runs;
    on_chip += inside * runs;
    if (all > inside) bound_outside += all * runs;
  }
  const auto ratio = [](double a, double b) {
    return static_cast<float>(std::log((a + 1) / (b + 1)));
  };
  return {ratio(whole, arithmetic), ratio(whole, on_chip),
          static_cast<float>(bound_outside / (whole + 1)),
          static_cast<float>(std::log1p(facts.peak_live_bytes)),
          static_cast<float>(std::log1p(whole))};
}

std::vector<float> totals_of(const Lowering& lowering, const LoweringFacts& facts) {
  constexpr size_t kAll = 6;
  std::vector<double> sums(kAll + 3 * kKinds, 0.0);
  for (size_t i = 0; i < lowering.rows.size(); ++i) {
    if (lowering.rows[i].placement == Placement::kFolded) continue;
    const RowCost& cost = facts.rows[i].cost;
    const auto runs = static_cast<double>(lowering.rows[i].repeat);
    const auto macs = static_cast<double>(cost.macs);
    const auto moved = static_cast<double>(cost.ifm_bytes) + static_cast<double>(cost.ofm_bytes);
    const auto weights = static_cast<double>(cost.weights_bytes);
    const size_t kind = kAll + 3 * static_cast<size_t>(lowering.rows[i].kind);
    for (const auto& [at, value] : {std::pair<size_t, double>{0, 1.0},
                                    {1, macs},
                                    {2, moved},
                                    {3, weights},
                                    {kind, 1.0},
                                    {kind + 1, macs},
                                    {kind + 2, moved}})
      sums[at] += value * runs;
  }
  sums[4] = facts.peak_live_bytes;
  sums[5] = static_cast<double>(lowering.partitions);
  std::vector<float> totals;
  for (const double sum : sums) totals.push_back(static_cast<float>(std::log1p(sum)));
  return totals;
}

// An NPU's compiler does not price what it leaves to the CPU, so no virtual device may.
Lowering as_priced(const Lowering& lowering, Quantity quantity) {
  Lowering priced = lowering;
  if (!lowering.target.is_npu() || is_maximum(quantity)) return priced;
  for (Row& row : priced.rows)
    if (row.placement == Placement::kCpu) row.placement = Placement::kFolded;
  return priced;
}

}  // namespace

FewShotNetwork make_few_shot_network(const Graph& graph, const Lowering& whole, Quantity quantity) {
  const Lowering lowering = as_priced(whole, quantity);
  const LoweringFacts facts = gather_facts(graph, lowering);
  const std::vector<double> priors = row_priors(lowering, facts, quantity);
  FewShotNetwork network;
  network.shares.assign(kKinds * kBounds, 0.0F);
  const auto columns = static_cast<size_t>(prior_columns(quantity));
  double total = 0, largest = 0;
  for (size_t i = 0; i < priors.size(); ++i) {
    if (i % columns == columns - 1) total += priors[i];
    if (i % columns == 0) largest = std::max(largest, priors[i]);
  }
  for (size_t i = 0; i < lowering.rows.size() && total > 0; ++i)
    network.shares[static_cast<size_t>(lowering.rows[i].kind) * kBounds +
                   bound_of(facts.rows[i].cycles)] +=
        static_cast<float>(priors[i * columns + columns - 1] / total);
  network.sim = simulate::make_sim_network(graph, lowering);
  network.totals = totals_of(lowering, facts);
  network.bounds = bounds_of(lowering, facts);
  network.log_closed_form = std::log(columns == 2           ? largest + total
                                     : is_maximum(quantity) ? largest
                                                            : total);
  return network;
}

void FewShotSet::add(FewShotNetwork network) {
  sim.push_back(std::move(network.sim));
  totals.push_back(std::move(network.totals));
  shares.push_back(std::move(network.shares));
  bounds.push_back(std::move(network.bounds));
  log_closed_form.push_back(network.log_closed_form);
}

}  // namespace edgesage
