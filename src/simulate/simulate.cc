#include "src/simulate/simulate.h"

#include <algorithm>
#include <cmath>

#include "src/base/parallel.h"
#include "src/simulate/price_block.h"

namespace edgesage::simulate {
namespace {

constexpr float kSmallestCost = 1e-6F, kLargestCost = 1e36F;
// So many devices go through all networks before the next ones: their parameters stay in a core's
// cache.
constexpr int32_t kBlocksAtOnce = 2;

// Cost on one block of devices.
void price_block(const SimNetwork& network, const Lanes* fields, bool overlaps,
                 SimQuantity quantity, SimWorkspace& workspace, Lanes& total) {
  if (quantity == SimQuantity::kMemory) {
    price_memory(network, fields, nullptr, total);
    return;
  }
  const bool is_energy = quantity == SimQuantity::kEnergy;
  Lanes overhead;
  price_rows(network, fields, workspace.cost.data(), is_energy ? workspace.energy.data() : nullptr);
  price_overhead(network, fields, overhead);
  add_up(network, fields, overlaps, workspace.cost.data(), workspace.finish.data(), nullptr, total);
  for (size_t lane = 0; lane < kLanes; ++lane) total.v[lane] += overhead.v[lane];
  if (is_energy) {
    const Lanes latency = total;
    add_energy(network, fields, workspace.energy.data(), latency, total);
  }
}

void price_blocks(const SimNetwork& network, const DeviceSet& devices, SimQuantity quantity,
                  int32_t first, int32_t end, SimWorkspace& workspace, std::span<float> out) {
  workspace.fit(network);
  Lanes total;
  for (int32_t block = first; block < end; ++block) {
    price_block(network, devices.block(block), devices.overlaps(block), quantity, workspace, total);
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const int32_t device = devices.devices()[static_cast<size_t>(block) * kLanes + lane];
      if (device >= 0)
        out[static_cast<size_t>(device)] =
            std::log(std::clamp(total.v[lane], kSmallestCost, kLargestCost));
    }
  }
}

// The devices' fields of one lane, as a block of its own.
double lane_of(const Lanes& lanes, int32_t position) {
  return static_cast<double>(lanes.v[static_cast<size_t>(position % kLanes)]);
}

void latency_rows(const SimNetwork& network, const DeviceSet& devices, int32_t position,
                  SimWorkspace& workspace, std::span<double> rows, double& overhead) {
  const Lanes* fields = devices.block(position / kLanes);
  const bool overlaps = devices.overlaps(position / kLanes);
  Lanes total, once;
  std::vector<Lanes> shortened(network.segments.size());
  price_rows(network, fields, workspace.cost.data(), workspace.energy.data());
  price_overhead(network, fields, once);
  add_up(network, fields, overlaps, workspace.cost.data(), workspace.finish.data(),
         shortened.data(), total);
  overhead = lane_of(once, position);
  for (size_t i = 0; i < rows.size(); ++i) {
    const int32_t unique = network.unique_of[i];
    if (unique < 0) continue;
    rows[i] = lane_of(workspace.cost[static_cast<size_t>(unique)], position) *
              static_cast<double>(network.times[i]);
    if (overlaps && network.segment_of[i] >= 0)
      rows[i] *= lane_of(shortened[static_cast<size_t>(network.segment_of[i])], position);
  }
}

void memory_rows(const SimNetwork& network, const DeviceSet& devices, int32_t position,
                 std::span<double> rows, double& overhead) {
  std::vector<Lanes> moments(network.moments.size());
  Lanes total;
  price_memory(network, devices.block(position / kLanes), moments.data(), total);
  size_t peak = 0;
  for (size_t i = 1; i < moments.size(); ++i)
    if (lane_of(moments[i], position) > lane_of(moments[peak], position)) peak = i;
  overhead = lane_of(total, position);
  if (moments.empty()) return;
  const double bytes = std::max(0.0, lane_of(moments[peak], position));
  rows[static_cast<size_t>(network.moments[peak].row)] = bytes;
  overhead -= bytes;
}

}  // namespace

void SimWorkspace::fit(const SimNetwork& network) {
  size_t longest = 0;
  for (const Segment& segment : network.segments) longest = std::max(longest, segment.row.size());
  if (cost.size() < network.unique.size()) cost.resize(network.unique.size());
  if (energy.size() < network.unique.size()) energy.resize(network.unique.size());
  if (finish.size() < longest) finish.resize(longest);
}

void log_costs(const SimNetwork& network, const DeviceSet& devices, SimQuantity quantity,
               SimWorkspace& workspace, std::span<float> out) {
  price_blocks(network, devices, quantity, 0, devices.blocks(), workspace, out);
}

std::vector<float> log_costs(std::span<const SimNetwork> networks, const DeviceSet& devices,
                             SimQuantity quantity, int threads) {
  const auto width = static_cast<size_t>(devices.size());
  std::vector<float> costs(networks.size() * width);
  const int64_t tasks = (devices.blocks() + kBlocksAtOnce - 1) / kBlocksAtOnce;
  parallel_for(tasks, threads, [&](int64_t task) {
    SimWorkspace workspace;
    const auto first = static_cast<int32_t>(task * kBlocksAtOnce);
    const int32_t end = std::min(first + kBlocksAtOnce, devices.blocks());
    for (size_t i = 0; i < networks.size(); ++i)
      price_blocks(networks[i], devices, quantity, first, end, workspace,
                   std::span(costs).subspan(i * width, width));
  });
  return costs;
}

void row_costs(const SimNetwork& network, const DeviceSet& devices, int32_t device,
               SimQuantity quantity, std::span<double> rows, double& overhead) {
  std::ranges::fill(rows, 0.0);
  const int32_t position = devices.position(device);
  if (quantity == SimQuantity::kMemory) {
    memory_rows(network, devices, position, rows, overhead);
    return;
  }
  SimWorkspace workspace;
  workspace.fit(network);
  latency_rows(network, devices, position, workspace, rows, overhead);
  if (quantity == SimQuantity::kLatency) return;
  const double share = devices.value(device, kEnergyStatic);
  overhead *= share;
  for (size_t i = 0; i < rows.size(); ++i)
    if (network.unique_of[i] >= 0)
      rows[i] = rows[i] * share +
                lane_of(workspace.energy[static_cast<size_t>(network.unique_of[i])], position) *
                    static_cast<double>(network.times[i]);
}

}  // namespace edgesage::simulate
