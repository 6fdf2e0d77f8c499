#include "src/learn/calibrate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "src/base/rng.h"
#include "src/devices/statistics.h"
#include "src/learn/choose.h"
#include "src/learn/few_shot_protocol.h"
#include "src/learn/metrics.h"
#include "src/predict/predictor.h"

namespace edgesage {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : quantile(values, 0.5);
}

double relative(double log_error) { return std::abs(std::expm1(log_error)); }

// Whether each label lies in the interval that the others give, for one level.
double coverage_without_itself(std::span<const double> residuals, double level) {
  size_t inside = 0;
  for (size_t i = 0; i < residuals.size(); ++i) {
    std::vector<double> others;
    for (size_t j = 0; j < residuals.size(); ++j)
      if (j != i) others.push_back(residuals[j]);
    std::sort(others.begin(), others.end());
    const double rank = std::ceil(static_cast<double>(others.size() + 1) * level);
    inside += rank > static_cast<double>(others.size()) ||
                      residuals[i] <= others[static_cast<size_t>(rank) - 1]
                  ? 1
                  : 0;
  }
  return static_cast<double>(inside) / static_cast<double>(residuals.size());
}

void fill_report(const PricedPool& priced, std::span<const size_t> networks,
                 std::span<const double> y, LearntQuantity& learnt) {
  CalibratedQuantity& report = learnt.report;
  std::vector<double> truth, predicted, residuals;
  for (size_t i = 0; i < y.size(); ++i) {
    truth.push_back(std::exp(y[i]));
    predicted.push_back(std::exp(learnt.fit.held_out[i]));
    residuals.push_back(std::abs(learnt.fit.held_out[i] - y[i]));
    const Example& example = priced.pool.dataset.examples[networks[i]];
    report.networks.push_back(
        {example.name, example.space, truth[i], predicted[i], residuals[i] <= learnt.widths[2]});
  }
  const Accuracy held_out = accuracy(truth, predicted);
  report.labels = static_cast<int64_t>(y.size());
  report.mape = 100 * held_out.mape;
  report.median_ape = 100 * held_out.median_ape;
  report.p95_ape = 100 * held_out.p95_ape;
  report.within_10 = 100 * held_out.within_10;
  if (std::isfinite(held_out.spearman)) report.spearman = held_out.spearman;
  report.smoother_share = learnt.fit.smoother_share;
  for (size_t level = 0; level < std::size(kLevels); ++level) {
    report.levels.push_back(100 * kLevels[level]);
    report.coverage.push_back(100 * coverage_without_itself(residuals, kLevels[level]));
    const double width = learnt.widths[level];
    report.half_width.push_back(std::isfinite(width) ? std::optional(100 * std::expm1(width))
                                                     : std::nullopt);
  }
  std::stable_sort(report.networks.begin(), report.networks.end(),
                   [](const CalibratedNetwork& a, const CalibratedNetwork& b) {
                     return std::abs(std::log(a.held_out / a.measured)) >
                            std::abs(std::log(b.held_out / b.measured));
                   });
}

FewShotOptions few_shot_options(const CalibrateOptions& options) {
  FewShotOptions few = options.few_shot;
  few.closed_form = options.closed_form;
  few.threads = options.threads;
  return few;
}

// Networks that have a label of the quantity, and its logarithm.
struct KnownLabels {
  std::vector<size_t> networks;
  std::vector<double> y;
};

KnownLabels known_labels(const PoolLabels& labels, size_t quantity) {
  KnownLabels known;
  for (size_t i = 0; i < labels.network.size(); ++i) {
    if (std::isnan(labels.log_value[quantity][i])) continue;
    known.networks.push_back(labels.network[i]);
    known.y.push_back(labels.log_value[quantity][i]);
  }
  return known;
}

// Fits on the first labels of a shuffled order, judged on the rest; the last point is the
// cross-validation of all.
Status add_curve(const PricedPool& priced, size_t quantity, std::span<const size_t> networks,
                 std::span<const double> y, const CalibrateOptions& options,
                 LearntQuantity& learnt) {
  std::vector<size_t> order(y.size());
  std::iota(order.begin(), order.end(), size_t{0});
  Rng(priced.libraries[quantity].seed, "learning curve").shuffle(order);
  FewShotOptions few = few_shot_options(options);
  few.fixed_share = learnt.fit.smoother_share;
  few.folds = 0;  // the rest of the labels judges
  std::vector<double> counts, errors;
  for (const double part : {0.25, 0.5, 0.75}) {
    const auto n = static_cast<size_t>(part * static_cast<double>(y.size()));
    if (n < 10 || y.size() - n < 5) continue;
    std::vector<size_t> some;
    std::vector<double> labels, rest;
    for (size_t i = 0; i < n; ++i) {
      some.push_back(networks[order[i]]);
      labels.push_back(y[order[i]]);
    }
    EDGESAGE_ASSIGN_OR_RETURN(const FewShotFit fit,
                              fit_few_shot(priced.pool.few_shot[quantity],
                                           priced.libraries[quantity], some, labels, few));
    size_t within = 0;
    for (size_t i = n; i < y.size(); ++i) {
      const double error = fit.log_cost[networks[order[i]]] - y[order[i]];
      rest.push_back(relative(error));
      within += rest.back() <= 0.1 ? 1 : 0;
    }
    counts.push_back(static_cast<double>(n));
    errors.push_back(median_of(rest));
    learnt.report.curve.push_back(
        {static_cast<int64_t>(n), 100 * errors.back(),
         100 * static_cast<double>(within) / static_cast<double>(rest.size())});
  }
  counts.push_back(static_cast<double>(y.size()));
  errors.push_back(learnt.report.median_ape / 100);
  learnt.report.curve.push_back(
      {learnt.report.labels, learnt.report.median_ape, learnt.report.within_10});
  const Outlook after = outlook(counts, errors);
  learnt.report.more = after.more;
  learnt.report.median_ape_after = 100 * after.error_after;
  learnt.report.enough = after.stop;
  return {};
}

}  // namespace

