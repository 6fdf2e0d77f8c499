// What holds for every virtual device and network.
#include "src/simulate/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>

#include "src/base/hash.h"
#include "src/graph/op_registry.h"
#include "tests/lower/random_graph.h"
#include "tests/simulate/networks.h"
#include "tests/support/test_paths.h"

namespace edgesage::simulate {
namespace {

constexpr std::array kQuantities{SimQuantity::kLatency, SimQuantity::kEnergy, SimQuantity::kMemory};

std::vector<float> costs_of(const SimNetwork& network, const DeviceSet& devices,
                            SimQuantity quantity) {
  SimWorkspace workspace;
  std::vector<float> out(static_cast<size_t>(devices.size()));
  log_costs(network, devices, quantity, workspace, out);
  return out;
}

DeviceSet family(int32_t count) { return DeviceSet::decode(draw_devices(3, 0, count)); }

void expect_finite(const SimNetwork& network, const DeviceSet& devices) {
  for (const SimQuantity quantity : kQuantities)
    for (const float cost : costs_of(network, devices, quantity)) ASSERT_TRUE(std::isfinite(cost));
}

TEST(Draws, DeviceDependsOnSeedAndIndexAlone) {
  const std::vector<float> all = draw_devices(7, 0, 40);
  const std::vector<float> some = draw_devices(7, 30, 10);
  EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin() + 30 * kParameters));
  EXPECT_NE(draw_devices(8, 0, 1), draw_devices(7, 0, 1));
}

TEST(Draws, AreStandardNormalAndPinned) {
  const std::vector<float> z = draw_devices(1, 0, 200);
  double sum = 0, squares = 0;
  for (const float value : z) {
    sum += static_cast<double>(value);
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  const auto n = static_cast<double>(z.size());
  EXPECT_NEAR(sum / n, 0, 0.02);
  EXPECT_NEAR(squares / n, 1, 0.03);
  // Rounded, so that another mathematics library's last bit does not matter.
  Hasher hasher;
  for (size_t i = 0; i < 50; ++i) hasher.add(std::llround(static_cast<double>(z[i]) * 1e4));
  EXPECT_EQ(hasher.hex(), "8c308b86697d3606f574a00152fe3273");
}

TEST(Draws, EveryParameterHasANameOfItsOwn) {
  const std::vector<std::string> names = parameter_names();
  EXPECT_EQ(names.size(), static_cast<size_t>(kParameters));
  EXPECT_EQ(std::set(names.begin(), names.end()).size(), names.size());
  EXPECT_FALSE(names.front().empty());
}

TEST(Draws, EveryCommonParameterIsInTheDocument) {
  std::ifstream file(test::source_dir() / "docs/virtual_devices.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::vector<std::string> names = parameter_names();
  for (int32_t i = 0; i < kCommonSlots; ++i)
    EXPECT_NE(text.find('`' + names[static_cast<size_t>(i)] + '`'), std::string::npos)
        << names[static_cast<size_t>(i)];
}

TEST(Simulate, ExtremeDevicesStayFinite) {
  std::vector<float> z;
  for (const float value :
       {0.0F, 4.0F, -4.0F, 1e30F, -1e30F, std::numeric_limits<float>::infinity(),
        std::numeric_limits<float>::quiet_NaN()})
    z.insert(z.end(), static_cast<size_t>(kParameters), value);
  const DeviceSet devices = DeviceSet::decode(z);
  EXPECT_EQ(devices.size(), 7);
  expect_finite(network_of(branched_cells(DataType::kInt8)), devices);
  expect_finite(network_of(mixed_kinds(DataType::kFloat32)), devices);
  EXPECT_EQ(DeviceSet::decode({}).size(), 0);
}

TEST(Simulate, EmptyNetworksHaveAFiniteCost) {
  Graph idle;
  idle.subgraphs.emplace_back();
  for (const Graph& graph : {Graph(), idle}) {
    const SimNetwork network = network_of(graph);
    EXPECT_EQ(network.rows(), 0);
    expect_finite(network, family(100));
  }
}

TEST(Simulate, NumberOfThreadsDoesNotChangeAByte) {
  const std::vector<SimNetwork> networks{network_of(branched_cells(DataType::kInt8)),
                                         network_of(mixed_kinds(DataType::kInt8))};
  const DeviceSet devices = family(700);
  for (const SimQuantity quantity : kQuantities) {
    const std::vector<float> one = log_costs(networks, devices, quantity, 1);
    EXPECT_EQ(one, log_costs(networks, devices, quantity, 2));
    EXPECT_EQ(one, log_costs(networks, devices, quantity, 4));
    const std::vector<float> alone = costs_of(networks[1], devices, quantity);
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), one.begin() + devices.size()));
  }
}

TEST(Simulate, NeighboursInASetDoNotMatter) {
  const std::vector<float> z = draw_devices(5, 0, 100);
  const SimNetwork network = network_of(branched_cells(DataType::kInt8));
  for (const SimQuantity quantity : kQuantities) {
    const std::vector<float> together = costs_of(network, DeviceSet::decode(z), quantity);
    for (size_t i = 0; i < 100; i += 9) {
      const auto own = std::span(z).subspan(i * kParameters, kParameters);
      EXPECT_NEAR(costs_of(network, DeviceSet::decode(own), quantity)[0], together[i], 1e-5);
    }
  }
}

