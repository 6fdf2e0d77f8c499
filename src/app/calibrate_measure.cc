#include "src/app/calibrate_measure.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "src/app/pool.h"
#include "src/base/file.h"
#include "src/base/rng.h"
#include "src/devices/anchors.h"
#include "src/io/tflite_writer.h"
#include "src/learn/annotate.h"
#include "src/predict/predictor.h"

namespace edgesage::app {
namespace {

MeasureOptions measure_options(const CalibrateRequest& request) {
  MeasureOptions options;
  options.deadline = request.deadline;
  options.attempts = 2;  // a noisy series is worth a second one
  return options;
}

Result<Graph> graph_of_pool(const std::string& name) {
  auto named = build_of_pool(name);
  if (!named) return tl::unexpected(named.error());
  if (!named->graph)
    return make_error(ErrorCode::kInvalidArgument, name, "nothing in the file can be mutated");
  return std::move(*named->graph);
}

}  // namespace

std::string unfit_message(const Fitness& fitness) {
  for (const FitnessFinding& finding : fitness.findings)
    if (finding.level == FitnessLevel::kUnfit)
      return fmt::format("not fit to be measured: {}: {}; {} (or say --measure-unfit)",
                         finding.check, finding.found, finding.remedy);
  return "not fit to be measured";
}

Status LabelSourceOfStore::open() {
  if (!request_.from.empty()) {
    EDGESAGE_ASSIGN_OR_RETURN(labels_, read_labels(request_.from));
    if (labels_.empty())
      return make_error(ErrorCode::kInvalidArgument, request_.from.string(),
                        "there are no labels in it");
    return {};
  }
  EDGESAGE_ASSIGN_OR_RETURN(Store store, Store::open(request_.store, StoreMode::kWrite));
  store_.emplace(std::move(store));
  return take_labels();
}

// A store without labels of the device is where a calibration begins.
Status LabelSourceOfStore::take_labels() {
  labels_.clear();
  refused_.clear();
  bool any = false;
  MeasurementFilter filter;
  filter.device = device_.name;
  filter.outcome = MeasurementFilter::Outcome::kAny;
  EDGESAGE_RETURN_IF_ERROR(store_->for_each(filter, [&](const StoredMeasurement& stored) -> Status {
    const Measurement& measurement = stored.measurement;
    std::string reason = measurement.error;
    if (reason.empty()) reason = rejection_of(measurement);
    if (!reason.empty()) {
      refused_.push_back({stored.network_name, reason});
      return {};
    }
    any = true;
    protocol_ = measurement.protocol;
    const auto cpu = measurement.environment.find("cpu_model");
    if (cpu != measurement.environment.end()) host_description_ = cpu->second;
    return {};
  }));
  if (!any) return {};
  EDGESAGE_ASSIGN_OR_RETURN(labels_, labels_of(*store_, {.device = device_.name}));
  return {};
}

Status LabelSourceOfStore::measure(const std::vector<std::string>& names) {
  AnnotateOptions options;
  options.stop = context_.stop;
  options.build = graph_of_pool;
  options.file = file_of_pool;
  EDGESAGE_ASSIGN_OR_RETURN(
      AnnotateDevice annotated,
      annotate_device(device_, context_.places, measure_options(request_), 1, request_.repeats));
  options.devices.push_back(std::move(annotated));
  const auto before = static_cast<int64_t>(labels_.size());
  EDGESAGE_ASSIGN_OR_RETURN(
      const AnnotateReport report,
      annotate(*store_, names, options, [&](const AnnotateProgress& progress) {
        context_.report(before + progress.done, before + progress.total,
                        fmt::format("measuring on {}", device_.name));
      }));
  stopped_ = stopped_ || report.stopped;
  return take_labels();
}

LabelSource LabelSourceOfStore::label_source() const {
  LabelSource source;
  source.device = device_.name;
  if (labels_.empty()) return source;
  const LabelRow& first = labels_.front();
  source.runtime = first.runtime;
  source.runtime_version = first.runtime_version;
  source.statistic = first.statistic;
  source.host_fingerprint = first.host_fingerprint;
  source.host_description = host_description_;
  source.threads = first.host_fingerprint.empty() ? 0 : 1;
  return source;
}

void LabelSourceOfStore::describe(Calibration& calibration) const {
  calibration.refused = refused_;
  calibration.protocol = protocol_;
  if (labels_.empty()) return;
  const LabelRow& first = labels_.front();
  calibration.runtime = first.runtime;
  calibration.runtime_version = first.runtime_version;
  calibration.host_fingerprint = first.host_fingerprint;
  calibration.statistic = first.statistic;
}

Result<WarmLabels> warm_labels(const CalibrateRequest& request, const DeviceDescription& device) {
  WarmLabels warm;
  if (request.warm_start.empty()) return warm;
  EDGESAGE_ASSIGN_OR_RETURN(const Store store, Store::open(request.warm_start, StoreMode::kRead));
  EDGESAGE_ASSIGN_OR_RETURN(const StoreInfo info, store.info());
  for (const StoreGroup& group : info.groups) {
    if (group.device == device.name || group.measured == 0) continue;
    EDGESAGE_ASSIGN_OR_RETURN(std::vector<LabelRow> rows,
                              labels_of(store, {.device = group.device,
                                                .host_fingerprint = group.host_fingerprint,
                                                .runtime_version = group.runtime_version}));
    const std::string host = group.host_fingerprint.empty() ? "" : " on " + group.host_fingerprint;
    warm.emplace(group.device + host, std::move(rows));
  }
  return warm;
}

Status verify_labels(const Context& context, const CalibrateRequest& request,
                     const DeviceDescription& device, Calibration& calibration) {
  EDGESAGE_ASSIGN_OR_RETURN(const Store store, Store::open(request.store, StoreMode::kRead));
  EDGESAGE_ASSIGN_OR_RETURN(std::vector<LabelRow> rows, labels_of(store, {.device = device.name}));
  Rng(request.pool.seed, "verify").shuffle(rows);
  rows.resize(std::min(rows.size(), static_cast<size_t>(request.verify)));
  std::vector<std::string> names;
  for (const LabelRow& row : rows) names.push_back(row.name);
  EDGESAGE_ASSIGN_OR_RETURN(
      const std::vector<Anchor> anchors,
      anchors_from_store(store, device.name, rows.front().host_fingerprint, names));
  EDGESAGE_ASSIGN_OR_RETURN(WorkerClient worker, WorkerClient::for_device(device, context.places));
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / fmt::format("edgesage-verify-{}.tflite", ::getpid());
  int64_t done = 0;
  const ModelOfNetwork model_of = [&](const std::string& name) -> Result<std::filesystem::path> {
    context.report(done++, static_cast<int64_t>(names.size()), "measuring again");
    if (std::filesystem::path own = file_of_pool(name); !own.empty()) return own;
    EDGESAGE_ASSIGN_OR_RETURN(const Graph graph, graph_of_pool(name));
    EDGESAGE_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, write_tflite(graph));
    EDGESAGE_RETURN_IF_ERROR(write_file(file, bytes));
    return file;
  };
  EDGESAGE_ASSIGN_OR_RETURN(
      const Drift drift,
      measure_drift(worker, device, anchors, model_of, measure_options(request), {}, context.stop));
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
  CalibrationDrift out{drift.compared, drift.median_ratio, drift.spread,
                       drift.drifted,  drift.verdict,      std::nullopt};
  // Do today's measurements lie where the predictor expects them?
  if (auto predictor = Predictor::load(request.output); predictor && drift.compared > 0) {
    double inside = 0;
    for (const AnchorOutcome& anchor : drift.anchors) {
      if (!anchor.measured_ms) continue;
      EDGESAGE_ASSIGN_OR_RETURN(const Graph graph, graph_of_pool(anchor.name));
      const Prediction answer = predictor->predict(graph, anchor.name, {});
      if (answer.latency_ms && *anchor.measured_ms >= answer.latency_ms->lo &&
          *anchor.measured_ms <= answer.latency_ms->hi)
        inside += 1;
    }
    out.within_interval = 100 * inside / static_cast<double>(drift.compared);
  }
  calibration.drift = out;
  return {};
}

}  // namespace edgesage::app
