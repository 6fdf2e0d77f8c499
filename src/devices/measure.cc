#include "src/devices/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <system_error>

#include "src/devices/noise.h"
#include "src/devices/operator_match.h"

namespace edgesage {
namespace fs = std::filesystem;
namespace {

// A Measurement that says only that it failed, and on what.
Measurement failed(const DeviceDescription& device, const WorkerHello& hello, std::string reason) {
  Measurement measurement;
  measurement.device = device.name;
  measurement.runtime = hello.runtime;
  measurement.runtime_version = hello.runtime_version;
  measurement.host_fingerprint = device.host_bound ? hello.host_fingerprint : "";
  measurement.statistic = device.statistic;
  for (const std::string& name : device.quantities)
    measurement.missing[name] = "the measurement failed";
  measurement.error = std::move(reason);
  return measurement;
}

Status check_hello(const WorkerHello& hello, const DeviceDescription& device) {
  const auto& known = hello.devices;
  const std::string name = base_name(device.name);
  if (known.empty() || std::find(known.begin(), known.end(), name) != known.end()) return {};
  return make_error(
      ErrorCode::kDeviceFailed, device.name,
      fmt::format("its worker ({} {}) does not know this device; correct `worker` in {}",
                  hello.runtime, hello.runtime_version, device.file.string()));
}

double quantity_or_zero(const Measurement& measurement, const char* name) {
  const auto found = measurement.quantities.find(name);
  return found == measurement.quantities.end() ? 0 : found->second;
}

// A device that sums its series up itself.
void judge_without_samples(Measurement& measurement) {
  const double mean = quantity_or_zero(measurement, "latency_mean_ms");
  const double deviation = quantity_or_zero(measurement, "latency_std_ms");
  if (mean <= 0 || deviation <= 0) return;
  const auto runs = measurement.protocol.find("runs");
  const int64_t count = runs == measurement.protocol.end() ? 1 : std::atoll(runs->second.c_str());
  const std::string rejected = judge_summary(mean, deviation, count);
  measurement.stationary = rejected.empty();
  measurement.protocol["noise"] = fmt::format("standard deviation {:.3g} ms", deviation);
  if (!rejected.empty()) measurement.protocol[kRejectedKey] = rejected;
}

// The label's statistic and the flags, from the samples in the order in which they were taken.
Status judge(const DeviceDescription& device, const NoiseLimits& limits, Measurement& measurement) {
  if (measurement.samples_ms.empty()) {
    judge_without_samples(measurement);
    return {};
  }
  const SeriesVerdict verdict = judge_series(measurement.samples_ms, device.statistic, limits);
  if (verdict.label_ms <= 0)
    return make_error(ErrorCode::kDeviceFailed, device.name, "its samples are not positive");
  const std::string& noise = verdict.summary.reason;
  measurement.quantities["latency_ms"] = verdict.label_ms;
  measurement.statistic = device.statistic;
  measurement.stationary = noise.empty();
  measurement.protocol["noise"] = noise.empty() ? "none" : noise;
  measurement.protocol["centre"] = "median";
  measurement.protocol["spread"] = "median absolute deviation";
  measurement.protocol["label_half_width_percent"] =
      verdict.half_width ? fmt::format("{:.2f}", 100 * *verdict.half_width)
                         : fmt::format("unknown: {} samples are too few", verdict.summary.count);
  if (!verdict.rejected.empty()) measurement.protocol[kRejectedKey] = verdict.rejected;
  return {};
}

// Threads and cores are said of every measurement that has them, whatever the worker says.
void record_protocol(const Json& options, Measurement& measurement) {
  for (const char* name : {"threads", "cores"}) {
    if (!options.contains(name)) continue;
    const Json& value = options[name];
    measurement.protocol.try_emplace(name,
                                     value.is_string() ? value.get<std::string>() : to_text(value));
  }
}

// What the answer must hold to be believed.
Result<Measurement> understand(const Json& answer, const WorkerHello& hello,
                               const DeviceDescription& device, const NoiseLimits& limits) {
  EDGESAGE_ASSIGN_OR_RETURN(Measurement measurement, measurement_from_json(answer));
  measurement.device = device.name;
  if (measurement.runtime.empty()) measurement.runtime = hello.runtime;
  if (measurement.runtime_version.empty()) measurement.runtime_version = hello.runtime_version;
  if (measurement.host_fingerprint.empty() && device.host_bound)
    measurement.host_fingerprint = hello.host_fingerprint;
  if (measurement.statistic.empty()) measurement.statistic = device.statistic;
  EDGESAGE_RETURN_IF_ERROR(judge(device, limits, measurement));
  if (measurement.quantities.empty() && measurement.missing.empty())
    return make_error(ErrorCode::kDeviceFailed, device.name, "the answer holds no quantity");
  for (const auto& [name, value] : measurement.quantities)
    if (value < 0)
      return make_error(ErrorCode::kDeviceFailed, device.name,
                        fmt::format("{} is negative: {}", name, value));
  for (const std::string& name : device.quantities)
    if (!measurement.quantities.contains(name))
      measurement.missing.try_emplace(name, "the worker did not report it");
  for (const auto& [name, value] : measurement.quantities) measurement.missing.erase(name);
  return measurement;
}

Result<Measurement> measure_once(WorkerClient& worker, const DeviceDescription& device,
                                 const Json& body, const MeasureOptions& options) {
  EDGESAGE_ASSIGN_OR_RETURN(const WorkerHello hello, worker.hello());
  EDGESAGE_RETURN_IF_ERROR(check_hello(hello, device));
  const Result<Json> answer = worker.request("measure", body, options.deadline);
  if (!answer) {
    if (answer.error().code == ErrorCode::kInvalidArgument) return tl::unexpected(answer.error());
    return failed(device, hello, answer.error().message);
  }
  Result<Measurement> measurement = understand(*answer, hello, device, options.noise);
  if (!measurement) {
    worker.stop();
    return failed(device, hello,
                  fmt::format("the worker talks nonsense: {}", measurement.error().message));
  }
  if (options.graph != nullptr) match_operators(*answer, *options.graph, *measurement);
  record_protocol(body["options"], *measurement);
  return measurement;
}

// Of two rejected series the one whose label is surer.
bool surer(const Measurement& a, const Measurement& b) {
  const auto half_width = [](const Measurement& measurement) {
    const auto found = measurement.protocol.find("label_half_width_percent");
    const double value =
        found == measurement.protocol.end() ? 0 : std::strtod(found->second.c_str(), nullptr);
    return value > 0 ? value : HUGE_VAL;
  };
  return half_width(a) < half_width(b);
}

}  // namespace

std::string rejection_of(const Measurement& measurement) {
  const auto found = measurement.protocol.find(kRejectedKey);
  return found == measurement.protocol.end() ? "" : found->second;
}

Result<Measurement> measure(WorkerClient& worker, const DeviceDescription& device,
                            const fs::path& model, const MeasureOptions& options) {
  if (!options.options.is_object())
    return make_error(ErrorCode::kInvalidArgument, "options",
                      "must be an object of the worker's options");
  Json merged = device.options;
  merged.update(options.options);
  std::error_code error;
  const fs::path absolute = fs::absolute(model, error);
  Json body;
  body["model"] = absolute.string();
  body["device"] = base_name(device.name);
  body["options"] = merged;
  body["deadline_ms"] = options.deadline.count();

  EDGESAGE_ASSIGN_OR_RETURN(Measurement best, measure_once(worker, device, body, options));
  int attempt = 1;
  for (; attempt < options.attempts && best.error.empty() && !rejection_of(best).empty();
       ++attempt) {
    EDGESAGE_ASSIGN_OR_RETURN(Measurement again, measure_once(worker, device, body, options));
    if (!again.error.empty()) continue;
    if (rejection_of(again).empty() || surer(again, best)) best = std::move(again);
  }
  if (attempt > 1) best.protocol["attempts"] = std::to_string(attempt);
  return best;
}

}  // namespace edgesage
