#include "src/learn/teach.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "src/base/json.h"
#include "src/devices/statistics.h"
#include "src/learn/few_shot_protocol.h"
#include "src/nn/trainer.h"
#include "src/predict/predictor.h"
#include "src/predict/tensors_to_batch.h"

namespace edgesage {
namespace {

constexpr size_t kLeastNetworks = 20;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// What is to be learnt for a network: its label where it has one, or else the teacher's answer.
double target_of(const Lesson& lesson, size_t example) {
  return std::isnan(lesson.log_label[example]) ? lesson.log_teacher[example]
                                               : lesson.log_label[example];
}

bool is_measured(std::span<const Lesson> lessons, size_t example) {
  return std::any_of(lessons.begin(), lessons.end(),
                     [&](const Lesson& lesson) { return !std::isnan(lesson.log_label[example]); });
}

PredictedQuantity quantity_data(const Dataset& dataset, const Lesson& lesson,
                                std::span<const size_t> chosen, size_t quantity) {
  PredictedQuantity data;
  const Quantity kind = dataset.quantities[quantity];
  data.name = quantity_name(kind);
  data.readout = static_cast<int>(read_out_of(kind));
  const auto column = static_cast<size_t>(first_prior_columns(dataset.quantities)[quantity]);
  std::vector<double> ratios, targets;
  for (const size_t i : chosen) {
    const double target = target_of(lesson, i);
    if (std::isnan(target)) continue;
    targets.push_back(target);
    const double ratio = target - std::log(prior_total(dataset.examples[i].tensors, column, kind));
    if (std::isfinite(ratio)) ratios.push_back(ratio);
  }
  std::sort(ratios.begin(), ratios.end());
  std::sort(targets.begin(), targets.end());
  if (!ratios.empty()) data.log_offset = static_cast<float>(quantile(ratios, 0.5));
  // A fixed cost may be most of the cheapest networks.
  if (!targets.empty() && read_out_of(kind) == nn::ReadOut::kSum)
    data.overhead_scale = static_cast<float>(0.3 * std::exp(quantile(targets, 0.02)));
  // The spread of the members only adds to what held-out labels say.
  for (size_t level = 0; level < lesson.widths.size(); ++level) {
    if (!std::isfinite(lesson.widths[level])) continue;
    data.levels.push_back(static_cast<float>(kLevels[level]));
    data.widths.push_back(static_cast<float>(lesson.widths[level]));
  }
  data.base_spread = 1;
  return data;
}

// Normalisers and range: what training is like.
void survey(const Dataset& dataset, std::span<const Lesson> lessons, std::span<const size_t> chosen,
            PredictorData& data) {
  const GraphTensors& first = dataset.examples[chosen.front()].tensors;
  NormaliserFit nodes(static_cast<size_t>(first.features)), globals(first.globals.size());
  RangeBuilder range;
  for (const size_t i : chosen) {
    const Example& example = dataset.examples[i];
    nodes.add(example.tensors.x);
    globals.add(example.tensors.globals);
    range.add(example.operator_signatures, example.tensors, is_measured(lessons, i));
  }
  data.node_normaliser = nodes.finish();
  data.global_normaliser = globals.finish();
  data.range = std::move(range).finish();
}

nn::Batch lesson_batch(const Dataset& dataset, std::span<const Lesson> lessons,
                       std::span<const size_t> chosen, const PredictorData& data,
                       double label_weight) {
  nn::Batch batch;
  for (const size_t i : chosen) {
    append_tensors(dataset.examples[i].tensors, data, batch);
    for (const Lesson& lesson : lessons)
      batch.log_total.push_back(static_cast<float>(target_of(lesson, i)));
    batch.weight.push_back(is_measured(lessons, i) ? static_cast<float>(label_weight) : 1.0F);
    const auto operators = static_cast<size_t>(dataset.examples[i].tensors.operators);
    batch.op_label.insert(batch.op_label.end(), operators * lessons.size(), kNaN);
  }
  return batch;
}

// How unsure the teacher was, as a function of what the student can see.
void learn_errors(const Dataset& dataset, std::span<const Lesson> lessons,
                  std::span<const size_t> chosen, PredictorData& data) {
  std::vector<std::vector<float>> features;
  for (const size_t i : chosen)
    features.push_back(data.range.leverage.features(dataset.examples[i].tensors));
  for (const Lesson& lesson : lessons) {
    std::vector<double> log_scales;
    for (const size_t i : chosen)
      log_scales.push_back(lesson.error_scale.empty() ? std::nan("")
                                                      : std::log(lesson.error_scale[i]));
    data.range.errors.push_back(fit_error_model(features, log_scales));
  }
}

// What only the trained networks can say: how much they disagree on networks like those they were
// taught on, and how far they are from their teacher. Of that distance and the teacher's own error
// the larger counts: a student that is as near as its teacher is right errs as much, not more.
void look_at_answers(const Dataset& dataset, std::span<const Lesson> lessons,
                     std::span<const size_t> chosen, PredictorData& data) {
  const size_t quantities = data.quantities.size();
  data.range.max_spread.assign(quantities, std::numeric_limits<float>::infinity());
  auto predictor = Predictor::from(data);
  if (!predictor) return;
  std::vector<std::vector<double>> spreads(quantities), distances(quantities);
  PredictWorkspace workspace;
  for (const size_t i : chosen) {
    const Estimate& answer = predictor->estimate(dataset.examples[i].tensors, workspace);
    for (size_t q = 0; q < quantities; ++q) {
      spreads[q].push_back(static_cast<double>(answer.spread[q]));
      if (std::isnan(lessons[q].log_teacher[i])) continue;
      const double distance = std::abs(std::log(answer.value[q]) - lessons[q].log_teacher[i]);
      distances[q].push_back(lessons[q].error_scale.empty() ? distance
                                                            : distance / lessons[q].error_scale[i]);
    }
  }
  for (size_t q = 0; q < quantities; ++q) {
    std::sort(spreads[q].begin(), spreads[q].end());
    std::sort(distances[q].begin(), distances[q].end());
    if (data.members.size() > 1)
      data.range.max_spread[q] = static_cast<float>(2.0 * quantile(spreads[q], 0.98));
    PredictedQuantity& quantity = data.quantities[q];
    for (size_t level = 0; level < quantity.levels.size() && !distances[q].empty(); ++level)
      quantity.widths[level] = std::max(
          quantity.widths[level],
          static_cast<float>(quantile(distances[q], static_cast<double>(quantity.levels[level]))));
  }
}

std::string facts_json(const Dataset& dataset, std::span<const Lesson> lessons,
                       std::span<const size_t> chosen, const TeachOptions& options) {
  std::map<std::string, int64_t> spaces;
  size_t measured = 0;
  for (const size_t i : chosen) {
    ++spaces[dataset.examples[i].space];
    measured += is_measured(lessons, i) ? 1 : 0;
  }
  Json facts;
  facts["method"] = "taught by a Gaussian process on virtual devices";
  facts["measured_networks"] = measured;
  facts["training_networks"] = chosen.size();
  facts["spaces"] = spaces;
  facts["epochs"] = options.epochs;
  facts["members"] = options.members;
  facts["learning_rate"] = options.learning_rate;
  facts["label_weight"] = options.label_weight;
  facts["seed"] = options.seed;
  return to_text(facts);
}

}  // namespace

Result<PredictorData> teach_predictor(const Dataset& dataset, std::span<const Lesson> lessons,
                                      const LabelSource& source, const TeachOptions& options,
                                      const std::function<void(const TrainingProgress&)>& progress,
                                      const std::atomic<bool>* stop) {
  std::vector<size_t> chosen;
  for (size_t i = 0; i < dataset.examples.size(); ++i)
    if (std::any_of(lessons.begin(), lessons.end(),
                    [&](const Lesson& lesson) { return !std::isnan(target_of(lesson, i)); }))
      chosen.push_back(i);
  if (chosen.size() < kLeastNetworks)
    return make_error(ErrorCode::kInvalidArgument, source.device,
                      fmt::format("{} networks to learn from, at least {} are needed",
                                  chosen.size(), kLeastNetworks));
  PredictorData data = described_by(source, dataset.target.name);
  data.embedding = options.embedding;
  data.hidden = options.hidden;
  data.layers = options.layers;
  for (size_t q = 0; q < lessons.size(); ++q)
    data.quantities.push_back(quantity_data(dataset, lessons[q], chosen, q));
  survey(dataset, lessons, chosen, data);
  if (!data.range.leverage.empty()) learn_errors(dataset, lessons, chosen, data);

  const nn::Batch batch = lesson_batch(dataset, lessons, chosen, data, options.label_weight);
  std::vector<int32_t> graphs(chosen.size());
  for (size_t i = 0; i < graphs.size(); ++i) graphs[i] = static_cast<int32_t>(i);
  nn::TrainOptions trainer;
  trainer.epochs = options.epochs;
  trainer.batch_graphs = options.batch_graphs;
  trainer.learning_rate = options.learning_rate;
  trainer.threads = options.threads;
  for (int member = 0; member < options.members; ++member) {
    nn::ModelConfig config = model_config(data);
    config.seed = options.seed * 1000 + static_cast<uint64_t>(member);
    trainer.seed = config.seed;
    EDGESAGE_ASSIGN_OR_RETURN(nn::Model model, nn::Model::create(config));
    const auto report = [&](const nn::EpochReport& epoch) {
      if (!progress) return;
      const int epochs_left = (options.members - member) * options.epochs - epoch.epoch;
      progress({member + 1, options.members, epoch.epoch, epoch.epochs, epoch.loss, epoch.log_error,
                static_cast<double>(epoch.nodes) / std::max(1e-9, epoch.seconds),
                epochs_left * epoch.seconds});
    };
    EDGESAGE_ASSIGN_OR_RETURN(const nn::TrainReport trained,
                              nn::train(model, batch, graphs, trainer, report, stop));
    if (trained.stopped)
      return make_error(ErrorCode::kInvalidArgument, source.device, "teaching was interrupted");
    data.members.emplace_back(model.parameters().begin(), model.parameters().end());
  }
  data.facts = facts_json(dataset, lessons, chosen, options);
  look_at_answers(dataset, lessons, chosen, data);
  return data;
}

}  // namespace edgesage
