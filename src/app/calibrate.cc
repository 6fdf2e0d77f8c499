#include "src/app/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "src/app/calibrate_measure.h"
#include "src/app/measure_fitness.h"
#include "src/app/pool.h"
#include "src/app/worker_options.h"
#include "src/learn/choose.h"
#include "src/predict/predictor_file.h"

namespace edgesage::app {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// What the device reports and a process can learn.
std::vector<Quantity> quantities_of(const DeviceDescription& device) {
  std::vector<Quantity> quantities;
  for (const Quantity quantity :
       {Quantity::kLatencyMs, Quantity::kSramBytes, Quantity::kEnergyMj}) {
    const std::string name(quantity_name(quantity));
    if (std::find(device.quantities.begin(), device.quantities.end(), name) !=
        device.quantities.end())
      quantities.push_back(quantity);
  }
  if (quantities.empty()) quantities.push_back(Quantity::kLatencyMs);
  return quantities;
}

CalibrateOptions options_of(const CalibrateRequest& request, const Target& target) {
  CalibrateOptions options;
  options.threads = request.pool.threads;
  options.closed_form = has_closed_form(target);
  options.teach.epochs = request.epochs;
  options.teach.members = request.members;
  options.teach.hidden = request.hidden;
  options.teach.seed = request.pool.seed;
  return options;
}

std::vector<std::string> names_at(const PricedPool& priced, std::span<const size_t> networks) {
  std::vector<std::string> names;
  for (const size_t i : networks) names.push_back(priced.pool.dataset.examples[i].name);
  return names;
}

// Chooses and measures until there are as many labels as the budget: two thirds by what virtual
// devices say, then where the process is unsure. What fails is made up for, within limits.
Status measure_budget(const CalibrateRequest& request, const PricedPool& priced,
                      const CalibrateOptions& options, LabelSourceOfStore& source,
                      Calibration& calibration) {
  constexpr double kFirstShare = 0.67;
  constexpr int kMostRounds = 8;
  const auto budget = static_cast<size_t>(request.budget);
  const auto first = static_cast<size_t>(std::ceil(kFirstShare * static_cast<double>(budget)));
  const std::vector<size_t> start =
      choose_first(priced.components(), first, priced.space_of, request.pool.seed);
  EDGESAGE_RETURN_IF_ERROR(source.measure(names_at(priced, start)));
  std::vector<size_t> asked = start;
  // A machine that is too busy must not keep a calibration for hours.
  const size_t most = budget + budget / 2 + 4;
  for (int round = 0; round < kMostRounds && !source.stopped() && asked.size() < most; ++round) {
    const PoolLabels labels = labels_in_pool(priced, source.labels());
    if (labels.network.size() >= budget) break;
    const size_t missing = budget - labels.network.size();
    // Two rounds for the rest, so that the second knows of the first.
    const size_t batch = std::min(round == 0 ? (missing + 1) / 2 : missing, most - asked.size());
    EDGESAGE_ASSIGN_OR_RETURN(const std::vector<double> unsure,
                              unsure_of(priced, 0, labels, options));
    const std::vector<size_t> next = choose_next(priced.components(), unsure, asked, batch);
    if (next.empty()) break;
    asked.insert(asked.end(), next.begin(), next.end());
    EDGESAGE_RETURN_IF_ERROR(source.measure(names_at(priced, next)));
  }
  calibration.stopped = source.stopped();
  return {};
}

// What the user's other devices say of the pool: each is learnt from its own labels first.
Result<std::vector<std::vector<double>>> known_devices(const CalibrateRequest& request,
                                                       const PricedPool& priced, size_t quantity,
                                                       const WarmLabels& warm,
                                                       const CalibrateOptions& options) {
  constexpr size_t kLeastLabels = 30;
  std::vector<std::vector<double>> known;
  for (const auto& [device, rows] : warm) {
    const PoolLabels labels = labels_in_pool(priced, rows);
    const auto& values = labels.log_value[quantity];
    const auto measured = std::count_if(values.begin(), values.end(),
                                        [](double value) { return !std::isnan(value); });
    if (static_cast<size_t>(measured) < kLeastLabels) continue;
    EDGESAGE_ASSIGN_OR_RETURN(LearntQuantity learnt,
                              learn_quantity(priced, quantity, labels, options, false));
    known.push_back(std::move(learnt.fit.log_cost));
  }
  if (known.empty())
    return make_error(ErrorCode::kInvalidArgument, request.warm_start.string(),
                      fmt::format("no other device in it has {} labels", kLeastLabels));
  return known;
}

// From scratch, or warm with the scratch figure beside it.
Result<LearntQuantity> learn_one(const CalibrateRequest& request, const PricedPool& priced,
                                 size_t quantity, const PoolLabels& labels, const WarmLabels& warm,
                                 const CalibrateOptions& options) {
  if (warm.empty()) return learn_quantity(priced, quantity, labels, options, true);
  EDGESAGE_ASSIGN_OR_RETURN(const LearntQuantity scratch,
                            learn_quantity(priced, quantity, labels, options, false));
  CalibrateOptions warmed = options;
  EDGESAGE_ASSIGN_OR_RETURN(warmed.few_shot.known_devices,
                            known_devices(request, priced, quantity, warm, options));
  auto learnt = learn_quantity(priced, quantity, labels, warmed, true);
  if (learnt) learnt->report.from_scratch_median_ape = scratch.report.median_ape;
  return learnt;
}

Status teach_and_save(const Context& context, const CalibrateRequest& request,
                      const PricedPool& priced, const PoolLabels& labels, const LabelSource& source,
                      const CalibrateOptions& options, std::span<LearntQuantity> learnt,
                      Calibration& calibration) {
  const Clock::time_point start = Clock::now();
  auto data = teach_from(
      priced, learnt, labels, source, options,
      [&](const TrainingProgress& progress) {
        const int64_t epochs = int64_t{progress.members} * progress.epochs;
        context.report(int64_t{progress.member - 1} * progress.epochs + progress.epoch, epochs,
                       "teaching the network that ships");
      },
      context.stop);
  if (!data && context.stop_wanted()) {
    calibration.stopped = true;
    return {};
  }
  if (!data) return tl::unexpected(data.error());
  EDGESAGE_RETURN_IF_ERROR(save_predictor(*data, request.output));
  EDGESAGE_ASSIGN_OR_RETURN(const PredictorData written, load_predictor(request.output));
  calibration.predictor_file = request.output.string();
  calibration.predictor_id = written.id;
  calibration.predictor_bytes = static_cast<int64_t>(std::filesystem::file_size(request.output));
  calibration.teach_seconds = seconds_since(start);
  return {};
}

}  // namespace

