// What virtual devices say of networks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/simulate/device_family.h"
#include "src/simulate/sim_network.h"

namespace edgesage::simulate {

enum class SimQuantity : uint8_t {
  kLatency,  // of one inference
  kEnergy,   // of one inference
  kMemory,   // bytes a simulated planner reserves
};

// Scratch of log_costs(); one a thread, any networks.
class SimWorkspace {
 public:
  // Grows to what the network needs; allocates nothing afterwards.
  void fit(const SimNetwork& network);

  std::vector<Lanes> cost, energy, finish;
};

// Natural logarithm of the cost of one inference in an arbitrary unit (memory: bytes), one a
// device; out.size() == devices.size(). Finite for every network and device: costs below 1e-6 (a
// network without rows on a device without fixed cost) count 1e-6, above 1e36 1e36. Thread-safe.
void log_costs(const SimNetwork& network, const DeviceSet& devices, SimQuantity quantity,
               SimWorkspace& workspace, std::span<float> out);

// Networks x devices, row-major, over up to `threads` threads (0: all); their number does not
// change a byte.
[[nodiscard]] std::vector<float> log_costs(std::span<const SimNetwork> networks,
                                           const DeviceSet& devices, SimQuantity quantity,
                                           int threads);

// Cost of each row of the lowering (rows.size() == network.rows()) on one device, in the unit of
// exp(log_costs): they and `overhead` add up to the cost. What overlap saves is shared in
// proportion; of memory the row at the peak carries the peak, and weights, fixed parts and what
// is not reused are overhead.
void row_costs(const SimNetwork& network, const DeviceSet& devices, int32_t device,
               SimQuantity quantity, std::span<double> rows, double& overhead);

}  // namespace edgesage::simulate
