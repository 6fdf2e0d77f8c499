// Energy and power sensors of this computer, by Linux's sysfs, and what their readings come to.
//
//   counters  RAPL (class/powercap): microjoules since some time, which begin anew at a range
//   gauges    INA219, INA226, INA3221 and others by hwmon: microwatts now, or current and voltage;
//             batteries by power_supply: power, or current and voltage, while they discharge
//
// The files are read as text; nothing is kept open, nothing is written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "edgesage/result.h"

namespace edgesage {

struct PowerSensor {
  std::string source;  // "rapl:package-0", "hwmon:ina226", "battery:BAT0"
  bool counter = false;
  std::filesystem::path value;  // microjoules of a counter, microwatts of a gauge, or ...
  std::filesystem::path current, voltage;     // ... in place of `value`
  double current_unit = 1, voltage_unit = 1;  // to ampere and volt
  double range_uj = 0;                        // of a counter; 0: not said
};

// A sensor, or why one that is there is of no use.
struct FoundSensors {
  std::vector<PowerSensor> usable;   // counters first, then chips, then batteries
  std::vector<std::string> reasons;  // of those that are not; never empty where nothing is usable
};

// Looks in `sysfs` ("/sys"). A file that cannot be read (RAPL is often root's) is a reason.
[[nodiscard]] FoundSensors find_power_sensors(const std::filesystem::path& sysfs);

// Microjoules of a counter, microwatts of a gauge. kDeviceFailed with the file and what came.
[[nodiscard]] Result<double> read_sensor(const PowerSensor& sensor);

struct SensorSample {
  double seconds = 0;
  double value = 0;
};

// What a sensor said over some time.
struct EnergySpan {
  double seconds = 0;
  double energy_mj = 0;
  // Changes of the reading: a sensor that was renewed ten times says more than one that was read a
  // thousand times between two renewals.
  int64_t ticks = 0;
};

// Samples in the order of their times. Counters: the sum of their steps; one that is smaller than
// before has begun anew at its range. Gauges: the integral by trapezoids. kDeviceFailed for fewer
// than two samples, a reading that is not finite or negative, a counter that goes back without a
// range, or beyond what a range explains.
[[nodiscard]] Result<EnergySpan> energy_of(const PowerSensor& sensor,
                                           const std::vector<SensorSample>& samples);

// The least number of ticks from which energy is told.
inline constexpr int64_t kLeastTicks = 10;

struct InferenceEnergy {
  std::optional<double> energy_mj;  // of one inference, above idle
  double idle_mw = 0;
  std::string reason;  // why it is not known
};

// From two runs that differ in the number of inferences alone, so that loading and warming up
// cancel out; what the machine takes idle is subtracted over the time of each. Not known where the
// sensor changed less than kLeastTicks times in the longer run, where it was stuck, or where the
// runs are not above idle.
[[nodiscard]] InferenceEnergy energy_per_inference(const EnergySpan& idle, const EnergySpan& few,
                                                   int64_t few_inferences, const EnergySpan& many,
                                                   int64_t many_inferences);

}  // namespace edgesage
