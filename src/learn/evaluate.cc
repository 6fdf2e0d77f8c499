#include "src/learn/evaluate.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "src/base/parallel.h"
#include "src/devices/statistics.h"
#include "src/learn/controls.h"

namespace edgesage {
namespace {

constexpr size_t kWorst = 12;
constexpr double kOperatorShare = 0.01;

struct Tested {
  const Example* example = nullptr;
  Estimate estimate;
  RangeVerdict verdict;
};

Tested test_one(const Predictor& predictor, const Example& example) {
  Tested tested;
  tested.example = &example;
  tested.estimate = predictor.estimate(example.tensors);
  tested.verdict = judge_range(predictor.data().range, example.operator_signatures, example.tensors,
                               tested.estimate.spread);
  return tested;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return quantile(values, 0.5);
}

// The predictor's line of one space and quantity.
EvaluationRow own_row(const Predictor& predictor, std::span<const Tested* const> tested,
                      size_t quantity) {
  EvaluationRow row;
  row.model = "edgesage";
  std::vector<double> truth, predicted, widths, truth_in, predicted_in;
  double covered = 0, flagged = 0;
  for (const Tested* t : tested) {
    const double label = t->example->labels[quantity];
    const double value = t->estimate.value[quantity];
    const double half =
        predictor.half_width(quantity, 0.9, t->estimate.spread[quantity], t->verdict);
    truth.push_back(label);
    predicted.push_back(value);
    widths.push_back(std::expm1(half));
    covered += std::abs(std::log(value / label)) <= half ? 1 : 0;
    if (t->verdict.in_range) {
      truth_in.push_back(label);
      predicted_in.push_back(value);
    } else {
      flagged += 1;
    }
  }
  row.accuracy = accuracy(truth, predicted);
  const auto n = static_cast<double>(std::max<size_t>(1, truth.size()));
  row.coverage_90 = covered / n;
  row.flagged = flagged / n;
  row.half_width_90 = median(widths);
  row.mape_unflagged = accuracy(truth_in, predicted_in).mape;
  return row;
}

EvaluationRow control_row(const std::string& name, const Control& control,
                          std::span<const Tested* const> tested, size_t quantity) {
  EvaluationRow row;
  row.model = name;
  std::vector<double> truth, predicted;
  for (const Tested* t : tested) {
    truth.push_back(t->example->labels[quantity]);
    predicted.push_back(control.predict(*t->example));
  }
  row.accuracy = accuracy(truth, predicted);
  return row;
}

// Latency alone is attributed to operators.
AttributionRow attribution(std::span<const Tested* const> tested, size_t quantity) {
  AttributionRow row;
  std::vector<double> operator_ape;
  for (const Tested* t : tested) {
    const std::vector<double>& labels = t->example->operator_labels[quantity];
    const double total = t->example->labels[quantity];
    if (labels.empty()) continue;
    const double value = t->estimate.value[quantity];
    double misplaced = t->estimate.overhead[quantity] / value;
    for (size_t i = 0; i < labels.size(); ++i) {
      const double truth = std::isnan(labels[i]) ? 0.0 : labels[i];
      const double predicted = t->estimate.operators[quantity][i];
      misplaced += std::abs(predicted / value - truth / total);
      if (truth >= kOperatorShare * total)
        operator_ape.push_back(std::abs(predicted - truth) / truth);
    }
    row.misplaced_share += misplaced / 2;
    ++row.n;
  }
  if (row.n > 0) row.misplaced_share /= static_cast<double>(row.n);
  row.median_operator_ape = median(operator_ape);
  return row;
}

void add_worst(std::span<const Tested> tested, size_t quantity, Evaluation& evaluation,
               std::string_view name) {
  std::vector<const Tested*> order;
  for (const Tested& t : tested)
    if (!std::isnan(t.example->labels[quantity])) order.push_back(&t);
  const auto error = [&](const Tested* t) {
    return std::abs(std::log(t->estimate.value[quantity] / t->example->labels[quantity]));
  };
  std::sort(order.begin(), order.end(),
            [&](const Tested* a, const Tested* b) { return error(a) > error(b); });
  for (size_t i = 0; i < std::min(kWorst, order.size()); ++i)
    evaluation.worst.push_back({order[i]->example->name, std::string(name),
                                order[i]->example->labels[quantity],
                                order[i]->estimate.value[quantity]});
}

}  // namespace

Evaluation evaluate_predictor(const Predictor& predictor, const Dataset& dataset,
                              const SplitOptions& split, int threads) {
  const std::vector<size_t> test = examples_of(dataset, Part::kTest, split);
  std::vector<size_t> seen = examples_of(dataset, Part::kTrain, split);
  const std::vector<size_t> calibration = examples_of(dataset, Part::kCalibration, split);
  seen.insert(seen.end(), calibration.begin(), calibration.end());

  std::vector<Tested> tested(test.size());
  parallel_for(static_cast<int64_t>(test.size()), threads, [&](int64_t i) {
    const auto index = static_cast<size_t>(i);
    tested[index] = test_one(predictor, dataset.examples[test[index]]);
  });

  Evaluation evaluation;
  evaluation.test_networks = test.size();
  evaluation.left_out = static_cast<size_t>(dataset.left_out);
  std::set<std::string> spaces{"all"};
  for (const Tested& t : tested) spaces.insert(t.example->space);
  for (size_t q = 0; q < dataset.quantities.size(); ++q) {
    const std::string name(quantity_name(dataset.quantities[q]));
    std::vector<std::pair<std::string, std::unique_ptr<Control>>> controls;
    // Without networks to fit on (labels of test networks alone) the predictor stands by itself.
    const bool can_fit = std::any_of(seen.begin(), seen.end(), [&](size_t index) {
      return !std::isnan(dataset.examples[index].labels[q]);
    });
    for (const std::string& control : can_fit ? control_names() : std::span<const std::string>())
      controls.emplace_back(control, fit_control(control, dataset, seen, q));
    for (const std::string& space : spaces) {
      std::vector<const Tested*> members;
      for (const Tested& t : tested)
        if ((space == "all" || t.example->space == space) && !std::isnan(t.example->labels[q]))
          members.push_back(&t);
      if (members.empty()) continue;
      const auto add = [&](EvaluationRow row) {
        row.device = predictor.data().device;
        row.space = space;
        row.quantity = name;
        row.n_train = seen.size();
        row.seed = split.seed;
        evaluation.rows.push_back(std::move(row));
      };
      add(own_row(predictor, members, q));
      for (const auto& [control, fitted] : controls) add(control_row(control, *fitted, members, q));
      if (dataset.quantities[q] == Quantity::kLatencyMs) {
        AttributionRow row = attribution(members, q);
        row.device = predictor.data().device;
        row.space = space;
        if (row.n > 0) evaluation.attribution.push_back(std::move(row));
      }
    }
    add_worst(tested, q, evaluation, name);
    for (const Tested& t : tested)
      if (!std::isnan(t.example->labels[q]))
        evaluation.networks.push_back(
            predicted_network(predictor, *t.example, t.estimate, t.verdict, q));
  }
  return evaluation;
}

void ask_each(const Predictor& predictor, const FeatureFile& file,
              std::span<const uint32_t> networks,
              const std::function<void(const Example& example, const Estimate& estimate,
                                       const RangeVerdict& verdict)>& answered) {
  PredictWorkspace workspace;
  for (const uint32_t network : networks) {
    const Example example = file.example(network);
    const Estimate& estimate = predictor.estimate(example.tensors, workspace);
    answered(example, estimate,
             judge_range(predictor.data().range, example.operator_signatures, example.tensors,
                         estimate.spread));
  }
}

PredictedNetwork predicted_network(const Predictor& predictor, const Example& example,
                                   const Estimate& estimate, const RangeVerdict& verdict,
                                   size_t quantity) {
  PredictedNetwork network;
  network.name = example.name;
  network.space = example.space;
  std::set<std::string_view> kinds;
  for (const int32_t kind : example.tensors.kind)
    kinds.insert(row_kind_name(static_cast<RowKind>(kind)));
  for (const std::string_view kind : kinds) {
    if (!network.kinds.empty()) network.kinds += ' ';
    network.kinds += kind;
  }
  network.operators = example.tensors.operators;
  network.truth = example.labels[quantity];
  network.predicted = estimate.value[quantity];
  const double half = predictor.half_width(quantity, 0.9, estimate.spread[quantity], verdict);
  network.lo = network.predicted * std::exp(-half);
  network.hi = network.predicted * std::exp(half);
  network.in_range = verdict.in_range;
  network.quantity = quantity_name(predictor.quantities()[quantity]);
  return network;
}

void add_answer(const Predictor& predictor, const Estimate& estimate, const RangeVerdict& verdict,
                ModelAnswers& answers) {
  answers.values.push_back(estimate.value);
  answers.flagged.push_back(verdict.in_range ? 0 : 1);
  std::vector<double>& widths = answers.half_widths.emplace_back();
  for (size_t q = 0; q < estimate.value.size(); ++q)
    widths.push_back(predictor.half_width(q, 0.9, estimate.spread[q], verdict));
}

std::vector<Truth> truths_of(const FeatureFile& file, std::span<const uint32_t> networks) {
  std::vector<Truth> truths;
  for (const uint32_t network : networks) {
    const ExampleView view = file.view(network);
    truths.push_back({std::string(file.space_of(network)),
                      {view.labels.begin(), view.labels.end()},
                      view.cpu_operators});
  }
  return truths;
}

std::vector<EvaluationRow> accuracy_rows(std::span<const Truth> truths, const ModelAnswers& answers,
                                         std::span<const Quantity> quantities) {
  std::set<std::string> spaces{"all"};
  int64_t fallbacks = 0;
  for (const Truth& truth : truths) {
    spaces.insert(truth.space);
    fallbacks += truth.cpu_operators > 0 ? 1 : 0;
  }
  std::vector<std::string> placements{"all"};
  if (fallbacks > 0) placements.insert(placements.end(), {"placed", "fallback"});
  std::vector<EvaluationRow> rows;
  for (size_t q = 0; q < quantities.size(); ++q) {
    for (const std::string& space : spaces) {
      for (const std::string& placement : placements) {
        std::vector<double> truth, predicted, known, predicted_known, widths;
        double covered = 0, flagged = 0;
        for (size_t i = 0; i < truths.size(); ++i) {
          const bool fell_back = truths[i].cpu_operators > 0;
          if (space != "all" && truths[i].space != space) continue;
          if (placement != "all" && fell_back != (placement == "fallback")) continue;
          if (std::isnan(truths[i].labels[q]) || !(answers.values[i][q] > 0)) continue;
          const double label = truths[i].labels[q], value = answers.values[i][q];
          truth.push_back(label);
          predicted.push_back(value);
          if (answers.half_widths.empty()) continue;
          widths.push_back(std::expm1(answers.half_widths[i][q]));
          covered += std::abs(std::log(value / label)) <= answers.half_widths[i][q] ? 1 : 0;
          flagged += answers.flagged[i] != 0 ? 1 : 0;
          if (answers.flagged[i] != 0) continue;
          known.push_back(label);
          predicted_known.push_back(value);
        }
        if (truth.empty()) continue;
        EvaluationRow row;
        row.space = space;
        row.quantity = quantity_name(quantities[q]);
        row.model = answers.model;
        row.placement = placement;
        row.accuracy = accuracy(truth, predicted);
        if (!widths.empty()) {
          row.coverage_90 = covered / static_cast<double>(truth.size());
          row.flagged = flagged / static_cast<double>(truth.size());
          row.half_width_90 = median(std::move(widths));
          row.mape_unflagged = accuracy(known, predicted_known).mape;
        }
        rows.push_back(std::move(row));
      }
    }
  }
  return rows;
}

}  // namespace edgesage
