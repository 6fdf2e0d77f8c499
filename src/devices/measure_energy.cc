#include "src/devices/measure_energy.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <thread>

#include "src/base/text.h"
#include "src/devices/energy.h"
#include "src/devices/power_sensor.h"

namespace edgesage {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Reads a sensor beside what the machine does, from its making until stop().
class Meter {
 public:
  Meter(const PowerSensor& sensor, std::chrono::milliseconds interval)
      : sensor_(sensor), interval_(interval), start_(Clock::now()), thread_([this] { run(); }) {}
  ~Meter() { end(); }
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

  Result<EnergySpan> stop() {
    end();
    read();
    if (!error_.message.empty()) return tl::unexpected(error_);
    return energy_of(sensor_, samples_);
  }

 private:
  void end() {
    stopped_ = true;
    if (thread_.joinable()) thread_.join();
  }

  void read() {
    const Result<double> value = read_sensor(sensor_);
    if (!value)
      error_ = value.error();
    else
      samples_.push_back({seconds_since(start_), *value});
  }

  void run() {
    while (!stopped_ && error_.message.empty()) {
      read();
      std::this_thread::sleep_for(interval_);
    }
  }

  const PowerSensor& sensor_;
  std::chrono::milliseconds interval_;
  Clock::time_point start_;
  std::vector<SensorSample> samples_;  // the thread's, until it has ended
  Error error_;
  std::atomic<bool> stopped_ = false;
  std::thread thread_;
};

struct Span {
  EnergySpan energy;
  int64_t inferences = 0;
};

// Inferences that a worker ran, warming up included: it may keep fewer samples than it took.
int64_t inferences_of(const Measurement& measurement) {
  const auto number = [&](const char* key, int64_t otherwise) {
    const auto found = measurement.protocol.find(key);
    return found == measurement.protocol.end() ? otherwise : std::atoll(found->second.c_str());
  };
  return number("samples_taken", std::ssize(measurement.samples_ms)) *
             std::max<int64_t>(1, number("invocations_per_sample", 1)) +
         number("warm_up_runs", 0);
}

// So many inferences, with the sensor read beside them.
Result<Span> run_metered(WorkerClient& worker, const DeviceDescription& device,
                         const std::filesystem::path& model, const MeasureOptions& options,
                         const EnergyProtocol& protocol, const PowerSensor& sensor,
                         int64_t inferences) {
  MeasureOptions fixed = options;
  fixed.graph = nullptr;
  fixed.attempts = 1;
  fixed.options["min_runs"] = fixed.options["max_runs"] = inferences;
  fixed.options["min_time_ms"] = 0;
  fixed.options["max_time_ms"] = 600'000;
  Meter meter(sensor, protocol.interval);
  EDGESAGE_ASSIGN_OR_RETURN(const Measurement measured, measure(worker, device, model, fixed));
  EDGESAGE_ASSIGN_OR_RETURN(const EnergySpan energy, meter.stop());
  if (!measured.error.empty())
    return make_error(ErrorCode::kDeviceFailed, device.name, measured.error);
  return Span{energy, inferences_of(measured)};
}

Result<InferenceEnergy> measured_energy(WorkerClient& worker, const DeviceDescription& device,
                                        const std::filesystem::path& model,
                                        const MeasureOptions& options,
                                        const EnergyProtocol& protocol, const PowerSensor& sensor,
                                        double latency_ms, Measurement& measurement) {
  Meter idle_meter(sensor, protocol.interval);
  std::this_thread::sleep_for(std::chrono::duration<double>(protocol.seconds / 2));
  EDGESAGE_ASSIGN_OR_RETURN(const EnergySpan idle, idle_meter.stop());
  constexpr double kFewShare = 0.1;
  const auto many = std::max<int64_t>(20, std::llround(1000 * protocol.seconds / latency_ms));
  const auto few = std::max<int64_t>(2, std::llround(kFewShare * static_cast<double>(many)));
  EDGESAGE_ASSIGN_OR_RETURN(const Span short_run,
                            run_metered(worker, device, model, options, protocol, sensor, few));
  EDGESAGE_ASSIGN_OR_RETURN(const Span long_run,
                            run_metered(worker, device, model, options, protocol, sensor, many));
  measurement.protocol["energy_source"] = sensor.source;
  measurement.protocol["energy_inferences"] =
      std::to_string(long_run.inferences - short_run.inferences);
  measurement.protocol["energy_ticks"] = std::to_string(long_run.energy.ticks);
  return energy_per_inference(idle, short_run.energy, short_run.inferences, long_run.energy,
                              long_run.inferences);
}

}  // namespace

void measure_energy(WorkerClient& worker, const DeviceDescription& device,
                    const std::filesystem::path& model, const MeasureOptions& options,
                    const EnergyProtocol& protocol, Measurement& measurement) {
  std::string& reason = measurement.missing[kEnergyQuantity];
  measurement.quantities.erase(kEnergyQuantity);
  if (!device.host_bound) {
    reason = "sensors of this computer say nothing of another device";
    return;
  }
  const auto latency = measurement.quantities.find("latency_ms");
  if (!measurement.error.empty() || latency == measurement.quantities.end()) {
    reason = "the model was not run";
    return;
  }
  const FoundSensors found = find_power_sensors(protocol.sysfs);
  if (found.usable.empty()) {
    reason = "no sensor: " + join(found.reasons, "; ");
    return;
  }
  const Result<InferenceEnergy> energy = measured_energy(
      worker, device, model, options, protocol, found.usable.front(), latency->second, measurement);
  if (!energy) {
    reason = energy.error().to_string();
    return;
  }
  measurement.protocol["energy_idle_mw"] = fmt::format("{:.6g}", energy->idle_mw);
  if (!energy->energy_mj) {
    reason = fmt::format("{}: {}", found.usable.front().source, energy->reason);
    return;
  }
  measurement.quantities[kEnergyQuantity] = *energy->energy_mj;
  measurement.missing.erase(kEnergyQuantity);
}

}  // namespace edgesage
