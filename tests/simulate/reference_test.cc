// The vector code against one device in plain arithmetic.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/simulate/networks.h"
#include "tests/simulate/reference_device.h"

namespace edgesage::simulate {
namespace {

void expect_reference(const Graph& graph, const DeviceSet& devices) {
  const Lowering lowering = generic_rows(graph);
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

TEST(Reference, AgreesOnBranchedCells) {
  for (const DataType type : {DataType::kInt8, DataType::kFloat32})
    expect_reference(branched_cells(type), DeviceSet::decode(draw_devices(21, 0, 30)));
}

TEST(Reference, AgreesOnMixedKinds) {
  for (const DataType type : {DataType::kInt8, DataType::kFloat32})
    expect_reference(mixed_kinds(type), DeviceSet::decode(draw_devices(22, 0, 30)));
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
