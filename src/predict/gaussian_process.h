// A Gaussian process for few labels: sums of linear and Matern-5/2 covariances, heavy-tailed noise.
//
// Hyper-parameters maximise the marginal likelihood times log-normal priors (Rasmussen and
// Williams, "Gaussian Processes for Machine Learning", 2006, chapter 5). The noise is Student's t,
// by re-weighting each label from its leave-one-out residual, so that a label that is off does not
// bend the answer. Leave-one-out means and variances are exact and cost nothing more (same book,
// section 5.4.2).
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "edgesage/result.h"

namespace edgesage {

// Points of one covariance term, one row a network. Scaled by the caller so that the mean squared
// length of a row is about 1: then the priors over the hyper-parameters fit.
using Points = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

enum class Covariance : uint8_t { kLinear, kMatern52 };

struct CovarianceTerm {
  std::string name;
  Covariance form = Covariance::kLinear;
  Points points;           // of the labelled networks
  double amplitude = 0.5;  // median of the prior over the amplitude
};

// Found by fit, in the units of standardised labels.
struct HyperParameters {
  std::vector<double> amplitudes;  // one a term
  std::vector<double> lengths;     // one a term; only of Matern terms
  double noise = 0.15;
};

struct GaussianProcessOptions {
  int iterations = 40;            // of L-BFGS, for the first fit
  int robust_rounds = 2;          // re-weightings of the labels
  int robust_iterations = 20;     // of L-BFGS, after each of them
  double student_degrees = 4;     // degrees of freedom of the noise
  int64_t most_fitted = 200;      // labels that the hyper-parameters are fitted on, at most
  double constant_variance = 25;  // of the common level, in variances of the labels
  HyperParameters known{};        // where it has amplitudes: taken as they are, no search
};

// Immutable after fit; const members may be called from any number of threads.
class GaussianProcess {
 public:
  // `y`: labels in the scale of the answer (logarithms), one a row of the terms' points;
  // standardised inside. kInvalidArgument without labels, where sizes differ or a number is not
  // finite. Cost: O(labels^3) an evaluation of the likelihood, some hundred of them on most_fitted
  // labels.
  [[nodiscard]] static Result<GaussianProcess> fit(std::vector<CovarianceTerm> terms,
                                                   std::span<const double> y,
                                                   const GaussianProcessOptions& options = {});

  // One a row of the points, which are those of the networks asked for, in the order of the terms.
  [[nodiscard]] std::vector<double> mean(std::span<const Points* const> points) const;
  // Of the noiseless value. Cost: rows x labels x (width + labels).
  [[nodiscard]] std::vector<double> variance(std::span<const Points* const> points) const;

  // What each label would have been predicted to be without it, and the variance of that
  // prediction, noise included.
  [[nodiscard]] const std::vector<double>& leave_one_out() const { return loo_mean_; }
  [[nodiscard]] const std::vector<double>& leave_one_out_variance() const { return loo_variance_; }
  // In the scale of the labels.
  [[nodiscard]] double noise() const { return hyper_.noise * scale_; }
  [[nodiscard]] const HyperParameters& hyper_parameters() const { return hyper_; }
  // About 1 for a label that is trusted, towards 0 for one that is far off.
  [[nodiscard]] const std::vector<double>& label_weights() const { return label_weights_; }

 private:
  std::vector<CovarianceTerm> terms_;
  HyperParameters hyper_;
  double constant_ = 0;
  double centre_ = 0, scale_ = 1;  // of the labels
  Eigen::VectorXd alpha_;
  Eigen::MatrixXd inverse_;
  std::vector<Eigen::VectorXf> linear_weights_;  // of linear terms: the answer is points * weights
  std::vector<double> loo_mean_, loo_variance_, label_weights_;
};

}  // namespace edgesage
