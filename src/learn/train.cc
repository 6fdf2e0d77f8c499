#include "src/learn/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>

#include "src/base/json.h"
#include "src/base/rng.h"
#include "src/devices/statistics.h"
#include "src/learn/checkpoint.h"
#include "src/learn/feature_graphs.h"
#include "src/learn/intervals.h"
#include "src/nn/trainer.h"
#include "src/predict/tensors_to_batch.h"

namespace edgesage {
namespace {

constexpr size_t kLeastTrain = 20;
constexpr size_t kLeastCalibration = 10;

tl::unexpected<Error> too_few(const TrainingSets& sets, const std::string& where) {
  return make_error(
      ErrorCode::kInvalidArgument, where,
      fmt::format("{} networks to train on and {} to calibrate; at least {} and {} "
                  "are needed: annotate more",
                  sets.train.size(), sets.calibration.size(), kLeastTrain, kLeastCalibration));
}

bool enough(const TrainingSets& sets) {
  return sets.train.size() >= kLeastTrain && sets.calibration.size() >= kLeastCalibration;
}

// By graph hash, which is as good as at random and does not depend on the order of the file.
void keep_some(const FeatureFile& file, size_t most, std::vector<uint32_t>& networks) {
  std::sort(networks.begin(), networks.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(file.view(a).graph_hash, a) < std::pair(file.view(b).graph_hash, b);
  });
  networks.resize(most);
  std::sort(networks.begin(), networks.end());
}

// What the training networks say of one quantity, gathered one network at a time.
struct QuantitySurvey {
  std::vector<double> labels, log_ratios;  // of the label to the closed form
  size_t with_operators = 0;

  void add(const Example& example, size_t q, size_t column, Quantity quantity) {
    const double label = example.labels[q];
    if (std::isnan(label)) return;
    labels.push_back(label);
    with_operators += example.operator_labels[q].empty() ? 0 : 1;
    const double ratio = std::log(label / prior_total(example.tensors, column, quantity));
    if (std::isfinite(ratio)) log_ratios.push_back(ratio);
  }

