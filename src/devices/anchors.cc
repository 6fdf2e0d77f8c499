#include "src/devices/anchors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "src/base/text.h"
#include "src/devices/statistics.h"

namespace edgesage {

Result<std::vector<Anchor>> anchors_from_store(const Store& store, std::string_view device,
                                               std::string_view host_fingerprint,
                                               std::span<const std::string> names) {
  std::map<std::string, double> labels;
  MeasurementFilter filter;
  filter.device = device;
  EDGESAGE_RETURN_IF_ERROR(store.for_each(filter, [&](const StoredMeasurement& stored) -> Status {
    const Measurement& measurement = stored.measurement;
    const auto latency = measurement.quantities.find("latency_ms");
    const bool usable = measurement.host_fingerprint == host_fingerprint &&
                        latency != measurement.quantities.end() &&
                        rejection_of(measurement).empty();
    if (!usable) return {};
    const auto [it, added] = labels.try_emplace(stored.network_name, latency->second);
    if (!added) it->second = std::min(it->second, latency->second);
    return {};
  }));
  std::vector<Anchor> anchors;
  std::vector<std::string> unknown;
  for (const std::string& name : names) {
    const auto found = labels.find(name);
    if (found == labels.end())
      unknown.push_back(name);
    else
      anchors.push_back({name, found->second});
  }
  if (!unknown.empty())
    return make_error(
        ErrorCode::kInvalidArgument, store.path().string(),
        fmt::format("has no label on {} of {}; name networks that were measured there", device,
                    join(unknown, ", ")));
  return anchors;
}

Drift drift_of(std::vector<AnchorOutcome> outcomes, const DriftTolerance& tolerance) {
  Drift drift;
  std::vector<double> ratios;
  for (AnchorOutcome& outcome : outcomes) {
    if (outcome.measured_ms && outcome.stored_ms > 0)
      outcome.ratio = *outcome.measured_ms / outcome.stored_ms;
    if (outcome.ratio) ratios.push_back(*outcome.ratio);
  }
  drift.anchors = std::move(outcomes);
  drift.compared = static_cast<int64_t>(ratios.size());
  if (ratios.empty()) {
    drift.verdict = "nothing could be compared: no anchor gave a label";
    return drift;
  }
  std::sort(ratios.begin(), ratios.end());
  drift.median_ratio = quantile(ratios, 0.5);
  drift.spread = (quantile(ratios, 0.9) - quantile(ratios, 0.1)) / 2 / drift.median_ratio;
  const double off = drift.median_ratio - 1;
  const bool moved = std::abs(off) > tolerance.median, scattered = drift.spread > tolerance.spread;
  drift.drifted = moved || scattered;
  const std::string figures =
      fmt::format("{} networks are {:+.1f} % off in the median, +-{:.1f} % between them",
                  drift.compared, 100 * off, 100 * drift.spread);
  if (scattered)
    drift.verdict = figures + ": they changed differently, measure and train again";
  else if (moved)
    drift.verdict = figures + ": the device became " + (off > 0 ? "slower" : "faster") +
                    " for all alike, check its clock and load, then measure again";
  else
    drift.verdict = figures + ": the labels still hold";
  return drift;
}

Result<Drift> measure_drift(WorkerClient& worker, const DeviceDescription& device,
                            std::span<const Anchor> anchors, const ModelOfNetwork& model_of,
                            const MeasureOptions& options, const DriftTolerance& tolerance,
                            const std::atomic<bool>* stop) {
  std::vector<AnchorOutcome> outcomes;
  for (const Anchor& anchor : anchors) {
    if (stop != nullptr && stop->load()) break;
    EDGESAGE_ASSIGN_OR_RETURN(const std::filesystem::path model, model_of(anchor.name));
    EDGESAGE_ASSIGN_OR_RETURN(const Measurement measurement,
                              measure(worker, device, model, options));
    AnchorOutcome outcome{anchor.name, anchor.stored_ms, std::nullopt, std::nullopt, ""};
    const auto latency = measurement.quantities.find("latency_ms");
    outcome.reason = measurement.error.empty() ? rejection_of(measurement) : measurement.error;
    if (outcome.reason.empty() && latency == measurement.quantities.end())
      outcome.reason = "no latency was measured";
    if (outcome.reason.empty()) outcome.measured_ms = latency->second;
    outcomes.push_back(std::move(outcome));
  }
  return drift_of(std::move(outcomes), tolerance);
}

}  // namespace edgesage