Result<Calibration> calibrate(const Context& context, const CalibrateRequest& request) {
  EDGESAGE_ASSIGN_OR_RETURN(const DeviceCatalog catalog, load_devices(context));
  EDGESAGE_ASSIGN_OR_RETURN(const DeviceDescription described, catalog.find(request.device));
  // Threads and cores are part of what a label means: another choice is another device.
  EDGESAGE_ASSIGN_OR_RETURN(const DeviceDescription device,
                            device_variant(described, worker_options(request.options)));
  EDGESAGE_ASSIGN_OR_RETURN(const Target target, target_of(context, request.device));
  Calibration calibration;
  calibration.device = device.name;
  calibration.target = target.name;
  calibration.budget = request.budget;
  const bool measures = request.from.empty();
  if (measures) {
    EDGESAGE_ASSIGN_OR_RETURN(calibration.fitness, device_fitness(context, request.device));
    if (calibration.fitness->level == FitnessLevel::kUnfit && !request.measure_unfit)
      return make_error(ErrorCode::kDeviceFailed, device.name, unfit_message(*calibration.fitness));
  }
  const CalibrateOptions options = options_of(request, target);
  if (request.verify > 0) {
    EDGESAGE_RETURN_IF_ERROR(verify_labels(context, request, device, calibration));
    return calibration;
  }

  Clock::time_point start = Clock::now();
  LabelSourceOfStore source(context, request, device);
  EDGESAGE_RETURN_IF_ERROR(source.open());
  EDGESAGE_ASSIGN_OR_RETURN(std::vector<std::string> names,
                            pool_names(request.pool, measures ? &device : nullptr));
  for (const LabelRow& row : source.labels()) names.push_back(row.name);
  EDGESAGE_ASSIGN_OR_RETURN(const WarmLabels warm, warm_labels(request, device));
  for (const auto& [other, rows] : warm) {
    calibration.warm_start.push_back(other);
    for (const LabelRow& row : rows) names.push_back(row.name);
  }
  EDGESAGE_ASSIGN_OR_RETURN(const PricedPool priced,
                            load_pool(context, request.pool, names, target, quantities_of(device)));
  calibration.pool = static_cast<int64_t>(priced.pool.size());
  for (const Example& example : priced.pool.dataset.examples)
    if (std::find(calibration.spaces.begin(), calibration.spaces.end(), example.space) ==
        calibration.spaces.end())
      calibration.spaces.push_back(example.space);
  calibration.build_seconds = seconds_since(start);

  start = Clock::now();
  if (measures)
    EDGESAGE_RETURN_IF_ERROR(measure_budget(request, priced, options, source, calibration));
  calibration.measure_seconds = seconds_since(start);
  source.describe(calibration);
  if (calibration.stopped) return calibration;

  start = Clock::now();
  const PoolLabels labels = labels_in_pool(priced, source.labels());
  std::vector<LearntQuantity> learnt;
  for (size_t q = 0; q < priced.pool.dataset.quantities.size(); ++q) {
    context.report(static_cast<int64_t>(q),
                   static_cast<int64_t>(priced.pool.dataset.quantities.size()),
                   "learning from the labels");
    EDGESAGE_ASSIGN_OR_RETURN(LearntQuantity one,
                              learn_one(request, priced, q, labels, warm, options));
    learnt.push_back(std::move(one));
  }
  calibration.next = names_at(
      priced, choose_next(priced.components(), learnt.front().fit.log_sd, labels.network, 12));
  calibration.fit_seconds = seconds_since(start);
  if (request.members > 0)
    EDGESAGE_RETURN_IF_ERROR(teach_and_save(context, request, priced, labels, source.label_source(),
                                            options, learnt, calibration));
  for (LearntQuantity& one : learnt) calibration.quantities.push_back(std::move(one.report));
  return calibration;
}