  PredictedQuantity finish(Quantity quantity) {
    std::sort(log_ratios.begin(), log_ratios.end());
    std::sort(labels.begin(), labels.end());
    PredictedQuantity data;
    data.name = quantity_name(quantity);
    data.readout = static_cast<int>(read_out_of(quantity));
    if (!log_ratios.empty()) data.log_offset = static_cast<float>(quantile(log_ratios, 0.5));
    data.node_labels = with_operators * 2 > labels.size();
    // What is outside the operators is small against the cheapest networks. A maximum has no such
    // part.
    if (!labels.empty() && read_out_of(quantity) == nn::ReadOut::kSum)
      data.overhead_scale = static_cast<float>(0.1 * quantile(labels, 0.02));
    return data;
  }
};

// Quantities, normalisers and range: all that comes before the first member.
void survey(const FeatureFile& file, std::span<const uint32_t> train, PredictorData& data) {
  const std::vector<Quantity>& quantities = file.quantities();
  const std::vector<int32_t> columns = first_prior_columns(quantities);
  std::vector<QuantitySurvey> surveys(quantities.size());
  NormaliserFit nodes(static_cast<size_t>(file.features()));
  NormaliserFit globals(static_cast<size_t>(file.globals()));
  RangeBuilder range;
  for (const uint32_t index : train) {
    const Example example = file.example(index);
    for (size_t q = 0; q < quantities.size(); ++q)
      surveys[q].add(example, q, static_cast<size_t>(columns[q]), quantities[q]);
    nodes.add(example.tensors.x);
    globals.add(example.tensors.globals);
    range.add(example.operator_signatures, example.tensors);
  }
  for (size_t q = 0; q < quantities.size(); ++q)
    data.quantities.push_back(surveys[q].finish(quantities[q]));
  data.node_normaliser = nodes.finish();
  data.global_normaliser = globals.finish();
  data.range = std::move(range).finish();
}

PredictorData describe(const FeatureFile& file, const LabelSource& source,
                       const TrainingOptions& options) {
  PredictorData data = described_by(source, file.origin().target);
  data.embedding = options.embedding;
  data.hidden = options.hidden;
  data.layers = options.layers;
  return data;
}

std::string facts_json(const FeatureFile& file, const TrainingSets& split,
                       const TrainingOptions& options) {
  std::map<std::string, int64_t> spaces;
  for (const uint32_t index : split.train) {
    const std::string_view name = file.view(index).name;
    ++spaces[std::string(name.substr(0, name.rfind('/')))];
  }
  Json facts;
  facts["training_networks"] = split.train.size();
  facts["calibration_networks"] = split.calibration.size();
  facts["spaces"] = spaces;
  facts["split"] = {{"by", "graph_hash"},
                    {"test", options.split.test},
                    {"calibration", options.split.calibration},
                    {"seed", options.split.seed}};
  facts["epochs"] = options.epochs;
  facts["members"] = options.members;
  facts["learning_rate"] = options.learning_rate;
  facts["node_weight"] = options.node_weight;
  facts["balance"] = options.balance;
  facts["seed"] = options.seed;
  return to_text(facts);
}

// All that the result depends on beside the data, by the names of the flags.
std::string options_json(const TrainingOptions& options, const LabelSource& source) {
  Json json;
  json["device"] = source.device;
  json["host-description"] = source.host_description;
  json["hidden"] = options.hidden;
  json["embedding"] = options.embedding;
  json["layers"] = options.layers;
  json["members"] = options.members;
  json["epochs"] = options.epochs;
  json["batch"] = options.batch_graphs;
  json["batch-nodes"] = options.batch_nodes;
  json["learning-rate"] = options.learning_rate;
  json["dropout"] = options.dropout;
  json["weight-decay"] = options.weight_decay;
  json["node-weight"] = options.node_weight;
  json["huber-delta"] = options.delta;
  json["balance"] = options.balance;
  json["seed"] = options.seed;
  json["split-seed"] = options.split.seed;
  json["test-share"] = options.split.test;
  json["calibration-share"] = options.split.calibration;
  json["max-train"] = options.max_train;
  return to_text(json);
}

nn::TrainOptions trainer_options(const PredictorData& data, const TrainingOptions& options,
                                 size_t member) {
  nn::TrainOptions trainer;
  trainer.epochs = options.epochs;
  trainer.batch_graphs = options.batch_graphs;
  trainer.batch_nodes = options.batch_nodes;
  trainer.learning_rate = options.learning_rate;
  trainer.weight_decay = options.weight_decay;
  trainer.threads = options.threads;
  trainer.seed = options.seed * 1000 + member;
  trainer.loss.delta = options.delta;
  for (const PredictedQuantity& quantity : data.quantities)
    trainer.loss.node_weight.push_back(quantity.node_labels ? options.node_weight : 0.0);
  return trainer;
}

// Steps of all members to what people are shown.
class Progress {
 public:
  Progress(const TrainingOptions& options, const TrainingRun& run) : options_(options), run_(run) {}

  void report(size_t member, const nn::StepReport& step) {
    if (!run_.progress) return;
    measure_speed(step);
    TrainingProgress progress;
    progress.member = static_cast<int>(member) + 1;
    progress.members = options_.members;
    progress.epoch = step.epoch;
    progress.epochs = options_.epochs;
    progress.done = static_cast<int64_t>(member) * step.total + step.done;
    progress.total = options_.members * step.total;
    progress.loss = step.loss;
    for (size_t q = 0; q < step.weight_sum.size(); ++q)
      progress.log_error.push_back(step.log_error_sum[q] / step.weight_sum[q]);
    progress.nodes_per_second = nodes_per_second_;
    if (first_ < 0) first_ = progress.done;
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
    if (progress.done > first_)
      progress.seconds_left = seconds / static_cast<double>(progress.done - first_) *
                              static_cast<double>(progress.total - progress.done);
    run_.progress(progress);
  }

 private:
  // Over the last second or two.
  void measure_speed(const nn::StepReport& step) {
    if (step.seconds < seconds_) seconds_ = 0, nodes_ = 0;  // another member
    const double passed = step.seconds - seconds_;
    if (passed < 1 && nodes_per_second_ > 0) return;
    nodes_per_second_ = static_cast<double>(step.nodes - nodes_) / std::max(1e-9, passed);
    if (passed >= 1) seconds_ = step.seconds, nodes_ = step.nodes;
  }

