#include "src/learn/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "src/base/json.h"
#include "src/devices/statistics.h"
#include "src/nn/trainer.h"
#include "src/predict/predictor.h"
#include "src/predict/tensors_to_batch.h"

namespace edgesage {
namespace {

constexpr size_t kLeastTrain = 20;
constexpr size_t kLeastCalibration = 10;

nn::ReadOut read_out_of(Quantity quantity) {
  return quantity == Quantity::kLatencyMs ? nn::ReadOut::kSum : nn::ReadOut::kMax;
}

PredictedQuantity quantity_data(const Dataset& dataset, std::span<const size_t> train,
                                size_t quantity) {
  PredictedQuantity data;
  const Quantity kind = dataset.quantities[quantity];
  data.name = quantity_name(kind);
  data.readout = static_cast<int>(read_out_of(kind));
  std::vector<double> ratios, labels;
  size_t with_operators = 0;
  for (const size_t index : train) {
    const Example& example = dataset.examples[index];
    if (std::isnan(example.labels[quantity])) continue;
    labels.push_back(example.labels[quantity]);
    with_operators += example.operator_labels[quantity].empty() ? 0 : 1;
    // How the device compares with the closed form.
    const double ratio =
        std::log(example.labels[quantity] / prior_total(example.tensors, quantity, kind));
    if (std::isfinite(ratio)) ratios.push_back(ratio);
  }
  std::sort(ratios.begin(), ratios.end());
  std::sort(labels.begin(), labels.end());
  if (!ratios.empty()) data.log_offset = static_cast<float>(quantile(ratios, 0.5));
  data.node_labels = with_operators * 2 > labels.size();
  // What is outside the operators is small against the cheapest networks. A maximum has no such
  // part.
  if (!labels.empty() && kind == Quantity::kLatencyMs)
    data.overhead_scale = static_cast<float>(0.1 * quantile(labels, 0.02));
  return data;
}

void fit_normalisers(const Dataset& dataset, std::span<const size_t> train, PredictorData& data) {
  std::vector<float> nodes, globals;
  size_t node_columns = 0, global_columns = 0;
  for (const size_t index : train) {
    const GraphTensors& tensors = dataset.examples[index].tensors;
    node_columns = static_cast<size_t>(tensors.features);
    global_columns = tensors.globals.size();
    nodes.insert(nodes.end(), tensors.x.begin(), tensors.x.end());
    globals.insert(globals.end(), tensors.globals.begin(), tensors.globals.end());
  }
  data.node_normaliser = Normaliser::fit(nodes, node_columns);
  data.global_normaliser = Normaliser::fit(globals, global_columns);
}

// Training networks with their labels, as one batch.
nn::Batch training_batch(const Dataset& dataset, std::span<const size_t> train,
                         const PredictorData& data) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  nn::Batch batch;
  const size_t quantities = data.quantities.size();
  for (const size_t index : train) {
    const Example& example = dataset.examples[index];
    append_tensors(example.tensors, data, batch);
    for (const double label : example.labels)
      batch.log_total.push_back(std::isnan(label) ? kNaN : static_cast<float>(std::log(label)));
    const auto operators = static_cast<size_t>(example.tensors.operators);
    for (size_t op = 0; op < operators; ++op) {
      for (size_t q = 0; q < quantities; ++q) {
        const auto& labels = example.operator_labels[q];
        batch.op_label.push_back(labels.empty() ? kNaN : static_cast<float>(labels[op]));
      }
    }
  }
  return batch;
}

std::string facts_json(const Dataset& dataset, std::span<const size_t> train, size_t calibration,
                       const TrainingOptions& options) {
  std::map<std::string, int64_t> spaces;
  for (const size_t index : train) {
    const std::string& name = dataset.examples[index].name;
    ++spaces[name.substr(0, name.rfind('/'))];
  }
  Json facts;
  facts["training_networks"] = train.size();
  facts["calibration_networks"] = calibration;
  facts["spaces"] = spaces;
  facts["split"] = {{"by", "graph_hash"},
                    {"test", options.split.test},
                    {"calibration", options.split.calibration},
                    {"seed", options.split.seed}};
  facts["epochs"] = options.epochs;
  facts["members"] = options.members;
  facts["learning_rate"] = options.learning_rate;
  facts["node_weight"] = options.node_weight;
  facts["seed"] = options.seed;
  return to_text(facts);
}

// Intervals from the calibration networks: residuals in units of (spread + base), so that networks
// on which the members disagree get wider ones. Split conformal prediction (Papadopoulos et al.
// 2002; Lei et al. 2018).
void calibrate(const Dataset& dataset, std::span<const size_t> calibration, PredictorData& data) {
  auto predictor = Predictor::from(data);
  if (!predictor) return;
  const size_t quantities = data.quantities.size();
  std::vector<std::vector<double>> residuals(quantities), spreads(quantities);
  for (const size_t index : calibration) {
    const Example& example = dataset.examples[index];
    const Estimate answer = predictor->estimate(example.tensors);
    for (size_t q = 0; q < quantities; ++q) {
      if (std::isnan(example.labels[q])) continue;
      residuals[q].push_back(std::abs(std::log(answer.value[q] / example.labels[q])));
      spreads[q].push_back(static_cast<double>(answer.spread[q]));
    }
  }
  data.range.max_spread.assign(quantities, std::numeric_limits<float>::infinity());
  for (size_t q = 0; q < quantities; ++q) {
    if (residuals[q].empty()) continue;
    std::vector<double> sorted = spreads[q];
    std::sort(sorted.begin(), sorted.end());
    PredictedQuantity& quantity = data.quantities[q];
    quantity.base_spread = static_cast<float>(std::max(1e-4, quantile(sorted, 0.5)));
    // Twice the largest ordinary disagreement: a network that is unlike any in training.
    data.range.max_spread[q] = static_cast<float>(2.0 * quantile(sorted, 0.98));
    std::vector<double> scores;
    for (size_t i = 0; i < residuals[q].size(); ++i)
      scores.push_back(residuals[q][i] / (spreads[q][i] + quantity.base_spread));
    std::sort(scores.begin(), scores.end());
    const auto n = static_cast<double>(scores.size());
    for (const float level : {0.5F, 0.8F, 0.9F, 0.95F}) {
      // The finite-sample quantile of conformal prediction.
      const double rank = std::min(1.0, std::ceil((n + 1) * static_cast<double>(level)) / n);
      quantity.levels.push_back(level);
      quantity.widths.push_back(static_cast<float>(quantile(scores, rank)));
    }
  }
}

nn::TrainOptions trainer_options(const Dataset& dataset, const PredictorData& data,
                                 const TrainingOptions& options, int member) {
  nn::TrainOptions trainer;
  trainer.epochs = options.epochs;
  trainer.batch_graphs = options.batch_graphs;
  trainer.learning_rate = options.learning_rate;
  trainer.weight_decay = options.weight_decay;
  trainer.threads = options.threads;
  trainer.seed = options.seed * 1000 + static_cast<uint64_t>(member);
  for (size_t q = 0; q < dataset.quantities.size(); ++q)
    trainer.loss.node_weight.push_back(data.quantities[q].node_labels ? options.node_weight : 0.0);
  return trainer;
}

}  // namespace

