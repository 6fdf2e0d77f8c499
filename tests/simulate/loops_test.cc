// A loop costs its iterations.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "src/graph/select_entry.h"
#include "src/lower/control_flow.h"
#include "tests/lower/looped_graph.h"
#include "tests/simulate/networks.h"

namespace edgesage::simulate {
namespace {

// Parallel branches, so that some devices overlap them.
Graph cell() {
  GraphBuilder net(int8_net());
  const auto x = net.input("x", {1, 16, 16, 8});
  const auto a = net.conv_2d(x, {.channels = 8, .kernel_h = 3, .kernel_w = 3});
  const auto b = net.conv_2d(x, {.channels = 8});
  return finish(net, {net.add(net.add(a, b), x)});
}

Expansion expanded(int64_t trip_count) {
  Graph graph = looped(cell());
  set_trip_counts(graph, trip_count);
  return expand_control_flow(graph);
}

struct Priced {
  std::vector<double> rows;
  std::vector<int64_t> repeat;
  double overhead = 0, whole = 0;
};

Priced price(int64_t trip_count, const DeviceSet& devices, int32_t device, SimQuantity quantity) {
  const Expansion expansion = expanded(trip_count);
  const Lowering lowering = lower(expansion, *target_from_name("generic"));
  const SimNetwork network = make_sim_network(expansion.graph, lowering);
  Priced priced;
  priced.rows.resize(lowering.rows.size());
  for (const Row& row : lowering.rows) priced.repeat.push_back(row.repeat);
  row_costs(network, devices, device, quantity, priced.rows, priced.overhead);
  SimWorkspace workspace;
  std::vector<float> all(static_cast<size_t>(devices.size()));
  log_costs(network, devices, quantity, workspace, all);
  priced.whole = std::exp(static_cast<double>(all[static_cast<size_t>(device)]));
  return priced;
}

// Of one iteration, the body would be part of what surrounds it: 10 against 100.
TEST(Loops, TenTimesTheIterationsCostTenTimesTheBody) {
  const DeviceSet devices = DeviceSet::decode(draw_devices(31, 0, 40));
  for (const SimQuantity quantity : {SimQuantity::kLatency, SimQuantity::kEnergy})
    for (int32_t device = 0; device < devices.size(); ++device) {
      const Priced once = price(10, devices, device, quantity);
      const Priced often = price(100, devices, device, quantity);
      ASSERT_EQ(once.rows.size(), often.rows.size());
      int bodies = 0;
      for (size_t i = 0; i < once.rows.size(); ++i) {
        const auto times =
            static_cast<double>(often.repeat[i]) / static_cast<double>(once.repeat[i]);
        bodies += often.repeat[i] == 100 ? 1 : 0;
        EXPECT_NEAR(often.rows[i], once.rows[i] * times, 1e-4 * often.rows[i])
            << "device " << device << ", row " << i;
      }
      EXPECT_EQ(bodies, 4);
      const double sum = std::accumulate(often.rows.begin(), often.rows.end(), often.overhead);
      EXPECT_NEAR(sum, often.whole, 1e-4 * often.whole) << device;
    }
}

TEST(Loops, TakeTheMemoryOfOneIteration) {
  const DeviceSet devices = DeviceSet::decode(draw_devices(32, 0, 10));
  for (int32_t device = 0; device < devices.size(); ++device)
    EXPECT_EQ(price(1, devices, device, SimQuantity::kMemory).whole,
              price(10, devices, device, SimQuantity::kMemory).whole);
}

TEST(Loops, WithoutIterationsTheBodyIsFree) {
  const DeviceSet devices = DeviceSet::decode(draw_devices(33, 0, 10));
  for (int32_t device = 0; device < devices.size(); ++device) {
    const Priced never = price(0, devices, device, SimQuantity::kLatency);
    for (size_t i = 0; i < never.rows.size(); ++i) {
      if (never.repeat[i] == 0) {
        EXPECT_EQ(never.rows[i], 0.0) << i;
      }
    }
    EXPECT_TRUE(std::isfinite(std::log(never.whole)));
  }
}

TEST(Loops, EndlessOnesStayFinite) {
  const DeviceSet devices = DeviceSet::decode(draw_devices(34, 0, 40));
  for (const SimQuantity quantity : {SimQuantity::kLatency, SimQuantity::kEnergy})
    for (int32_t device = 0; device < devices.size(); ++device) {
      const Priced priced = price(std::numeric_limits<int64_t>::max(), devices, device, quantity);
      EXPECT_TRUE(std::isfinite(priced.whole)) << device;
      for (const double row : priced.rows) EXPECT_TRUE(std::isfinite(row)) << device;
    }
}

}  // namespace
}  // namespace edgesage::simulate