  const TrainingOptions& options_;
  const TrainingRun& run_;
  double seconds_ = 0, nodes_per_second_ = 0;
  int64_t nodes_ = 0;
  // Of the first step, which may go on from a checkpoint.
  int64_t first_ = -1;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

// What an earlier run left, or an empty one to begin with.
Result<Checkpoint> checkpoint_of(const FeatureFile& file, const LabelSource& source,
                                 const TrainingOptions& options, const TrainingRun& run) {
  Checkpoint fresh{.options = options_json(options, source), .data_hash = file.checksum()};
  std::error_code ignored;
  if (run.checkpoint.empty() || !std::filesystem::exists(run.checkpoint, ignored)) return fresh;
  EDGESAGE_ASSIGN_OR_RETURN(Checkpoint found, load_checkpoint(run.checkpoint));
  EDGESAGE_RETURN_IF_ERROR(
      check_same_run(found, fresh.options, fresh.data_hash, run.checkpoint.string()));
  return found;
}

tl::unexpected<Error> interrupted(const LabelSource& source, const TrainingRun& run) {
  if (run.checkpoint.empty())
    return make_error(ErrorCode::kInvalidArgument, source.device, "training was interrupted");
  return make_error(ErrorCode::kInvalidArgument, source.device,
                    fmt::format("training was interrupted; the same command goes on from {}",
                                run.checkpoint.string()));
}

// Some networks of the calibration part, to watch a training on.
class Validation {
 public:
  Validation(const FeatureFile& file, std::span<const uint32_t> calibration,
             const PredictorData& data, size_t most) {
    const size_t step = (calibration.size() + most - 1) / std::max<size_t>(1, most);
    std::vector<uint32_t> some;
    for (size_t i = 0; i < calibration.size(); i += std::max<size_t>(1, step))
      some.push_back(calibration[i]);
    const FeatureGraphs graphs(file, std::move(some), data);
    for (int32_t graph = 0; graph < graphs.graphs(); ++graph) graphs.append(graph, batch_);
  }

  // `model` is a copy whose weights become those of the report.
  void judge(nn::Model model, const nn::EpochReport& report, const nn::LossOptions& loss,
             EpochErrors& errors) const {
    if (!model.set_parameters(report.parameters)) return;
    std::vector<float> gradient(model.parameters().size());
    errors.validation_loss = nn::loss_and_gradient(model, batch_, loss, gradient);
    nn::Workspace workspace;
    const nn::Outputs& answer = model.predict(batch_, workspace);
    const auto quantities = static_cast<size_t>(batch_.quantities);
    for (size_t q = 0; q < quantities; ++q) {
      double sum = 0, count = 0;
      for (size_t i = q; i < batch_.log_total.size(); i += quantities) {
        if (std::isnan(batch_.log_total[i])) continue;
        sum += std::abs(std::log(answer.totals[i]) - static_cast<double>(batch_.log_total[i]));
        ++count;
      }
      errors.validation_error.push_back(count > 0 ? sum / count : std::nan(""));
    }
  }