Result<PredictorData> train_predictor(const Dataset& dataset, const LabelSource& source,
                                      const TrainingOptions& options,
                                      const std::function<void(const TrainingProgress&)>& progress,
                                      const std::atomic<bool>* stop) {
  std::vector<size_t> train = examples_of(dataset, Part::kTrain, options.split);
  const std::vector<size_t> calibration = examples_of(dataset, Part::kCalibration, options.split);
  if (options.max_train > 0 && train.size() > options.max_train) train.resize(options.max_train);
  if (train.size() < kLeastTrain || calibration.size() < kLeastCalibration)
    return make_error(
        ErrorCode::kInvalidArgument, source.device,
        fmt::format("{} networks to train on and {} to calibrate; at least {} and {} "
                    "are needed: annotate more",
                    train.size(), calibration.size(), kLeastTrain, kLeastCalibration));
  PredictorData data;
  data.device = source.device;
  data.runtime = source.runtime;
  data.runtime_version = source.runtime_version;
  data.target = dataset.target.name;
  data.statistic = source.statistic;
  data.host_fingerprint = source.host_fingerprint;
  data.host_description = source.host_description;
  data.threads = source.threads;
  data.embedding = options.embedding;
  data.hidden = options.hidden;
  data.layers = options.layers;
  for (size_t q = 0; q < dataset.quantities.size(); ++q)
    data.quantities.push_back(quantity_data(dataset, train, q));
  fit_normalisers(dataset, train, data);
  RangeBuilder range;
  for (const size_t index : train)
    range.add(dataset.examples[index].operator_signatures, dataset.examples[index].tensors);
  data.range = std::move(range).finish();

  const nn::Batch batch = training_batch(dataset, train, data);
  std::vector<int32_t> graphs(train.size());
  for (size_t i = 0; i < graphs.size(); ++i) graphs[i] = static_cast<int32_t>(i);
  for (int member = 0; member < options.members; ++member) {
    nn::ModelConfig config = model_config(data);
    config.dropout = options.dropout;
    config.seed = options.seed * 1000 + static_cast<uint64_t>(member);
    EDGESAGE_ASSIGN_OR_RETURN(nn::Model model, nn::Model::create(config));
    const auto report = [&](const nn::EpochReport& epoch) {
      if (!progress) return;
      const int epochs_left = (options.members - member) * options.epochs - epoch.epoch;
      progress({member + 1, options.members, epoch.epoch, epoch.epochs, epoch.loss, epoch.log_error,
                static_cast<double>(epoch.nodes) / std::max(1e-9, epoch.seconds),
                epochs_left * epoch.seconds});
    };
    EDGESAGE_ASSIGN_OR_RETURN(
        const nn::TrainReport trained,
        nn::train(model, batch, graphs, trainer_options(dataset, data, options, member), report,
                  stop));
    if (trained.stopped)
      return make_error(ErrorCode::kInvalidArgument, source.device, "training was interrupted");
    data.members.emplace_back(model.parameters().begin(), model.parameters().end());
  }
  data.facts = facts_json(dataset, train, calibration.size(), options);
  calibrate(dataset, calibration, data);
  return data;
}

}  // namespace edgesage
