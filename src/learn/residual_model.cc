#include "src/learn/residual_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace edgesage {
namespace {

// A level that all share, and what differs with the widths: of a mean squared distance.
constexpr double kSharedLevel = 0.6, kLength = 0.35;
constexpr double kNoise = 0.003;          // of a measurement, in log
constexpr double kLeastDeviation = 0.01;  // of residuals

}  // namespace

double ResidualModel::covariance(std::span<const double> a, std::span<const double> b) const {
  double distance = 0;
  for (size_t i = 0; i < a.size(); ++i) distance += (a[i] - b[i]) * (a[i] - b[i]);
  distance /= static_cast<double>(std::max<size_t>(a.size(), 1));
  return kSharedLevel + (1 - kSharedLevel) * std::exp(-distance / (2 * kLength * kLength));
}

void ResidualModel::add(std::vector<double> where, double log_ratio) {
  if (!where_.empty() && where.size() != where_.front().size()) return;
  where_.push_back(std::move(where));
  log_ratio_.push_back(log_ratio);
  fit();
}

void ResidualModel::fit() {
  const size_t n = where_.size();
  double square = kLeastDeviation * kLeastDeviation;
  for (const double ratio : log_ratio_) square += ratio * ratio / static_cast<double>(n);
  variance_ = square;
  factor_.assign(n * n, 0.0);
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j <= i; ++j) {
      double sum = covariance(where_[i], where_[j]);
      if (i == j) sum += kNoise * kNoise / variance_ + 1e-9;
      for (size_t k = 0; k < j; ++k) sum -= factor_[i * n + k] * factor_[j * n + k];
      factor_[i * n + j] = i == j ? std::sqrt(std::max(sum, 1e-12)) : sum / factor_[j * n + j];
    }
  weights_ = log_ratio_;
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < i; ++k) weights_[i] -= factor_[i * n + k] * weights_[k];
    weights_[i] /= factor_[i * n + i];
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k) weights_[i] -= factor_[k * n + i] * weights_[k];
    weights_[i] /= factor_[i * n + i];
  }
}

ResidualAnswer ResidualModel::at(std::span<const double> where, double prior_deviation) const {
  const size_t n = where_.size();
  if (n == 0 || where.size() != where_.front().size()) return {0, prior_deviation};
  std::vector<double> known(n);
  double factor = 0, explained = 0;
  for (size_t i = 0; i < n; ++i) {
    known[i] = covariance(where_[i], where);
    factor += known[i] * weights_[i];
  }
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < i; ++k) known[i] -= factor_[i * n + k] * known[k];
    known[i] /= factor_[i * n + i];
    explained += known[i] * known[i];
  }
  return {factor, prior_deviation * std::sqrt(std::clamp(1 - explained, 0.0, 1.0))};
}

Json ResidualModel::to_json() const {
  Json points = Json::array();
  for (size_t i = 0; i < where_.size(); ++i)
    points.push_back({{"where", where_[i]}, {"log_ratio", log_ratio_[i]}});
  return points;
}

ResidualModel ResidualModel::from_json(const Json& json) {
  ResidualModel model;
  if (!json.is_array()) return model;
  for (const Json& point : json) {
    const auto where = point.find("where");
    if (where == point.end() || !where->is_array()) continue;
    std::vector<double> shares;
    for (const Json& share : *where) shares.push_back(share.is_number() ? share.get<double>() : 0);
    if (!model.where_.empty() && shares.size() != model.where_.front().size()) continue;
    model.where_.push_back(std::move(shares));
    model.log_ratio_.push_back(json_number(point, "log_ratio", 0));
  }
  if (!model.where_.empty()) model.fit();
  return model;
}

}  // namespace edgesage
