// The energy of an inference on this computer, by its own sensors.
#pragma once

#include <filesystem>

#include "edgesage/result.h"
#include "src/devices/measure.h"

namespace edgesage {

struct EnergyProtocol {
  std::filesystem::path sysfs = "/sys";
  double seconds = 2;                      // of the longer run, about; the idle time is half
  std::chrono::milliseconds interval{10};  // between two readings
};

// Adds energy_mj to a measurement that has a latency, or why it is not known: reads the first
// usable sensor while the machine is idle, and while the worker runs the model few and many times.
// The protocol of the measurement gets energy_source, energy_idle_mw, energy_inferences and
// energy_ticks. Takes about twice protocol.seconds. Only for devices that are this computer
// (DeviceDescription::host_bound).
void measure_energy(WorkerClient& worker, const DeviceDescription& device,
                    const std::filesystem::path& model, const MeasureOptions& options,
                    const EnergyProtocol& protocol, Measurement& measurement);

}  // namespace edgesage
