#include "src/simulate/sim_memory.h"

#include <algorithm>
#include <utility>

#include "src/analysis/row_costs.h"
#include "src/simulate/sim_rows.h"

namespace edgesage::simulate {
namespace {

constexpr size_t kMostMomentsCompared = 4000;

int64_t channels_of(const Tensor& tensor) {
  return tensor.shape.empty() ? 1 : std::max<int64_t>(tensor.shape.back(), 1);
}

// `a` is never the peak while `b` is there.
bool exceeds(const MemoryMoment& b, const MemoryMoment& a) {
  for (size_t k = 0; k < a.live.size(); ++k)
    if (b.live[k] < a.live[k]) return false;
  return b.tensors >= a.tensors && b.own >= a.own && b.reused <= a.reused && b.patch >= a.patch &&
         b.weights >= a.weights;
}

std::vector<MemoryMoment> without_exceeded(std::vector<MemoryMoment> moments) {
  if (moments.size() > kMostMomentsCompared) return moments;
  std::vector<MemoryMoment> kept;
  for (const MemoryMoment& moment : moments) {
    if (std::ranges::any_of(kept, [&](const auto& other) { return exceeds(other, moment); }))
      continue;
    std::erase_if(kept, [&](const auto& other) { return exceeds(moment, other); });
    kept.push_back(moment);
  }
  return kept;
}

// Bytes of the output that could take the place of an input which nobody reads afterwards.
double reusable_bytes(const Row& row, const SimRow& sim, const std::vector<int32_t>& last_use,
                      int32_t step) {
  const bool in_place = sim.formula == Formula::kElement && sim.variant != Variant::kConcat &&
                        sim.variant != Variant::kConcatMany && sim.variant != Variant::kTranspose &&
                        sim.variant != Variant::kDepthToSpace && row.ifm == row.ofm;
  const bool dies = std::ranges::any_of(row.ifm_tensors, [&](int32_t tensor) {
    return last_use[static_cast<size_t>(tensor)] == step;
  });
  return (in_place || sim.variant == Variant::kReshape) && dies ? static_cast<double>(sim.out_bytes)
                                                                : 0.0;
}

double border_bytes(const Subgraph& subgraph) {
  double bytes = 0;
  for (const auto* list : {&subgraph.inputs, &subgraph.outputs})
    for (const int32_t tensor : *list)
      if (tensor >= 0 && static_cast<size_t>(tensor) < subgraph.tensors.size())
        bytes += static_cast<double>(
            subgraph.tensors[static_cast<size_t>(tensor)].byte_size().value_or(0));
  return bytes;
}

}  // namespace

void fill_memory(const Graph& graph, const Lowering& lowering, const Liveness& live,
                 const std::vector<SimRow>& rows, bool merge, SimNetwork& network) {
  const Subgraph& subgraph = graph.main();
  network.weights = bounded(static_cast<double>(graph_totals(graph).weights_bytes));
  network.border_bytes = bounded(border_bytes(subgraph));
  std::vector<int32_t> last_use(subgraph.tensors.size(), -1);
  std::vector<std::array<double, 4>> bytes(rows.size() + 1);
  std::vector<double> tensors(rows.size() + 1, 0.0);
  std::array<double, 4> all{};
  for (const LiveRange& range : live.ranges) {
    last_use[static_cast<size_t>(range.tensor)] = range.last;
    const int64_t channels = channels_of(subgraph.tensors[static_cast<size_t>(range.tensor)]);
    const auto first = static_cast<size_t>(std::max(range.first, 0));
    const size_t end = std::min(static_cast<size_t>(range.last + 1), rows.size());
    tensors[first] += 1;
    tensors[end] -= 1;
    for (size_t k = 0; k < kByteTiles.size(); ++k) {
      const double size = rounded_up(static_cast<double>(range.bytes), channels, kByteTiles[k]);
      all[k] += size;
      bytes[first][k] += size;
      bytes[end][k] -= size;
    }
  }
  for (size_t k = 0; k < all.size(); ++k) network.all_bytes[k] = bounded(all[k]);
  std::array<double, 4> now{};
  double alive = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    MemoryMoment moment;
    for (size_t k = 0; k < now.size(); ++k) {
      now[k] += bytes[i][k];
      moment.live[k] = bounded(now[k]);
    }
    alive += tensors[i];
    moment.tensors = bounded(alive);
    moment.own = rows[i].bytes[0];
    moment.reused =
        bounded(reusable_bytes(lowering.rows[i], rows[i], last_use, static_cast<int32_t>(i)));
    moment.patch = rows[i].patch_bytes;
    moment.weights = rows[i].weights;
    moment.row = static_cast<int32_t>(i);
    network.moments.push_back(moment);
  }
  if (merge) network.moments = without_exceeded(std::move(network.moments));
}

}  // namespace edgesage::simulate
