#include "src/predict/covariance_fit.h"

#include <nlopt.h>

#include <Eigen/Cholesky>
#include <cmath>
#include <limits>
#include <memory>

namespace edgesage {
namespace {

// Prior of each parameter: log-normal, with this median (amplitudes have their own) and deviation.
constexpr double kAmplitudeDeviation = 1.5;
constexpr double kLengthMedian = 1.0, kLengthDeviation = 0.7;
constexpr double kNoiseMedian = 0.15, kNoiseDeviation = 1.0;
constexpr double kJitter = 1e-8;
// Logarithms of parameters stay inside +- this; beyond it a covariance is singular in practice.
constexpr double kBound = 9.0;

double penalty(double log_value, double median, double deviation, double& slope) {
  const double z = (log_value - std::log(median)) / deviation;
  slope = z / deviation;
  return 0.5 * z * z;
}

}  // namespace

Eigen::MatrixXd distances(const Points& a, const Points& b) {
  const Eigen::VectorXd na = a.cast<double>().rowwise().squaredNorm();
  const Eigen::VectorXd nb = b.cast<double>().rowwise().squaredNorm();
  Eigen::MatrixXd squared = -2.0 * (a * b.transpose()).cast<double>();
  squared.colwise() += na;
  squared.rowwise() += nb.transpose();
  return squared.cwiseMax(0.0).cwiseSqrt();
}

double matern52(double distance_over_length) {
  const double s = std::sqrt(5.0) * distance_over_length;
  return (1 + s + s * s / 3) * std::exp(-s);
}

CovarianceFit::CovarianceFit(std::span<const CovarianceTerm> terms, double constant_variance)
    : terms_(terms), constant_variance_(constant_variance) {
  for (const CovarianceTerm& term : terms)
    tables_.push_back(term.form == Covariance::kLinear
                          ? Eigen::MatrixXd((term.points * term.points.transpose()).cast<double>())
                          : distances(term.points, term.points));
}

std::vector<double> CovarianceFit::pack(const HyperParameters& hyper) const {
  std::vector<double> packed;
  for (const double amplitude : hyper.amplitudes) packed.push_back(std::log(amplitude));
  for (size_t t = 0; t < terms_.size(); ++t)
    if (terms_[t].form == Covariance::kMatern52) packed.push_back(std::log(hyper.lengths[t]));
  packed.push_back(std::log(hyper.noise));
  return packed;
}

HyperParameters CovarianceFit::unpack(const std::vector<double>& log_parameters) const {
  HyperParameters hyper;
  size_t at = 0;
  for (size_t t = 0; t < terms_.size(); ++t)
    hyper.amplitudes.push_back(std::exp(log_parameters[at++]));
  for (const CovarianceTerm& term : terms_)
    hyper.lengths.push_back(term.form == Covariance::kMatern52 ? std::exp(log_parameters[at++])
                                                               : 1.0);
  hyper.noise = std::exp(log_parameters[at]);
  return hyper;
}

Eigen::MatrixXd CovarianceFit::covariance(const HyperParameters& hyper,
                                          const Eigen::VectorXd& weights) const {
  Eigen::MatrixXd k = Eigen::MatrixXd::Constant(weights.size(), weights.size(), constant_variance_);
  for (size_t t = 0; t < terms_.size(); ++t) {
    const double a2 = hyper.amplitudes[t] * hyper.amplitudes[t];
    if (terms_[t].form == Covariance::kLinear)
      k += a2 * tables_[t];
    else
      k += a2 * (tables_[t] / hyper.lengths[t]).unaryExpr([](double d) { return matern52(d); });
  }
  k.diagonal().array() += hyper.noise * hyper.noise / weights.array() + kJitter;
  return k;
}

double CovarianceFit::objective(const Eigen::VectorXd& y, const Eigen::VectorXd& weights,
                                const std::vector<double>& log_parameters,
                                std::vector<double>* gradient) const {
  const HyperParameters hyper = unpack(log_parameters);
  const Eigen::MatrixXd k = covariance(hyper, weights);
  const Eigen::LLT<Eigen::MatrixXd> factor(k);
  if (factor.info() != Eigen::Success) return std::numeric_limits<double>::infinity();
  const Eigen::VectorXd alpha = factor.solve(y);
  const double log_determinant = 2 * factor.matrixLLT().diagonal().array().log().sum();
  double value = 0.5 * y.dot(alpha) + 0.5 * log_determinant;

  // d/dp = tr((K^-1 - alpha alpha') dK/dp) / 2, by the logarithm of p.
  Eigen::MatrixXd sensitivity;
  if (gradient) {
    sensitivity = factor.solve(Eigen::MatrixXd::Identity(k.rows(), k.cols()));
    sensitivity.noalias() -= alpha * alpha.transpose();
    gradient->assign(log_parameters.size(), 0.0);
  }
  size_t length_at = terms_.size();
  double slope = 0;
  for (size_t t = 0; t < terms_.size(); ++t) {
    value += penalty(log_parameters[t], terms_[t].amplitude, kAmplitudeDeviation, slope);
    const double a2 = hyper.amplitudes[t] * hyper.amplitudes[t];
    const bool matern = terms_[t].form == Covariance::kMatern52;
    if (gradient) {
      const Eigen::MatrixXd table =
          matern ? Eigen::MatrixXd((tables_[t] / hyper.lengths[t]).unaryExpr([](double d) {
            return matern52(d);
          }))
                 : tables_[t];
      (*gradient)[t] = a2 * sensitivity.cwiseProduct(table).sum() + slope;
    }
    if (!matern) continue;
    value += penalty(log_parameters[length_at], kLengthMedian, kLengthDeviation, slope);
    if (gradient) {
      const Eigen::MatrixXd by_length = (tables_[t] / hyper.lengths[t]).unaryExpr([](double d) {
        const double s = std::sqrt(5.0) * d;
        return s * s * (1 + s) / 3 * std::exp(-s);
      });
      (*gradient)[length_at] = 0.5 * a2 * sensitivity.cwiseProduct(by_length).sum() + slope;
    }
    ++length_at;
  }
  value += penalty(log_parameters.back(), kNoiseMedian, kNoiseDeviation, slope);
  if (gradient)
    gradient->back() =
        hyper.noise * hyper.noise * (sensitivity.diagonal().array() / weights.array()).sum() +
        slope;
  return value;
}

HyperParameters CovarianceFit::search(const Eigen::VectorXd& y, const Eigen::VectorXd& weights,
                                      HyperParameters hyper, int iterations) const {
  std::vector<double> at = pack(hyper);
  const auto count = static_cast<unsigned>(at.size());
  const std::unique_ptr<nlopt_opt_s, decltype(&nlopt_destroy)> search(
      nlopt_create(NLOPT_LD_LBFGS, count), nlopt_destroy);
  struct Problem {
    const CovarianceFit* self;
    const Eigen::VectorXd *y, *weights;
    std::vector<double> parameters, gradient;
  } problem{this, &y, &weights, at, {}};
  nlopt_set_min_objective(
      search.get(),
      [](unsigned n, const double* x, double* gradient, void* data) {
        auto& p = *static_cast<Problem*>(data);
        p.parameters.assign(x, x + n);
        const double value =
            p.self->objective(*p.y, *p.weights, p.parameters, gradient ? &p.gradient : nullptr);
        // The search has no notion of infinity: a huge value turns it back.
        if (gradient) std::copy(p.gradient.begin(), p.gradient.end(), gradient);
        return std::isfinite(value) ? value : 1e100;
      },
      &problem);
  nlopt_set_lower_bounds1(search.get(), -kBound);
  nlopt_set_upper_bounds1(search.get(), kBound);
  nlopt_set_maxeval(search.get(), iterations);
  nlopt_set_ftol_rel(search.get(), 1e-6);
  const double before = objective(y, weights, at, nullptr);
  double after = 0;
  // A failed line search still leaves the best point so far; anything worse is thrown away.
  nlopt_optimize(search.get(), at.data(), &after);
  const double reached = objective(y, weights, at, nullptr);
  return std::isfinite(reached) && reached <= before ? unpack(at) : hyper;
}

}  // namespace edgesage
