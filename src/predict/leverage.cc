#include "src/predict/leverage.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

#include "src/lower/rows.h"

namespace edgesage {
namespace {

constexpr auto kKinds = static_cast<size_t>(RowKind::kCount);
constexpr double kRidge = 0.1;
// Kinds say more than sizes: a kind that was not measured has no price at all.
constexpr float kFeatureWeight = 0.3F;
constexpr float kClip = 6;
// An ordinary network is one of the nearest 98 of 100, with a fifth more.
constexpr double kOrdinary = 0.98, kMargin = 1.2;

// Kinds, then features as they are. Rows without a price weigh nothing, unless none has one.
std::vector<float> raw_point(const GraphTensors& tensors, size_t kinds) {
  const auto features = static_cast<size_t>(tensors.features);
  const auto quantities = static_cast<size_t>(std::max(1, tensors.quantities));
  const auto nodes = static_cast<size_t>(tensors.nodes);
  float most = -std::numeric_limits<float>::infinity();
  for (size_t n = 0; n < nodes; ++n) most = std::max(most, tensors.log_prior[n * quantities]);
  std::vector<float> point(kinds + features, 0.0F);
  float sum = 0;
  for (size_t n = 0; n < nodes; ++n) {
    const float share =
        std::isfinite(most) ? std::exp(tensors.log_prior[n * quantities] - most) : 1.0F;
    sum += share;
    // A kind of a later version is not known here; the verdict names it.
    if (const auto kind = static_cast<size_t>(tensors.kind[n]); kind < kinds) point[kind] += share;
    for (size_t f = 0; f < features; ++f) point[kinds + f] += share * tensors.x[n * features + f];
  }
  if (sum > 0)
    for (float& value : point) value /= sum;
  return point;
}

void normalise(const Leverage& leverage, std::vector<float>& point) {
  for (size_t f = 0; f < leverage.centre.size(); ++f) {
    float& value = point[static_cast<size_t>(leverage.kinds) + f];
    value = (value - leverage.centre[f]) * leverage.scale[f];
    value = kFeatureWeight * std::clamp(value, -kClip, kClip);
  }
}

double squared(const std::vector<float>& inverse, const std::vector<float>& point) {
  double sum = 0;
  size_t at = 0;
  for (size_t i = 0; i < point.size(); ++i) {
    double row = 0;
    for (size_t j = 0; j < i; ++j) row += static_cast<double>(inverse[at++] * point[j]);
    const auto own = static_cast<double>(point[i]);
    sum += own * (2 * row + static_cast<double>(inverse[at++]) * own);
  }
  return std::max(0.0, sum);
}

}  // namespace

bool Leverage::fits(size_t features) const {
  if (inverse.empty()) return true;
  const size_t width = static_cast<size_t>(std::max(0, kinds)) + features;
  const auto finite = [](const std::vector<float>& values) {
    return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
  };
  return kinds > 0 && centre.size() == features && scale.size() == features &&
         inverse.size() == width * (width + 1) / 2 && limit > 0 && std::isfinite(limit) &&
         finite(centre) && finite(scale) && finite(inverse);
}

double Leverage::of(const GraphTensors& tensors) const {
  if (empty()) return 0;
  return std::exp(static_cast<double>(features(tensors).back())) / static_cast<double>(limit);
}

std::vector<float> Leverage::features(const GraphTensors& tensors) const {
  constexpr double kLeast = 1e-9;
  std::vector<float> point = raw_point(tensors, static_cast<size_t>(kinds));
  normalise(*this, point);
  point.push_back(static_cast<float>(0.5 * std::log(std::max(kLeast, squared(inverse, point)))));
  return point;
}

double ErrorModel::scale(std::span<const float> features) const {
  if (empty() || features.size() + 1 != weights.size()) return 1;
  float sum = weights.back();
  for (size_t f = 0; f < features.size(); ++f) sum += weights[f] * features[f];
  return std::exp(static_cast<double>(std::clamp(sum, low, high)));
}

ErrorModel fit_error_model(std::span<const std::vector<float>> features,
                           std::span<const double> log_scales) {
  constexpr size_t kLeast = 20;
  constexpr double kErrorRidge = 30;
  // An extrapolation may say e times what the teacher ever said, not more.
  constexpr float kBeyond = 1;
  std::vector<size_t> known;
  for (size_t i = 0; i < log_scales.size(); ++i)
    if (std::isfinite(log_scales[i])) known.push_back(i);
  ErrorModel model;
  if (known.size() < kLeast) return model;
  const auto width = static_cast<Eigen::Index>(features[known[0]].size());
  Eigen::MatrixXd x(static_cast<Eigen::Index>(known.size()), width);
  Eigen::VectorXd y(x.rows());
  for (Eigen::Index i = 0; i < x.rows(); ++i) {
    const size_t network = known[static_cast<size_t>(i)];
    x.row(i) = Eigen::Map<const Eigen::RowVectorXf>(features[network].data(), width).cast<double>();
    y(i) = log_scales[network];
  }
  const Eigen::RowVectorXd centre = x.colwise().mean();
  x.rowwise() -= centre;
  Eigen::MatrixXd gram = x.transpose() * x;
  gram.diagonal().array() += kErrorRidge;
  const Eigen::VectorXd weights = gram.llt().solve(x.transpose() * (y.array() - y.mean()).matrix());
  for (const double weight : weights) model.weights.push_back(static_cast<float>(weight));
  model.weights.push_back(static_cast<float>(y.mean() - centre.dot(weights)));
  model.low = static_cast<float>(y.minCoeff());
  model.high = static_cast<float>(y.maxCoeff()) + kBeyond;
  return model;
}

void LeverageBuilder::add(const GraphTensors& tensors, bool measured) {
  features_ = static_cast<size_t>(tensors.features);
  (measured ? measured_ : others_).push_back(raw_point(tensors, kKinds));
}

Leverage LeverageBuilder::finish() const {
  Leverage leverage;
  if (measured_.empty()) return leverage;
  const size_t width = kKinds + features_;
  leverage.kinds = static_cast<int32_t>(kKinds);
  leverage.centre.resize(features_);
  leverage.scale.resize(features_);
  for (size_t f = 0; f < features_; ++f) {
    double sum = 0, squares = 0;
    const auto count = static_cast<double>(measured_.size() + others_.size());
    for (const auto* points : {&measured_, &others_})
      for (const auto& point : *points) sum += static_cast<double>(point[kKinds + f]);
    const double mean = sum / count;
    for (const auto* points : {&measured_, &others_})
      for (const auto& point : *points) {
        const double away = static_cast<double>(point[kKinds + f]) - mean;
        squares += away * away;
      }
    const double deviation = std::sqrt(squares / count);
    leverage.centre[f] = static_cast<float>(mean);
    leverage.scale[f] = static_cast<float>(1 / std::max(deviation, 1e-2));
  }

  Eigen::MatrixXd gram = kRidge * Eigen::MatrixXd::Identity(static_cast<Eigen::Index>(width),
                                                            static_cast<Eigen::Index>(width));
  std::vector<std::vector<float>> measured = measured_, others = others_;
  for (std::vector<float>& point : measured) {
    normalise(leverage, point);
    const Eigen::VectorXd x =
        Eigen::Map<const Eigen::VectorXf>(point.data(), static_cast<Eigen::Index>(width))
            .cast<double>();
    gram.selfadjointView<Eigen::Lower>().rankUpdate(x);
  }
  const Eigen::MatrixXd full = gram.selfadjointView<Eigen::Lower>();
  const Eigen::MatrixXd inverse = full.llt().solve(Eigen::MatrixXd::Identity(
      static_cast<Eigen::Index>(width), static_cast<Eigen::Index>(width)));
  for (Eigen::Index i = 0; i < inverse.rows(); ++i)
    for (Eigen::Index j = 0; j <= i; ++j)
      leverage.inverse.push_back(static_cast<float>(inverse(i, j)));

  std::vector<double> ordinary;
  for (std::vector<float>& point : others) {
    normalise(leverage, point);
    ordinary.push_back(std::sqrt(squared(leverage.inverse, point)));
  }
  for (const std::vector<float>& point : measured) {
    // As if it had not been measured (Sherman and Morrison).
    const double own = std::min(squared(leverage.inverse, point), 0.999);
    ordinary.push_back(std::sqrt(own / (1 - own)));
  }
  std::sort(ordinary.begin(), ordinary.end());
  const auto at = static_cast<size_t>(kOrdinary * static_cast<double>(ordinary.size() - 1));
  leverage.limit = static_cast<float>(std::max(1e-6, kMargin * ordinary[at]));
  return leverage;
}

}  // namespace edgesage
