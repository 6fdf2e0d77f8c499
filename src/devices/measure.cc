#include "src/devices/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "src/devices/statistics.h"

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
  if (known.empty() || std::find(known.begin(), known.end(), device.name) != known.end()) return {};
  return make_error(
      ErrorCode::kDeviceFailed, device.name,
      fmt::format("its worker ({} {}) does not know this device; correct `worker` in {}",
                  hello.runtime, hello.runtime_version, device.file.string()));
}

// The label's statistic and the flags, from the samples in the order in which they were taken.
Status judge_series(const DeviceDescription& device, Measurement& measurement) {
  if (measurement.samples_ms.empty()) return {};
  const SeriesSummary summary = summarize(measurement.samples_ms);
  const std::string& statistic = device.statistic;
  double label = summary.p50;
  if (statistic == "min") label = summary.min;
  if (statistic == "p10") label = summary.p10;
  if (statistic == "p90") label = summary.p90;
  if (label <= 0)
    return make_error(ErrorCode::kDeviceFailed, device.name, "its samples are not positive");
  measurement.quantities["latency_ms"] = label;
  measurement.statistic = statistic;
  measurement.stationary = summary.reason.empty();
  measurement.protocol["noise"] = summary.reason.empty() ? "none" : summary.reason;
  measurement.protocol["centre"] = "median";
  measurement.protocol["spread"] = "median absolute deviation";
  return {};
}

// What the answer must hold to be believed.
Result<Measurement> understand(const Json& answer, const WorkerHello& hello,
                               const DeviceDescription& device) {
  EDGESAGE_ASSIGN_OR_RETURN(Measurement measurement, measurement_from_json(answer));
  measurement.device = device.name;
  if (measurement.runtime.empty()) measurement.runtime = hello.runtime;
  if (measurement.runtime_version.empty()) measurement.runtime_version = hello.runtime_version;
  if (measurement.host_fingerprint.empty() && device.host_bound)
    measurement.host_fingerprint = hello.host_fingerprint;
  if (measurement.statistic.empty()) measurement.statistic = device.statistic;
  EDGESAGE_RETURN_IF_ERROR(judge_series(device, measurement));
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

}  // namespace

Result<Measurement> measure(WorkerClient& worker, const DeviceDescription& device,
                            const fs::path& model, const MeasureOptions& options) {
  if (!options.options.is_object())
    return make_error(ErrorCode::kInvalidArgument, "options",
                      "must be an object of the worker's options");
  EDGESAGE_ASSIGN_OR_RETURN(const WorkerHello hello, worker.hello());
  EDGESAGE_RETURN_IF_ERROR(check_hello(hello, device));

  Json merged = device.options;
  merged.update(options.options);
  std::error_code error;
  const fs::path absolute = fs::absolute(model, error);
  Json body;
  body["model"] = absolute.string();
  body["device"] = device.name;
  body["options"] = merged;
  body["deadline_ms"] = options.deadline.count();

  const Result<Json> answer = worker.request("measure", std::move(body), options.deadline);
  if (!answer) {
    if (answer.error().code == ErrorCode::kInvalidArgument) return tl::unexpected(answer.error());
    return failed(device, hello, answer.error().message);
  }
  Result<Measurement> measurement = understand(*answer, hello, device);
  if (!measurement) {
    worker.stop();
    return failed(device, hello,
                  fmt::format("the worker talks nonsense: {}", measurement.error().message));
  }
  return measurement;
}

}  // namespace edgesage