 private:
  nn::Batch batch_;
};

// Trains the member that `checkpoint` stands in, and adds it to the finished ones. False: stopped.
Result<bool> train_member(const FeatureGraphs& graphs, std::span<const int32_t> draw,
                          const PredictorData& data, const TrainingOptions& options,
                          const TrainingRun& run, const Validation* validation, Progress& progress,
                          Checkpoint& checkpoint) {
  const size_t member = checkpoint.members.size();
  nn::ModelConfig config = model_config(data);
  config.dropout = options.dropout;
  config.seed = options.seed * 1000 + member;
  EDGESAGE_ASSIGN_OR_RETURN(nn::Model model, nn::Model::create(config));
  const nn::TrainState resume = checkpoint.state;
  nn::TrainHooks hooks;
  hooks.on_step = [&](const nn::StepReport& step) { progress.report(member, step); };
  const nn::TrainOptions trainer = trainer_options(data, options, member);
  if (validation != nullptr)
    hooks.on_epoch = [&](const nn::EpochReport& epoch) {
      EpochErrors errors{.member = static_cast<int>(member) + 1,
                         .epoch = epoch.epoch,
                         .loss = epoch.loss,
                         .train_error = epoch.log_error};
      validation->judge(model, epoch, trainer.loss, errors);
      run.on_epoch(errors);
    };
  hooks.stop = run.stop;
  hooks.ranks = run.ranks;
  if (!resume.parameters.empty()) hooks.resume = &resume;
  if (!run.checkpoint.empty()) {
    hooks.save_seconds = run.checkpoint_seconds;
    hooks.save = [&](const nn::TrainState& state) {
      checkpoint.state = state;
      return save_checkpoint(checkpoint, run.checkpoint);
    };
  }
  EDGESAGE_ASSIGN_OR_RETURN(const nn::TrainReport trained,
                            nn::train(model, graphs, draw, trainer, hooks));
  if (trained.stopped) return false;
  checkpoint.members.emplace_back(model.parameters().begin(), model.parameters().end());
  checkpoint.state = {};
  return true;
}

}  // namespace

PredictorData described_by(const LabelSource& source, const std::string& target) {
  PredictorData data;
  data.device = source.device;
  data.runtime = source.runtime;
  data.runtime_version = source.runtime_version;
  data.target = target;
  data.statistic = source.statistic;
  data.host_fingerprint = source.host_fingerprint;
  data.host_description = source.host_description;
  data.threads = source.threads;
  data.energy_table = source.energy_table;
  data.energy_table_hash = source.energy_table_hash;
  return data;
}

Result<TrainingSets> training_sets(const FeatureFile& file, const TrainingOptions& options,
                                   const std::string& where) {
  TrainingSets sets;
  for (size_t i = 0; i < file.size(); ++i) {
    const Part part = part_of(file.view(i).graph_hash, options.split);
    if (part == Part::kTrain) sets.train.push_back(static_cast<uint32_t>(i));
    if (part == Part::kCalibration) sets.calibration.push_back(static_cast<uint32_t>(i));
  }
  if (options.max_train > 0 && sets.train.size() > options.max_train)
    keep_some(file, options.max_train, sets.train);
  if (!enough(sets)) return too_few(sets, where);
  return sets;
}

int epochs_for(size_t networks) {
  constexpr size_t kShown = 500'000;
  return static_cast<int>(std::clamp<size_t>(kShown / std::max<size_t>(1, networks), 12, 80));
}

std::vector<int32_t> balanced_draw(const FeatureFile& file, std::span<const uint32_t> train,
                                   double balance) {
  std::map<std::string_view, std::vector<int32_t>> spaces;
  for (size_t i = 0; i < train.size(); ++i)
    spaces[file.space_of(train[i])].push_back(static_cast<int32_t>(i));
  size_t largest = 0;
  for (const auto& [space, members] : spaces) largest = std::max(largest, members.size());
  std::vector<int32_t> draw;
  for (auto& [space, members] : spaces) {
    const auto count = static_cast<double>(members.size());
    const double wanted = count * std::pow(static_cast<double>(largest) / count, balance);
    Rng(0, space).shuffle(members);  // who comes once more than others
    for (size_t i = 0; i < static_cast<size_t>(std::round(wanted)); ++i)
      draw.push_back(members[i % members.size()]);
  }
  std::sort(draw.begin(), draw.end());
  return draw;
}

Result<PredictorData> train_predictor(const FeatureFile& file, const LabelSource& source,
                                      const TrainingOptions& options, const TrainingRun& run) {
  EDGESAGE_ASSIGN_OR_RETURN(const TrainingSets sets, training_sets(file, options, source.device));
  return train_predictor_on(file, sets, source, options, run);
}

Result<PredictorData> train_predictor_on(const FeatureFile& file, const TrainingSets& sets,
                                         const LabelSource& source, const TrainingOptions& wanted,
                                         const TrainingRun& run) {
  if (!enough(sets)) return too_few(sets, source.device);
  TrainingOptions options = wanted;
  if (options.epochs == 0) options.epochs = epochs_for(sets.train.size());
  EDGESAGE_ASSIGN_OR_RETURN(Checkpoint checkpoint, checkpoint_of(file, source, options, run));
  PredictorData data = describe(file, source, options);
  survey(file, sets.train, data);
  const FeatureGraphs graphs(file, sets.train, data);
  const std::vector<int32_t> draw = balanced_draw(file, sets.train, options.balance);
  std::optional<Validation> validation;
  if (run.on_epoch) validation.emplace(file, sets.calibration, data, run.most_validated);
  Progress progress(options, run);
  while (checkpoint.members.size() < static_cast<size_t>(options.members)) {
    EDGESAGE_ASSIGN_OR_RETURN(const bool finished, train_member(graphs, draw, data, options, run,
                                                                validation ? &*validation : nullptr,
                                                                progress, checkpoint));
    if (!finished) return interrupted(source, run);
  }
  data.members = std::move(checkpoint.members);
  data.facts = facts_json(file, sets, options);
  fit_intervals(file, sets.calibration, data);
  return data;
}

Result<PredictorData> train_predictor(const Dataset& dataset, const LabelSource& source,
                                      const TrainingOptions& options, const TrainingRun& run) {
  return train_predictor(FeatureFile::of(dataset), source, options, run);
}

}  // namespace edgesage
