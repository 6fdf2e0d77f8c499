#include "src/app/training_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "src/app/accuracy_row.h"
#include "src/base/json.h"
#include "src/learn/evaluate.h"
#include "src/learn/metrics.h"

namespace edgesage::app {
namespace {

// Operators of a network, up to and with.
constexpr std::array<int32_t, 7> kSizes{5, 10, 20, 40, 80, 160, 320};

std::string size_name(size_t group) {
  const int32_t first = group == 0 ? 1 : kSizes[group - 1] + 1;
  return group == kSizes.size() ? fmt::format("{} and more", first)
                                : fmt::format("{} to {}", first, kSizes[group]);
}

std::vector<std::optional<double>> percents(const std::vector<double>& shares) {
  std::vector<std::optional<double>> out;
  for (const double share : shares)
    out.push_back(std::isfinite(share) ? std::optional(100 * share) : std::nullopt);
  return out;
}

// Networks, and operators of a kind, that are judged together.
struct Group {
  std::vector<double> truth, predicted;
  int64_t operators = 0;
  double cost = 0, misjudged = 0;  // of the operators

  void add(double label, double value) {
    truth.push_back(label);
    predicted.push_back(value);
  }

  [[nodiscard]] ErrorGroup finish(std::string name, double all_cost) const {
    const Accuracy judged = accuracy(truth, predicted);
    ErrorGroup group{.name = std::move(name),
                     .networks = static_cast<int64_t>(judged.count),
                     .mape = 100 * judged.mape,
                     .median_ape = 100 * judged.median_ape};
    group.operators = operators;
    if (cost > 0) {
      group.cost_share = 100 * cost / all_cost;
      group.operator_error = 100 * misjudged / cost;
    }
    return group;
  }
};

// One quantity on the networks held out.
class QuantityJudge {
 public:
  explicit QuantityJudge(size_t quantity) : quantity_(quantity) {}

  void add(const Predictor& predictor, const Example& example, const Estimate& estimate,
           const RangeVerdict& verdict) {
    const double label = example.labels[quantity_], value = estimate.value[quantity_];
    if (std::isnan(label) || !(value > 0)) return;
    networks_.push_back(predicted_network(predictor, example, estimate, verdict, quantity_));
    const auto size = std::ranges::lower_bound(kSizes, example.tensors.operators);
    sizes_[static_cast<size_t>(size - kSizes.begin())].add(label, value);
    std::set<int32_t> kinds(example.tensors.kind.begin(), example.tensors.kind.end());
    for (const int32_t kind : kinds) kinds_[kind].add(label, value);
    add_operators(example, estimate);
  }

  TrainedQuantity finish(std::string name) && {
    TrainedQuantity out{.name = std::move(name), .networks = std::move(networks_)};
    std::ranges::stable_sort(out.networks, std::greater{}, [](const PredictedNetwork& network) {
      return std::abs(std::log(network.predicted / network.truth));
    });
    double cost = 0;
    for (const auto& [kind, group] : kinds_) cost += group.cost;
    for (const auto& [size, group] : sizes_) out.sizes.push_back(group.finish(size_name(size), 0));
    for (const auto& [kind, group] : kinds_)
      out.kinds.push_back(
          group.finish(std::string(row_kind_name(static_cast<RowKind>(kind))), cost));
    std::ranges::stable_sort(out.kinds, std::greater{}, [](const ErrorGroup& group) {
      return std::pair(group.cost_share.value_or(0), group.networks);
    });
    return out;
  }

 private:
  // An operator is of the kind of its first row.
  void add_operators(const Example& example, const Estimate& estimate) {
    const std::vector<double>& labels = example.operator_labels[quantity_];
    if (labels.empty()) return;
    std::vector<int32_t> kind_of(labels.size(), -1);
    const GraphTensors& tensors = example.tensors;
    for (size_t node = 0; node < tensors.op.size(); ++node) {
      int32_t& kind = kind_of[static_cast<size_t>(tensors.op[node])];
      if (kind < 0) kind = tensors.kind[node];
    }
    for (size_t op = 0; op < labels.size(); ++op) {
      if (kind_of[op] < 0 || std::isnan(labels[op])) continue;
      Group& group = kinds_[kind_of[op]];
      ++group.operators;
      group.cost += labels[op];
      group.misjudged += std::abs(estimate.operators[quantity_][op] - labels[op]);
    }
  }

  size_t quantity_;
  std::vector<PredictedNetwork> networks_;
  std::map<size_t, Group> sizes_;
  std::map<int32_t, Group> kinds_;
};

std::vector<std::pair<std::string, std::string>> settings_of(const FeatureFile& features,
                                                             const PredictorData& data) {
  std::vector<std::pair<std::string, std::string>> settings{
      {"device", data.device},
      {"runtime", data.runtime + ' ' + data.runtime_version},
      {"statistic", data.statistic},
      {"lowered for", data.target},
      {"labels", features.origin().labels_hash}};
  if (!data.energy_table.empty())
    settings.emplace_back("energy", fmt::format("modelled, costs '{}' ({})", data.energy_table,
                                                data.energy_table_hash));
  settings.emplace_back("network", fmt::format("{} layers of {}", data.layers, data.hidden));
  // Spaces are in the table.
  if (const auto facts = parse_json(data.facts, data.device, ErrorCode::kBadStore))
    for (const auto& [name, value] : facts->items())
      if (name != "spaces")
        settings.emplace_back(name, value.is_string() ? value.get<std::string>() : to_text(value));
  return settings;
}

}  // namespace

TrainingEpoch to_public(const EpochErrors& errors) {
  return {.member = errors.member,
          .epoch = errors.epoch,
          .loss = errors.loss,
          .validation_loss = errors.validation_loss,
          .train_error = percents(errors.train_error),
          .validation_error = percents(errors.validation_error)};
}

TrainingReport report_training(const FeatureFile& features, const Predictor& predictor,
                               const TrainRequest& request, std::vector<TrainingEpoch> epochs) {
  TrainingReport report;
  report.file = request.report;
  report.command = request.command;
  report.settings = settings_of(features, predictor.data());
  report.epochs = std::move(epochs);
  std::vector<uint32_t> test;
  for (size_t i = 0; i < features.size(); ++i)
    if (part_of(features.view(i).graph_hash, request.training.split) == Part::kTest)
      test.push_back(static_cast<uint32_t>(i));
  const std::vector<Quantity>& quantities = features.quantities();
  std::vector<QuantityJudge> judges;
  for (size_t q = 0; q < quantities.size(); ++q) judges.emplace_back(q);
  ModelAnswers answers{.model = "edgesage"};
  ask_each(predictor, features, test,
           [&](const Example& example, const Estimate& estimate, const RangeVerdict& verdict) {
             add_answer(predictor, estimate, verdict, answers);
             for (QuantityJudge& judge : judges) judge.add(predictor, example, estimate, verdict);
           });
  for (const EvaluationRow& row : accuracy_rows(truths_of(features, test), answers, quantities)) {
    if (row.placement != "all") continue;
    report.spaces.push_back(to_public(row));
    report.spaces.back().device = predictor.data().device;
  }
  for (size_t q = 0; q < quantities.size(); ++q)
    report.quantities.push_back(
        std::move(judges[q]).finish(std::string(quantity_name(quantities[q]))));
  return report;
}

}  // namespace edgesage::app