PricedPool price_pool(NetworkPool pool, int32_t devices, uint64_t seed, int threads) {
  PricedPool priced;
  priced.pool = std::move(pool);
  for (const FewShotSet& set : priced.pool.few_shot)
    priced.libraries.push_back(make_device_library(set, devices, seed, threads));
  std::map<std::string, size_t> spaces;
  for (const Example& example : priced.pool.dataset.examples)
    priced.space_of.push_back(spaces.emplace(example.space, spaces.size()).first->second);
  return priced;
}

PoolLabels labels_in_pool(const PricedPool& priced, std::span<const LabelRow> labels) {
  std::unordered_map<std::string, const LabelRow*> by_hash;
  for (const LabelRow& row : labels) by_hash.emplace(row.graph_hash, &row);
  PoolLabels found;
  found.log_value.resize(priced.pool.dataset.quantities.size());
  for (size_t i = 0; i < priced.pool.size(); ++i) {
    const auto it = by_hash.find(priced.pool.dataset.examples[i].graph_hash);
    if (it == by_hash.end()) continue;
    found.network.push_back(i);
    for (size_t q = 0; q < found.log_value.size(); ++q) {
      const auto& quantities = it->second->quantities;
      const auto value =
          quantities.find(std::string(quantity_name(priced.pool.dataset.quantities[q])));
      found.log_value[q].push_back(
          value != quantities.end() && value->second > 0 ? std::log(value->second) : kNaN);
    }
  }
  return found;
}

Result<std::vector<double>> unsure_of(const PricedPool& priced, size_t quantity,
                                      const PoolLabels& labels, const CalibrateOptions& options) {
  const auto [networks, y] = known_labels(labels, quantity);
  FewShotOptions few = few_shot_options(options);
  few.smoother = false;
  few.folds = 0;
  EDGESAGE_ASSIGN_OR_RETURN(
      FewShotFit fit,
      fit_few_shot(priced.pool.few_shot[quantity], priced.libraries[quantity], networks, y, few));
  return std::move(fit.log_sd);
}

Result<LearntQuantity> learn_quantity(const PricedPool& priced, size_t quantity,
                                      const PoolLabels& labels, const CalibrateOptions& options,
                                      bool with_curve) {
  const auto [networks, y] = known_labels(labels, quantity);
  const FewShotOptions few = few_shot_options(options);
  LearntQuantity learnt;
  EDGESAGE_ASSIGN_OR_RETURN(learnt.fit, fit_few_shot(priced.pool.few_shot[quantity],
                                                     priced.libraries[quantity], networks, y, few));
  learnt.widths = conformal_widths(learnt.fit.held_out, y);
  learnt.scaled_widths = conformal_widths(learnt.fit.held_out, y, learnt.fit.held_out_scale);
  learnt.report.name = quantity_name(priced.pool.dataset.quantities[quantity]);
  fill_report(priced, networks, y, learnt);
  if (with_curve)
    EDGESAGE_RETURN_IF_ERROR(add_curve(priced, quantity, networks, y, options, learnt));
  return learnt;
}

Result<PredictorData> teach_from(const PricedPool& priced, std::span<LearntQuantity> learnt,
                                 const PoolLabels& labels, const LabelSource& source,
                                 const CalibrateOptions& options,
                                 const std::function<void(const TrainingProgress&)>& progress,
                                 const std::atomic<bool>* stop) {
  std::vector<Lesson> lessons;
  for (size_t q = 0; q < learnt.size(); ++q) {
    Lesson lesson{learnt[q].fit.log_cost, std::vector<double>(priced.pool.size(), kNaN),
                  learnt[q].scaled_widths, learnt[q].fit.error_scale};
    for (size_t i = 0; i < labels.network.size(); ++i)
      lesson.log_label[labels.network[i]] = labels.log_value[q][i];
    lessons.push_back(std::move(lesson));
  }
  TeachOptions teach = options.teach;
  teach.threads = options.threads;
  EDGESAGE_ASSIGN_OR_RETURN(PredictorData data, teach_predictor(priced.pool.dataset, lessons,
                                                                source, teach, progress, stop));
  EDGESAGE_ASSIGN_OR_RETURN(const Predictor predictor, Predictor::from(data));
  std::vector<std::vector<double>> differences(learnt.size());
  PredictWorkspace workspace;
  for (size_t i = 0; i < priced.pool.size(); ++i) {
    const Estimate& answer = predictor.estimate(priced.pool.dataset.examples[i].tensors, workspace);
    for (size_t q = 0; q < learnt.size(); ++q)
      differences[q].push_back(relative(std::log(answer.value[q]) - learnt[q].fit.log_cost[i]));
  }
  for (size_t q = 0; q < learnt.size(); ++q)
    learnt[q].report.taught_difference = 100 * median_of(differences[q]);
  return data;
}

}  // namespace edgesage
