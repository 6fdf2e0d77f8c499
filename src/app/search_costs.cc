#include "src/app/search_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/app/arena_plans.h"
#include "src/app/predictors.h"
#include "src/app/worker_options.h"
#include "src/base/text.h"
#include "src/predict/predictor_file.h"

namespace edgesage::app {
namespace {

constexpr double kOneAt90 = 1.645;  // standard deviations of a normal's interval at 90 %

std::optional<double> cost_of(const search::Costs& costs, std::string_view objective) {
  if (objective == "latency_ms") return costs.latency_ms;
  if (objective == "energy_mj") return costs.energy_mj;
  if (objective == "peak_ram_bytes") return costs.peak_ram_bytes;
  if (objective == "weights_bytes") return static_cast<double>(costs.weights_bytes);
  return static_cast<double>(costs.macs);
}

double beyond(const std::optional<double>& value, const std::optional<double>& limit) {
  return value && limit ? std::max(0.0, *value / *limit - 1) : 0;
}

}  // namespace

Result<std::unique_ptr<SearchCosting>> SearchCosting::make(const Context& context,
                                                           const SearchRequest& request,
                                                           const std::string& identity) {
  std::unique_ptr<SearchCosting> costing(new SearchCosting(context, request, identity));
  if (request.hardware || request.calibrate > 0) return costing;
  std::filesystem::path file = request.predictor;
  if (file.empty()) {
    EDGESAGE_ASSIGN_OR_RETURN(file, find_predictor(context, request.device));
  }
  EDGESAGE_RETURN_IF_ERROR(costing->load_predictor(file));
  return costing;
}

PrunedCalibrationOptions SearchCosting::calibration_options() const {
  return {.budget = request_.calibrate, .seed = request_.seed, .threads = request_.threads};
}

Status SearchCosting::calibrate(const PruningSpace& space) {
  const std::filesystem::path file = request_.directory / "predictor.edgesage";
  std::error_code ignored;
  const bool known = std::filesystem::exists(file, ignored);
  if (!known || request_.cost_model == "additive") {
    EDGESAGE_RETURN_IF_ERROR(open_device());
    EDGESAGE_RETURN_IF_ERROR(device_->prepare(space));
  }
  if (!known) {
    EDGESAGE_ASSIGN_OR_RETURN(const Target target, target_of(context_, request_.device));
    EDGESAGE_ASSIGN_OR_RETURN(
        const PrunedCalibration calibration,
        calibrate_on_pruned(space, target, *device_, calibration_options(),
                            [&](int64_t done, int64_t total, const char* what) {
                              context_.report(done, total, what);
                              return !context_.stop_wanted();
                            }));
    context_.tell(fmt::format("learnt from {} pruned networks; held-out median error {:.2f} %",
                              calibration.labels, calibration.held_out_median_ape));
    EDGESAGE_RETURN_IF_ERROR(save_predictor(calibration.predictor, file));
  }
  if (request_.cost_model == "additive") EDGESAGE_RETURN_IF_ERROR(fit_additive(space));
  return load_predictor(file);
}

Status SearchCosting::fit_additive(const PruningSpace& space) {
  EDGESAGE_ASSIGN_OR_RETURN(const Target target, target_of(context_, request_.device));
  EDGESAGE_ASSIGN_OR_RETURN(
      additive_, fit_additive_on_pruned(
                     space, target, *device_, calibration_options(),
                     [&](int64_t, int64_t, const char*) { return !context_.stop_wanted(); }));
  return {};
}

Status SearchCosting::load_predictor(const std::filesystem::path& file) {
  EDGESAGE_ASSIGN_OR_RETURN(Predictor predictor, Predictor::load(file));
  if (!request_.device.empty() && predictor.data().device != request_.device)
    return make_error(
        ErrorCode::kInvalidArgument, file.string(),
        fmt::format("is a predictor of {}, not of {}", predictor.data().device, request_.device));
  predictor_ = std::make_unique<Predictor>(std::move(predictor));
  PredictorEvaluatorOptions options{.threads = request_.threads, .intervals = true};
  if (predictor_->target().kind == TargetKind::kLitertXnnpack &&
      (request_.max_ram_bytes ||
       std::ranges::find(request_.objectives, "peak_ram_bytes") != request_.objectives.end()))
    options.peak_ram = [](const Graph& graph, const Lowering& lowering) -> std::optional<double> {
      const auto total = litert_xnnpack_memory(graph, lowering).total_bytes;
      if (!total) return std::nullopt;
      return static_cast<double>(*total);
    };
  if (additive_)
    options.latency = [this](const GraphTensors& tensors) {
      Example example;
      example.tensors = tensors;
      return additive_->predict(example);
    };
  predicted_ = std::make_unique<PredictorEvaluator>(*predictor_, std::move(options));
  return {};
}

std::string SearchCosting::predictor_id() const {
  return predictor_ ? predictor_->data().id : std::string();
}

Result<WorkerClient> SearchCosting::worker_of(const std::string& name) const {
  EDGESAGE_ASSIGN_OR_RETURN(const DeviceCatalog catalog, load_devices(context_));
  EDGESAGE_ASSIGN_OR_RETURN(const DeviceDescription device, catalog.find(name));
  return WorkerClient::for_device(device, context_.places);
}

Status SearchCosting::open_device() {
  if (device_) return {};
  EDGESAGE_ASSIGN_OR_RETURN(const DeviceCatalog catalog, load_devices(context_));
  EDGESAGE_ASSIGN_OR_RETURN(const DeviceDescription described, catalog.find(request_.device));
  EDGESAGE_ASSIGN_OR_RETURN(DeviceDescription device,
                            device_variant(described, worker_options(request_.options)));
  EDGESAGE_ASSIGN_OR_RETURN(std::vector<WorkerClient> workers,
                            workers_of(device, context_.places,
                                       request_.workers > 0 ? request_.workers : request_.threads));
  EDGESAGE_ASSIGN_OR_RETURN(EvaluationLog log,
                            EvaluationLog::open(request_.directory / "measured.jsonl",
                                                fmt::format("{} on {}", identity_, device.name)));
  MeasureOptions options;
  options.deadline = request_.deadline;
  device_ = std::make_unique<DeviceEvaluator>(std::move(workers), std::move(device),
                                              std::move(options), std::move(log),
                                              request_.directory, request_.shared_answers);
  return space_ != nullptr ? device_->prepare(*space_) : Status();
}

Status SearchCosting::open_quality() {
  if (request_.quality == "magnitude") {
    quality_ = std::make_unique<MagnitudeQuality>(*space_);
    return {};
  }
  const bool by_command = request_.quality == "command";
  const std::string by = by_command ? join(request_.quality_command, " ")
                                    : fmt::format("fidelity on {} {}", request_.calibration_sets,
                                                  request_.calibration_inputs.string());
  EDGESAGE_ASSIGN_OR_RETURN(EvaluationLog log,
                            EvaluationLog::open(request_.directory / "quality.jsonl",
                                                fmt::format("{} by {}", identity_, by)));
  if (by_command) {
    EDGESAGE_ASSIGN_OR_RETURN(
        CommandQuality quality,
        CommandQuality::make(*space_, request_.quality_command, request_.quality_timeout,
                             std::move(log), request_.directory));
    quality_ = std::make_unique<CommandQuality>(std::move(quality));
    return {};
  }
  EDGESAGE_ASSIGN_OR_RETURN(
      CalibrationInputs inputs,
      request_.calibration_inputs.empty()
          ? smooth_inputs(space_->graph(), static_cast<size_t>(request_.calibration_sets), 1)
          : inputs_from_file(space_->graph(), request_.calibration_inputs));
  EDGESAGE_ASSIGN_OR_RETURN(WorkerClient worker, worker_of("host-litert"));
  EDGESAGE_ASSIGN_OR_RETURN(FidelityQuality quality,
                            FidelityQuality::make(*space_, std::move(worker), std::move(inputs),
                                                  std::move(log), request_.directory));
  quality_ = std::make_unique<FidelityQuality>(std::move(quality));
  return {};
}

Status SearchCosting::prepare(const PruningSpace& space) {
  space_ = &space;
  if (predicted_) EDGESAGE_RETURN_IF_ERROR(predicted_->prepare(space));
  if (request_.hardware) EDGESAGE_RETURN_IF_ERROR(open_device());
  if (device_) EDGESAGE_RETURN_IF_ERROR(device_->prepare(space));
  EDGESAGE_RETURN_IF_ERROR(open_quality());
  EDGESAGE_ASSIGN_OR_RETURN(const search::Costs base, costs(space.base()));
  return check_objectives(base);
}

Status SearchCosting::check_objectives(const search::Costs& costs) const {
  std::vector<std::string> wanted = request_.objectives;
  if (request_.max_latency_ms) wanted.emplace_back("latency_ms");
  if (request_.max_ram_bytes) wanted.emplace_back("peak_ram_bytes");
  for (const std::string& objective : wanted)
    if (!cost_of(costs, objective))
      return make_error(ErrorCode::kInvalidArgument, objective,
                        fmt::format("{} does not say it; leave it out",
                                    request_.hardware ? "the device" : "the predictor"));
  return {};
}

Result<std::vector<double>> SearchCosting::latencies(const PruningSpace& space,
                                                     std::span<const Genome> genomes) {
  if (!predicted_) return make_error(ErrorCode::kUnsupported, "staircase", "there is no predictor");
  if (space_ == nullptr) EDGESAGE_RETURN_IF_ERROR(predicted_->prepare(space));
  EDGESAGE_ASSIGN_OR_RETURN(const auto answers, predicted_->evaluate(genomes));
  std::vector<double> latencies;
  for (const auto& answer : answers) {
    if (!answer) return tl::unexpected(answer.error());
    if (!answer->latency_ms)
      return make_error(ErrorCode::kUnsupported, "staircase", "the predictor knows no latency");
    latencies.push_back(*answer->latency_ms);
  }
  return latencies;
}

std::vector<double> SearchCosting::shares(const Genome& genome) const {
  std::vector<double> shares;
  for (size_t g = 0; g < genome.size(); ++g)
    shares.push_back(static_cast<double>(space_->value(genome, g)) /
                     static_cast<double>(space_->genes()[g].values.back()));
  return shares;
}

void SearchCosting::correct(const Genome& genome, search::Costs& costs) const {
  if (residuals_.size() == 0 || !costs.latency_ms) return;
  const ResidualAnswer answer = residuals_.at(shares(genome), costs.half_width / kOneAt90);
  costs.latency_ms = *costs.latency_ms * std::exp(answer.log_factor);
  costs.half_width = answer.deviation * kOneAt90;
}

Result<std::vector<Result<search::Costs>>> SearchCosting::ask(std::span<const Genome> genomes) {
  if (request_.hardware) return device_->evaluate(genomes);
  EDGESAGE_ASSIGN_OR_RETURN(auto answers, predicted_->evaluate(genomes));
  for (size_t i = 0; i < answers.size(); ++i)
    if (answers[i]) correct(genomes[i], *answers[i]);
  return answers;
}

Result<search::Costs> SearchCosting::costs(const Genome& genome) {
  EDGESAGE_ASSIGN_OR_RETURN(auto answers, ask({&genome, 1}));
  return answers.front();
}

Result<std::vector<search::Costs>> SearchCosting::all_costs(std::span<const Genome> genomes) {
  EDGESAGE_ASSIGN_OR_RETURN(const auto answers, ask(genomes));
  std::vector<search::Costs> all;
  for (const auto& answer : answers) all.push_back(answer ? *answer : search::Costs{});
  return all;
}

Status SearchCosting::stay_near(const Genome& genome) {
  return predicted_ ? predicted_->set_anchor(genome) : Status();
}

Result<search::Costs> SearchCosting::measured(const Genome& genome) {
  EDGESAGE_RETURN_IF_ERROR(open_device());
  EDGESAGE_ASSIGN_OR_RETURN(auto answers, device_->evaluate({&genome, 1}));
  return answers.front();
}

Result<double> SearchCosting::quality(const Genome& genome) {
  EDGESAGE_ASSIGN_OR_RETURN(auto answers, quality_->evaluate({&genome, 1}));
  return answers.front();
}

std::vector<double> SearchCosting::objectives_of(const search::Costs& costs, double quality) const {
  std::vector<double> objectives;
  for (const std::string& objective : request_.objectives)
    objectives.push_back(cost_of(costs, objective).value_or(0));
  objectives.push_back(-quality);
  return objectives;
}

double SearchCosting::violation_of(const search::Costs& costs) const {
  return beyond(costs.latency_ms, request_.max_latency_ms) +
         beyond(costs.peak_ram_bytes, request_.max_ram_bytes);
}

// A network that the device or the command fails on is worse than any other, and infeasible.
Result<std::vector<search::Outcome>> SearchCosting::outcomes(std::span<const Genome> genomes) {
  constexpr double kFailed = 1e6;
  EDGESAGE_ASSIGN_OR_RETURN(const auto costs, ask(genomes));
  EDGESAGE_ASSIGN_OR_RETURN(const auto qualities, quality_->evaluate(genomes));
  std::vector<search::Outcome> outcomes;
  for (size_t i = 0; i < genomes.size(); ++i) {
    if (costs[i] && qualities[i])
      outcomes.push_back({objectives_of(*costs[i], *qualities[i]), violation_of(*costs[i])});
    else
      outcomes.push_back({std::vector<double>(request_.objectives.size() + 1, kFailed), kFailed});
  }
  return outcomes;
}

Status SearchCosting::learn_from(std::span<const Genome> genomes, int32_t runs) {
  EDGESAGE_ASSIGN_OR_RETURN(const auto raw, predicted_->evaluate(genomes));
  std::vector<std::pair<double, size_t>> unsure;
  for (size_t i = 0; i < genomes.size(); ++i)
    if (raw[i] && raw[i]->latency_ms)
      unsure.emplace_back(
          -residuals_.at(shares(genomes[i]), raw[i]->half_width / kOneAt90).deviation, i);
  std::ranges::sort(unsure);
  if (unsure.size() > static_cast<size_t>(runs)) unsure.resize(static_cast<size_t>(runs));
  std::vector<Genome> asked;
  for (const auto& [minus_deviation, i] : unsure) asked.push_back(genomes[i]);
  EDGESAGE_RETURN_IF_ERROR(open_device());
  EDGESAGE_ASSIGN_OR_RETURN(const auto answers, device_->evaluate(asked));
  for (size_t k = 0; k < answers.size(); ++k) {
    if (answers[k] && answers[k]->latency_ms && *answers[k]->latency_ms > 0)
      residuals_.add(shares(asked[k]),
                     std::log(*answers[k]->latency_ms / *raw[unsure[k].second]->latency_ms));
  }
  return {};
}

}  // namespace edgesage::app