TEST(Simulate, EqualRowsPricedOnceCostTheSame) {
  for (const DataType type : {DataType::kInt8, DataType::kFloat32}) {
    const Graph graph = branched_cells(type);
    const SimNetwork merged = network_of(graph), apart = network_of(graph, {.merge = false});
    EXPECT_LT(merged.unique.size(), apart.unique.size());
    EXPECT_LT(merged.segments.size(), apart.segments.size());
    EXPECT_EQ(merged.rows(), apart.rows());
    const DeviceSet devices = family(400);
    for (const SimQuantity quantity : kQuantities) {
      const auto a = costs_of(merged, devices, quantity), b = costs_of(apart, devices, quantity);
      for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-5);
    }
  }
}

TEST(Simulate, RowsAndOverheadAddUp) {
  const DeviceSet devices = family(150);
  for (const Graph& graph : {branched_cells(DataType::kInt8), mixed_kinds(DataType::kFloat32)}) {
    const SimNetwork network = network_of(graph);
    for (const SimQuantity quantity : kQuantities) {
      const std::vector<float> total = costs_of(network, devices, quantity);
      for (int32_t device = 0; device < devices.size(); device += 7) {
        std::vector<double> rows(static_cast<size_t>(network.rows()));
        double sum = 0;
        row_costs(network, devices, device, quantity, rows, sum);
        EXPECT_GE(sum, 0);
        for (const double row : rows) {
          EXPECT_GE(row, 0);
          sum += row;
        }
        EXPECT_NEAR(std::log(sum), total[static_cast<size_t>(device)], 1e-4);
      }
    }
  }
}

Graph convolution(int64_t channels, int64_t size) {
  GraphBuilder net(int8_net());
  const auto x = net.input("x", {1, size, size, 32});
  return finish(net, {net.conv_2d(x, {.channels = channels, .kernel_h = 3, .kernel_w = 3})});
}

TEST(Simulate, MoreChannelsAndPixelsAreNeverCheaperWithoutTiles) {
  std::vector<float> z = draw_devices(9, 0, 500);
  for (size_t i = 0; i < 500; ++i)
    for (const Slot tile : {Slot::kOutTile, Slot::kInTile, Slot::kHeightTile, Slot::kWidthTile,
                            Slot::kByteTile, Slot::kPlanTile})
      z[i * kParameters + static_cast<size_t>(slot_index(tile))] = -4;
  const DeviceSet devices = DeviceSet::decode(z);
  for (const SimQuantity quantity : kQuantities) {
    std::vector<float> before = costs_of(network_of(convolution(8, 12)), devices, quantity);
    for (int64_t step = 1; step < 12; ++step) {
      const auto wider = costs_of(network_of(convolution(8 + 5 * step, 12)), devices, quantity);
      const auto larger = costs_of(network_of(convolution(8 + 5 * step, 13)), devices, quantity);
      for (size_t i = 0; i < wider.size(); ++i) {
        EXPECT_GE(wider[i], before[i] - 1e-5F);
        EXPECT_GE(larger[i], wider[i] - 1e-5F);
      }
      before = wider;
    }
  }
}

Graph single(OpKind kind, const std::vector<int64_t>& shape, DataType type) {
  Graph graph;
  Subgraph& subgraph = graph.subgraphs.emplace_back();
  for (int i = 0; i < 3; ++i) {
    Tensor tensor;
    tensor.shape = shape;
    tensor.type = type;
    subgraph.tensors.push_back(tensor);
  }
  Operator op;
  op.kind = kind;
  op.inputs = {0, 1};
  op.outputs = {2};
  subgraph.operators.push_back(op);
  subgraph.inputs = {0, 1};
  subgraph.outputs = {2};
  return graph;
}

TEST(Simulate, UnknownKindsArePricedUnlessTheDeviceDoesNotReportThem) {
  const SimNetwork network =
      network_of(single(OpKind::kCustom, {1, 64, 64, 32}, DataType::kFloat32));
  const DeviceSet devices = family(300);
  int priced = 0;
  for (int32_t device = 0; device < devices.size(); ++device) {
    std::vector<double> rows(1);
    double overhead = 0;
    row_costs(network, devices, device, SimQuantity::kLatency, rows, overhead);
    const double reported = devices.value(device, kCpuShare) *
                            devices.value(device, kScaleOf + static_cast<int>(Variant::kOther));
    EXPECT_EQ(rows[0] > 0, reported > 0);
    priced += rows[0] > 0;
  }
  EXPECT_GT(priced, 200);
  EXPECT_LT(priced, 300);
}

TEST(Simulate, HugeAndEmptyShapesOfEveryKindSaturate) {
  constexpr int64_t kHuge = int64_t{1} << 31;
  const DeviceSet devices = family(64);
  for (const OpInfo& info : op_table())
    for (const std::vector<int64_t>& shape :
         std::vector<std::vector<int64_t>>{{}, {0}, {1, 0, 4, 4}, {kHuge, kHuge, kHuge, kHuge}})
      expect_finite(network_of(single(info.kind, shape, DataType::kFloat32)), devices);
}

TEST(Simulate, RandomGraphsOfEveryTargetAreFinite) {
  Rng rng(11);
  const DeviceSet devices = family(64);
  for (int round = 0; round < 40; ++round) {
    const Graph graph = test::random_graph(rng);
    for (const char* target : {"generic", "litert-xnnpack", "ethos-u55-256", "ethos-u85-512"})
      expect_finite(make_sim_network(graph, lower(graph, *target_from_name(target))), devices);
  }
}

}  // namespace
}  // namespace edgesage::simulate
