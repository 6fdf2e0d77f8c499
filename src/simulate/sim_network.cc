#include "src/simulate/sim_network.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "src/analysis/liveness.h"
#include "src/analysis/row_costs.h"
#include "src/simulate/sim_memory.h"
#include "src/simulate/sim_rows.h"
#include "src/simulate/sim_segments.h"

namespace edgesage::simulate {
namespace {

// Equal rows have equal keys; unequal ones rarely.
uint64_t key_of(const SimRow& row) {
  uint64_t key = static_cast<uint64_t>(row.variant) * 64 + static_cast<uint64_t>(row.context) * 4 +
                 row.precision;
  for (const float part : {row.macs, row.elements, row.pixels, row.bytes[0], row.weights, row.live})
    key = (key ^ static_cast<uint64_t>(part)) * 0x9e3779b97f4a7c15 + (key >> 29);
  return key;
}

class Merger {
 public:
  explicit Merger(bool merge) : merge_(merge) {}

  int32_t add(const SimRow& row, std::vector<SimRow>& unique) {
    std::vector<int32_t>& candidates = by_key_[key_of(row)];
    if (merge_)
      for (const int32_t candidate : candidates)
        if (unique[static_cast<size_t>(candidate)] == row) return candidate;
    candidates.push_back(static_cast<int32_t>(unique.size()));
    unique.push_back(row);
    return candidates.back();
  }

 private:
  bool merge_;
  std::unordered_map<uint64_t, std::vector<int32_t>> by_key_;
};

std::vector<int32_t> count_consumers(const Graph& graph, const Lowering& lowering) {
  std::vector<int32_t> consumers(lowering.rows.size(), 0);
  for (const Row& row : lowering.rows)
    for (const int32_t input : row.inputs) ++consumers[static_cast<size_t>(input)];
  std::vector<uint8_t> is_output(lowering.storage.size(), 0);
  for (const int32_t tensor : graph.main().outputs)
    if (tensor >= 0 && static_cast<size_t>(tensor) < is_output.size())
      is_output[static_cast<size_t>(lowering.storage[static_cast<size_t>(tensor)])] = 1;
  for (size_t i = 0; i < consumers.size(); ++i)
    consumers[i] += std::ranges::any_of(lowering.rows[i].ofm_tensors, [&](int32_t tensor) {
      return is_output[static_cast<size_t>(tensor)] != 0;
    });
  return consumers;
}

void fill_neighbours(const std::vector<SimRow>& rows, SimNetwork& network) {
  const auto side = [](const SimRow& row) {
    return row.is_cpu ? static_cast<uint8_t>(kVariants) : static_cast<uint8_t>(row.variant);
  };
  std::map<std::pair<uint8_t, uint8_t>, std::pair<double, double>> pairs;
  const SimRow* before = nullptr;
  double times_before = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (network.unique_of[i] < 0) continue;
    if (before != nullptr && side(*before) != side(rows[i])) {
      auto& [count, bytes] = pairs[{side(*before), side(rows[i])}];
      const double times = std::min(times_before, static_cast<double>(network.times[i]));
      count += times;
      bytes +=
          times * (static_cast<double>(rows[i].bytes[0]) - static_cast<double>(rows[i].out_bytes));
    }
    before = &rows[i];
    times_before = static_cast<double>(network.times[i]);
  }
  for (const auto& [key, value] : pairs)
    network.neighbours.push_back(
        {key.first, key.second, bounded(value.first), bounded(std::max(0.0, value.second))});
}

}  // namespace

SimNetwork make_sim_network(const Graph& graph, const Lowering& lowering,
                            const SimOptions& options) {
  SimNetwork network;
  if (graph.subgraphs.empty()) return network;
  const std::vector<RowCost> costs = row_costs(graph, lowering);
  const Liveness live = liveness(graph, lowering);
  const std::vector<SimRow> rows = make_sim_rows(lowering, costs, row_weight_stats(graph, lowering),
                                                 count_consumers(graph, lowering), live.live_bytes);

  Merger merger(options.merge);
  for (size_t i = 0; i < rows.size(); ++i) {
    const bool runs = lowering.rows[i].placement != Placement::kFolded;
    network.unique_of.push_back(runs ? merger.add(rows[i], network.unique) : -1);
    network.times.push_back(bounded(static_cast<double>(lowering.rows[i].repeat)));
  }
  network.count.assign(network.unique.size(), 0);
  for (size_t i = 0; i < rows.size(); ++i)
    if (const int32_t unique = network.unique_of[i]; unique >= 0)
      add_bounded(network.count[static_cast<size_t>(unique)], network.times[i]);
  fill_segments(graph, lowering, options.merge, network);
  fill_neighbours(rows, network);
  fill_memory(graph, lowering, live, rows, options.merge, network);
  return network;
}

}  // namespace edgesage::simulate
