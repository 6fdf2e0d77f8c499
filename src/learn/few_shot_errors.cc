#include "src/learn/few_shot_errors.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "src/devices/statistics.h"

namespace edgesage {
namespace {

constexpr Eigen::Index kComponents = 5;
constexpr double kRidge = 100;  // in labels: with a hundred of them half of what they say is taken
constexpr float kClip = 5;

// The leading components, each standardised over all networks and clipped.
Eigen::MatrixXd leading(const Points& components) {
  const Eigen::Index count = std::min(kComponents, components.cols());
  Eigen::MatrixXd columns = components.leftCols(count).cast<double>();
  for (Eigen::Index c = 0; c < count; ++c) {
    auto column = columns.col(c).array();
    column -= column.mean();
    const double deviation = std::sqrt(column.square().mean());
    if (deviation > 0) column /= deviation;
    column = column.max(-static_cast<double>(kClip)).min(static_cast<double>(kClip));
  }
  return columns;
}

}  // namespace

ErrorScale error_scale(const Points& components, std::span<const size_t> labelled,
                       std::span<const double> residuals, std::span<const double> held_out_sd,
                       std::span<const double> log_sd) {
  const Eigen::MatrixXd columns = leading(components);
  const auto labels = static_cast<Eigen::Index>(labelled.size());
  std::vector<double> sorted;
  for (const double residual : residuals) sorted.push_back(std::abs(residual));
  std::sort(sorted.begin(), sorted.end());
  // A residual that happens to be 0 is no sign of a sure answer.
  const double floor = std::max(1e-9, 0.2 * quantile(sorted, 0.5));
  Eigen::VectorXd ratio(labels);
  for (Eigen::Index i = 0; i < labels; ++i) {
    const auto at = static_cast<size_t>(i);
    ratio(i) = std::log((std::abs(residuals[at]) + floor) / std::max(1e-9, held_out_sd[at]));
  }
  const Eigen::MatrixXd rows =
      columns(std::vector<size_t>(labelled.begin(), labelled.end()), Eigen::all);
  const Eigen::RowVectorXd centre = rows.colwise().mean();
  const Eigen::MatrixXd x = rows.rowwise() - centre;
  Eigen::MatrixXd gram = x.transpose() * x;
  gram.diagonal().array() += kRidge;
  const Eigen::LLT<Eigen::MatrixXd> factor(gram);
  const Eigen::VectorXd away = ratio.array() - ratio.mean();
  const Eigen::VectorXd weights = factor.solve(x.transpose() * away);

  ErrorScale scale;
  for (size_t i = 0; i < log_sd.size(); ++i)
    scale.network.push_back(
        log_sd[i] * std::exp((columns.row(static_cast<Eigen::Index>(i)) - centre).dot(weights)));
  // Exact leave-one-out of the ridge.
  for (Eigen::Index i = 0; i < labels; ++i) {
    const Eigen::VectorXd row = x.row(i).transpose();
    const double own = std::min(0.9, row.dot(factor.solve(row)));
    const double fitted = row.dot(weights);
    const double without = (fitted - own * away(i)) / (1 - own);
    scale.label.push_back(held_out_sd[static_cast<size_t>(i)] * std::exp(without));
  }
  return scale;
}

}  // namespace edgesage