Result<SampledNetworks> sample(const Context& context, const SampleRequest& request) {
  EDGESAGE_ASSIGN_OR_RETURN(const Target target, request.device.empty()
                                                     ? target_from_name("generic")
                                                     : target_of(context, request.device));
  EDGESAGE_ASSIGN_OR_RETURN(const DeviceCatalog catalog, load_devices(context));
  const auto device = catalog.find(request.device);
  EDGESAGE_ASSIGN_OR_RETURN(std::vector<std::string> names,
                            pool_names(request.pool, device ? &*device : nullptr));
  std::vector<LabelRow> rows;
  if (!request.store.empty()) {
    EDGESAGE_ASSIGN_OR_RETURN(const Store store, Store::open(request.store, StoreMode::kRead));
    EDGESAGE_ASSIGN_OR_RETURN(rows, labels_of(store, {.device = request.device}));
    for (const LabelRow& row : rows) names.push_back(row.name);
  }
  const std::vector<Quantity> quantities{Quantity::kLatencyMs};
  EDGESAGE_ASSIGN_OR_RETURN(const PricedPool priced,
                            load_pool(context, request.pool, names, target, quantities));
  SampledNetworks sampled;
  sampled.pool = static_cast<int64_t>(priced.pool.size());
  const auto count = static_cast<size_t>(request.count);
  const PoolLabels labels = labels_in_pool(priced, rows);
  sampled.labelled = static_cast<int64_t>(labels.network.size());
  constexpr size_t kEnoughForAProcess = 20;
  if (labels.network.size() < kEnoughForAProcess) {
    sampled.names = names_at(
        priced, choose_first(priced.components(), count, priced.space_of, request.pool.seed));
    sampled.why = "one of each cluster of simulated costs, spaces by the root of their size";
    return sampled;
  }
  CalibrateOptions options;
  options.threads = request.pool.threads;
  options.closed_form = has_closed_form(target);
  EDGESAGE_ASSIGN_OR_RETURN(const LearntQuantity learnt,
                            learn_quantity(priced, 0, labels, options, true));
  sampled.names =
      names_at(priced, choose_next(priced.components(), learnt.fit.log_sd, labels.network, count));
  sampled.why = "where the process is least sure, no two alike";
  sampled.median_ape = learnt.report.median_ape;
  sampled.median_ape_after = learnt.report.median_ape_after;
  sampled.enough = learnt.report.enough;
  return sampled;
}

}  // namespace edgesage::app
