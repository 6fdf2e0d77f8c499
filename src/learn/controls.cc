#include "src/learn/controls.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "src/devices/statistics.h"
#include "src/features/feature_table.h"
#include "src/learn/boosting.h"
#include "src/learn/nnls.h"

namespace edgesage {
namespace {

using Columns = std::function<std::vector<double>(const Example&)>;

size_t column(std::string_view name) {
  const auto table = node_features();
  const auto it = std::find_if(table.begin(), table.end(),
                               [&](const NodeFeature& feature) { return feature.name == name; });
  return static_cast<size_t>(it - table.begin());
}

double feature(const GraphTensors& tensors, size_t node, size_t index) {
  return static_cast<double>(tensors.x[node * static_cast<size_t>(tensors.features) + index]);
}

std::vector<double> linear_columns(const Example& example) {
  static const size_t macs = column("log_macs"), ifm = column("log_ifm_bytes"),
                      ofm = column("log_ofm_bytes"), weights = column("log_weights_bytes");
  std::vector<double> sums(4, 0.0);
  for (size_t i = 0; i < static_cast<size_t>(example.tensors.nodes); ++i) {
    sums[0] += std::expm1(feature(example.tensors, i, macs));
    sums[1] +=
        std::expm1(feature(example.tensors, i, ifm)) + std::expm1(feature(example.tensors, i, ofm));
    sums[2] += std::expm1(feature(example.tensors, i, weights));
  }
  sums[3] = 1;
  return sums;
}

// Per row kind: count, MACs with channels rounded up to 16, activation bytes, weight bytes.
std::vector<double> additive_columns(const Example& example) {
  static const size_t macs = column("log_macs"), ifm = column("log_ifm_bytes"),
                      ofm = column("log_ofm_bytes"), weights = column("log_weights_bytes"),
                      waste_in = column("waste_ifm_c_16"), waste_out = column("waste_ofm_c_16");
  constexpr size_t kPerKind = 4;
  std::vector<double> sums(static_cast<size_t>(RowKind::kCount) * kPerKind + 1, 0.0);
  for (size_t i = 0; i < static_cast<size_t>(example.tensors.nodes); ++i) {
    const auto at = [&](size_t index) { return feature(example.tensors, i, index); };
    double* kind = &sums[static_cast<size_t>(example.tensors.kind[i]) * kPerKind];
    kind[0] += 1;
    kind[1] += std::expm1(at(macs)) * std::exp(at(waste_in) + at(waste_out));
    kind[2] += std::expm1(at(ifm)) + std::expm1(at(ofm));
    kind[3] += std::expm1(at(weights));
  }
  sums.back() = 1;
  return sums;
}

std::vector<float> boosting_columns(const Example& example) {
  static const size_t macs = column("log_macs");
  const auto kinds = static_cast<size_t>(RowKind::kCount);
  std::vector<float> values = example.tensors.globals;
  std::vector<double> counts(kinds, 0.0), sums(kinds, 0.0);
  for (size_t i = 0; i < static_cast<size_t>(example.tensors.nodes); ++i) {
    const auto kind = static_cast<size_t>(example.tensors.kind[i]);
    counts[kind] += 1;
    sums[kind] += std::expm1(feature(example.tensors, i, macs));
  }
  for (size_t k = 0; k < kinds; ++k) {
    values.push_back(static_cast<float>(counts[k]));
    values.push_back(static_cast<float>(std::log1p(sums[k])));
  }
  for (const double value : linear_columns(example))
    values.push_back(static_cast<float>(std::log1p(value)));
  return values;
}

class ConstantControl final : public Control {
 public:
  // The weighted median with weights 1/y minimises the mean absolute percentage error.
  explicit ConstantControl(std::vector<double> labels) {
    std::sort(labels.begin(), labels.end());
    double total = 0, passed = 0;
    for (const double label : labels) total += 1 / label;
    for (const double label : labels) {
      passed += 1 / label;
      value_ = label;
      if (passed >= total / 2) break;
    }
  }
  [[nodiscard]] double predict(const Example&) const override { return value_; }

 private:
  double value_ = 0;
};

class NnlsControl final : public Control {
 public:
  NnlsControl(Columns columns, std::span<const Example* const> examples,
              std::span<const double> labels)
      : columns_(std::move(columns)) {
    std::vector<double> x;
    size_t width = 0;
    for (const Example* example : examples) {
      const std::vector<double> row = columns_(*example);
      width = row.size();
      x.insert(x.end(), row.begin(), row.end());
    }
    weights_ = fit_relative_nnls(x, width, labels);
  }
  [[nodiscard]] double predict(const Example& example) const override {
    const std::vector<double> row = columns_(example);
    double value = 0;
    for (size_t i = 0; i < row.size(); ++i) value += row[i] * weights_[i];
    return value;
  }

 private:
  Columns columns_;
  std::vector<double> weights_;
};

class BoostingControl final : public Control {
 public:
  BoostingControl(std::span<const Example* const> examples, std::span<const double> labels) {
    std::vector<float> x;
    std::vector<double> y;
    size_t width = 0;
    for (size_t i = 0; i < examples.size(); ++i) {
      const std::vector<float> row = boosting_columns(*examples[i]);
      width = row.size();
      x.insert(x.end(), row.begin(), row.end());
      y.push_back(std::log(labels[i]));
    }
    trees_ = BoostedTrees::fit(x, width, y);
  }
  [[nodiscard]] double predict(const Example& example) const override {
    return std::exp(trees_.predict(boosting_columns(example)));
  }

 private:
  BoostedTrees trees_;
};

class ClosedFormControl final : public Control {
 public:
  ClosedFormControl(std::span<const Example* const> examples, std::span<const double> labels,
                    size_t column, Quantity quantity)
      : column_(column), quantity_(quantity) {
    std::vector<double> ratios;
    for (size_t i = 0; i < examples.size(); ++i) {
      const double prior = prior_total(examples[i]->tensors, column, quantity);
      if (prior > 0) ratios.push_back(labels[i] / prior);
    }
    std::sort(ratios.begin(), ratios.end());
    if (!ratios.empty()) speed_ = quantile(ratios, 0.5);
  }
  [[nodiscard]] double predict(const Example& example) const override {
    return speed_ * prior_total(example.tensors, column_, quantity_);
  }

 private:
  size_t column_;
  Quantity quantity_;
  double speed_ = 1;
};

const std::array<std::string, 5> kNames{"constant", "linear", "additive", "boosting",
                                        "closed-form"};

}  // namespace

std::span<const std::string> control_names() { return kNames; }

std::unique_ptr<Control> fit_control(const std::string& name, const Dataset& dataset,
                                     std::span<const size_t> train, size_t quantity) {
  std::vector<const Example*> examples;
  std::vector<double> labels;
  for (const size_t index : train) {
    const Example& example = dataset.examples[index];
    if (std::isnan(example.labels[quantity])) continue;
    examples.push_back(&example);
    labels.push_back(example.labels[quantity]);
  }
  if (name == kNames[0]) return std::make_unique<ConstantControl>(labels);
  if (name == kNames[1]) return std::make_unique<NnlsControl>(linear_columns, examples, labels);
  if (name == kNames[2]) return std::make_unique<NnlsControl>(additive_columns, examples, labels);
  if (name == kNames[3]) return std::make_unique<BoostingControl>(examples, labels);
  const auto column = static_cast<size_t>(first_prior_columns(dataset.quantities)[quantity]);
  return std::make_unique<ClosedFormControl>(examples, labels, column,
                                             dataset.quantities[quantity]);
}

}  // namespace edgesage
