// Hyper-parameters of a Gaussian process: the likelihood, its gradient, and the search.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "src/predict/gaussian_process.h"

namespace edgesage {

// What the likelihood reads of the terms: Gram matrices of linear ones, distances of Matern ones.
class CovarianceFit {
 public:
  CovarianceFit(std::span<const CovarianceTerm> terms, double constant_variance);

  // Covariance of the labels; `weights` divide the noise's variance.
  [[nodiscard]] Eigen::MatrixXd covariance(const HyperParameters& hyper,
                                           const Eigen::VectorXd& weights) const;

  // Raises the marginal likelihood of `y` from `hyper` by at most `iterations` steps of L-BFGS.
  [[nodiscard]] HyperParameters search(const Eigen::VectorXd& y, const Eigen::VectorXd& weights,
                                       HyperParameters hyper, int iterations) const;

  // Negative logarithm of likelihood times prior, and its gradient by the logarithms of the
  // parameters (amplitudes, lengths of Matern terms, noise). Infinity where not positive definite.
  double objective(const Eigen::VectorXd& y, const Eigen::VectorXd& weights,
                   const std::vector<double>& log_parameters, std::vector<double>* gradient) const;

 private:
  [[nodiscard]] HyperParameters unpack(const std::vector<double>& log_parameters) const;
  [[nodiscard]] std::vector<double> pack(const HyperParameters& hyper) const;

  std::span<const CovarianceTerm> terms_;
  std::vector<Eigen::MatrixXd> tables_;  // Gram matrix, or distances
  double constant_variance_;
};

// Distances between the rows of two sets of points.
[[nodiscard]] Eigen::MatrixXd distances(const Points& a, const Points& b);
// Matern covariance with nu = 5/2 and amplitude 1.
[[nodiscard]] double matern52(double distance_over_length);

}  // namespace edgesage
