#include "src/predict/ensemble_smoother.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "src/base/rng.h"

namespace edgesage {
namespace {

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Labels x devices: label minus price, each device at its own best level.
Eigen::MatrixXd residuals(std::span<const float> log_costs, size_t devices,
                          std::span<const double> log_labels) {
  const auto rows = static_cast<Eigen::Index>(log_labels.size());
  const auto columns = static_cast<Eigen::Index>(devices);
  const Eigen::VectorXd y = Eigen::Map<const Eigen::VectorXd>(log_labels.data(), rows);
  Eigen::MatrixXd result =
      -Eigen::Map<const RowMajor>(log_costs.data(), rows, columns).cast<double>();
  result.colwise() += y;
  std::vector<double> column(log_labels.size());
  for (Eigen::Index j = 0; j < columns; ++j) {
    std::copy_n(result.col(j).data(), rows, column.begin());
    result.col(j).array() -= median_of(column);
  }
  return result;
}

// Weight of each label by the ensemble's median residual.
Eigen::VectorXd label_weights(const Eigen::MatrixXd& residual, double sigma) {
  std::vector<double> middle;
  for (Eigen::Index i = 0; i < residual.rows(); ++i) {
    const Eigen::VectorXd row = residual.row(i);
    middle.push_back(median_of({row.data(), row.data() + row.size()}));
  }
  std::vector<double> absolute;
  for (const double value : middle) absolute.push_back(std::abs(value));
  const double scale = median_of(absolute) + sigma;
  Eigen::VectorXd weights(residual.rows());
  for (Eigen::Index i = 0; i < residual.rows(); ++i) {
    const double z = middle[static_cast<size_t>(i)] / scale;
    weights(i) = 5.0 / (4.0 + z * z);
  }
  return weights;
}

}  // namespace

std::vector<double> misfit(std::span<const float> log_costs, size_t devices,
                           std::span<const double> log_labels) {
  const Eigen::VectorXd mean =
      residuals(log_costs, devices, log_labels).cwiseAbs().colwise().mean();
  return {mean.data(), mean.data() + mean.size()};
}

void smooth_devices(std::vector<float>& z, int32_t parameters, std::span<const double> log_labels,
                    const DevicePrices& prices, const SmootherOptions& options) {
  const auto devices = static_cast<Eigen::Index>(z.size()) / parameters;
  const auto labels = static_cast<Eigen::Index>(log_labels.size());
  if (devices < 2 || labels < 2) return;
  Eigen::Map<RowMajor> ensemble(z.data(), devices, parameters);
  Rng rng(options.seed, "smoother");
  Eigen::VectorXd weights = Eigen::VectorXd::Ones(labels);
  const auto bound = static_cast<float>(options.bound);
  for (int step = 0; step < options.steps; ++step) {
    const Eigen::MatrixXd residual = residuals(prices(z), static_cast<size_t>(devices), log_labels);
    if (step > 0) weights = label_weights(residual, options.sigma);
    const Eigen::VectorXd noise =
        options.sigma * options.sigma * static_cast<double>(options.steps) / weights.array();
    // Price minus level is label minus residual, so its deviations are the residual's, negated.
    const Eigen::MatrixXd deviation = -(residual.colwise() - residual.rowwise().mean());
    const double per_device = 1.0 / static_cast<double>(devices - 1);
    Eigen::MatrixXd spread = per_device * (deviation * deviation.transpose());
    spread.diagonal() += noise;
    Eigen::MatrixXd wanted = residual;
    const Eigen::VectorXd noise_deviation = noise.cwiseSqrt();
    for (Eigen::Index j = 0; j < devices; ++j)
      for (Eigen::Index i = 0; i < labels; ++i) wanted(i, j) += noise_deviation(i) * rng.normal();
    const Eigen::MatrixXf gain =
        Eigen::LLT<Eigen::MatrixXd>(spread).solve(wanted).cast<float>();  // labels x devices
    const Eigen::RowVectorXf centre = ensemble.colwise().mean();
    const Eigen::MatrixXf together =
        static_cast<float>(per_device) * (deviation.cast<float>() * (ensemble.rowwise() - centre));
    ensemble += gain.transpose() * together;
    ensemble = ensemble.cwiseMax(-bound).cwiseMin(bound);
  }
}

}  // namespace edgesage
