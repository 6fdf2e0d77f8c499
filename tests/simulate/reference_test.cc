// The vector code against one device in plain arithmetic.
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "tests/simulate/networks.h"
#include "tests/simulate/reference_device.h"

namespace edgesage::simulate {
namespace {

void expect_reference(const Graph& graph, const Lowering& lowering, const DeviceSet& devices) {
  const SimNetwork merged = make_sim_network(graph, lowering);
  const SimNetwork apart = make_sim_network(graph, lowering, {.merge = false});
  SimWorkspace workspace;
  std::vector<float> costs(static_cast<size_t>(devices.size()));
  for (const SimQuantity quantity :
       {SimQuantity::kLatency, SimQuantity::kEnergy, SimQuantity::kMemory}) {
    log_costs(merged, devices, quantity, workspace, costs);
    for (int32_t device = 0; device < devices.size(); ++device) {
      const double expected = reference_cost(graph, lowering, apart, devices, device, quantity);
      ASSERT_NEAR(static_cast<double>(costs[static_cast<size_t>(device)]), std::log(expected), 1e-3)
          << "device " << device << ", quantity " << static_cast<int>(quantity);
    }
  }
}

void expect_reference(const Graph& graph, const DeviceSet& devices) {
  expect_reference(graph, generic_rows(graph), devices);
}

TEST(Reference, AgreesOnBranchedCells) {
  for (const DataType type : {DataType::kInt8, DataType::kFloat32})
    expect_reference(branched_cells(type), DeviceSet::decode(draw_devices(21, 0, 30)));
}

TEST(Reference, AgreesOnMixedKinds) {
  for (const DataType type : {DataType::kInt8, DataType::kFloat32})
    expect_reference(mixed_kinds(type), DeviceSet::decode(draw_devices(22, 0, 30)));
}

// Whole cells that run several times, and rows in the middle of one.
TEST(Reference, AgreesOnRowsThatRunSeveralTimes) {
  const DeviceSet devices = DeviceSet::decode(draw_devices(24, 0, 30));
  const Graph graph = branched_cells(DataType::kInt8);
  for (const auto& [first, end, repeat] :
       {std::tuple<size_t, size_t, int64_t>{2, 20, 10}, {5, 7, 3}, {4, 30, 1000}}) {
    Lowering lowering = generic_rows(graph);
    ASSERT_GT(lowering.rows.size(), end);
    for (size_t i = first; i < end; ++i) lowering.rows[i].repeat = repeat;
    expect_reference(graph, lowering, devices);
  }
}

// Wide draws reach parts that most devices leave off.
TEST(Reference, AgreesOnExtremeDevices) {
  std::vector<float> z = draw_devices(23, 0, 30);
  for (float& value : z) value *= 2.5F;
  const DeviceSet devices = DeviceSet::decode(z);
  expect_reference(branched_cells(DataType::kInt8), devices);
  expect_reference(mixed_kinds(DataType::kFloat32), devices);
}

}  // namespace
}  // namespace edgesage::simulate
