#include "src/predict/gaussian_process.h"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "src/predict/covariance_fit.h"

namespace edgesage {
namespace {

struct Posterior {
  Eigen::VectorXd alpha;
  Eigen::MatrixXd inverse;
};

bool solve(const Eigen::MatrixXd& covariance, const Eigen::VectorXd& y, Posterior& posterior) {
  const Eigen::LLT<Eigen::MatrixXd> factor(covariance);
  if (factor.info() != Eigen::Success) return false;
  posterior.alpha = factor.solve(y);
  posterior.inverse = factor.solve(Eigen::MatrixXd::Identity(covariance.rows(), covariance.cols()));
  return true;
}

// Weights of Student's t from leave-one-out residuals.
Eigen::VectorXd student_weights(const Posterior& posterior, const Eigen::VectorXd& weights,
                                double noise, double degrees) {
  Eigen::VectorXd result(weights.size());
  for (Eigen::Index i = 0; i < weights.size(); ++i) {
    const double precision = posterior.inverse(i, i);
    const double residual = posterior.alpha(i) / precision;
    // The variance that this residual would have if its label were trusted fully.
    const double variance = 1 / precision + noise * noise * (1 - 1 / weights(i));
    const double square = residual * residual / std::max(variance, 1e-12);
    result(i) = (degrees + 1) / (degrees + square);
  }
  return result;
}

Status check(std::span<const CovarianceTerm> terms, std::span<const double> y) {
  if (terms.empty() || y.size() < 2)
    return make_error(ErrorCode::kInvalidArgument, "Gaussian process",
                      fmt::format("{} terms and {} labels, at least one term and two "
                                  "labels are needed",
                                  terms.size(), y.size()));
  for (const double value : y)
    if (!std::isfinite(value))
      return make_error(ErrorCode::kInvalidArgument, "Gaussian process", "a label is not finite");
  for (const CovarianceTerm& term : terms)
    if (term.points.rows() != static_cast<Eigen::Index>(y.size()) || !term.points.allFinite())
      return make_error(ErrorCode::kInvalidArgument, "Gaussian process",
                        fmt::format("term {} has {} points for {} labels, or one that "
                                    "is not finite",
                                    term.name, term.points.rows(), y.size()));
  return {};
}

// Every k-th label, so that the choice does not depend on their number alone.
std::vector<Eigen::Index> some_of(Eigen::Index count, int64_t most) {
  std::vector<Eigen::Index> chosen;
  const double step = std::max(1.0, static_cast<double>(count) / static_cast<double>(most));
  for (double at = 0; static_cast<Eigen::Index>(at) < count; at += step)
    chosen.push_back(static_cast<Eigen::Index>(at));
  return chosen;
}

// Hyper-parameters, on some of the labels where there are many.
HyperParameters search(std::span<const CovarianceTerm> terms, const Eigen::VectorXd& y,
                       const GaussianProcessOptions& options) {
  const auto chosen = some_of(y.size(), options.most_fitted);
  std::vector<CovarianceTerm> some(terms.begin(), terms.end());
  for (CovarianceTerm& term : some) term.points = Points(term.points(chosen, Eigen::all));
  const Eigen::VectorXd some_y = y(chosen);
  const CovarianceFit fit(some, options.constant_variance);
  HyperParameters hyper;
  for (const CovarianceTerm& term : terms) hyper.amplitudes.push_back(term.amplitude);
  hyper.lengths.assign(terms.size(), 1.0);
  Eigen::VectorXd weights = Eigen::VectorXd::Ones(some_y.size());
  hyper = fit.search(some_y, weights, hyper, options.iterations);
  Posterior posterior;
  for (int round = 0; round < options.robust_rounds; ++round) {
    if (!solve(fit.covariance(hyper, weights), some_y, posterior)) break;
    weights = student_weights(posterior, weights, hyper.noise, options.student_degrees);
    hyper = fit.search(some_y, weights, hyper, options.robust_iterations);
  }
  return hyper;
}

}  // namespace

Result<GaussianProcess> GaussianProcess::fit(std::vector<CovarianceTerm> terms,
                                             std::span<const double> labels,
                                             const GaussianProcessOptions& options) {
  EDGESAGE_RETURN_IF_ERROR(check(terms, labels));
  GaussianProcess gp;
  const auto count = static_cast<Eigen::Index>(labels.size());
  std::vector<double> sorted(labels.begin(), labels.end());
  std::sort(sorted.begin(), sorted.end());
  gp.centre_ = sorted[sorted.size() / 2];
  Eigen::VectorXd y = Eigen::Map<const Eigen::VectorXd>(labels.data(), count);
  gp.scale_ = std::sqrt((y.array() - y.mean()).square().mean());
  if (!(gp.scale_ > 1e-9)) gp.scale_ = 1;
  y = (y.array() - gp.centre_) / gp.scale_;

  const HyperParameters hyper =
      options.known.amplitudes.empty() ? search(terms, y, options) : options.known;

  // The answer, on all labels.
  const CovarianceFit full(terms, options.constant_variance);
  Posterior posterior;
  Eigen::VectorXd weights = Eigen::VectorXd::Ones(count);
  for (int round = 0; round <= options.robust_rounds; ++round) {
    if (!solve(full.covariance(hyper, weights), y, posterior))
      return make_error(ErrorCode::kInvalidArgument, "Gaussian process",
                        "the covariance of the labels is singular");
    if (round < options.robust_rounds)
      weights = student_weights(posterior, weights, hyper.noise, options.student_degrees);
  }

  gp.hyper_ = hyper;
  gp.constant_ = options.constant_variance;
  gp.terms_ = std::move(terms);
  gp.alpha_ = posterior.alpha;
  gp.inverse_ = posterior.inverse;
  for (size_t t = 0; t < gp.terms_.size(); ++t) {
    const double a2 = gp.hyper_.amplitudes[t] * gp.hyper_.amplitudes[t];
    gp.linear_weights_.push_back(
        gp.terms_[t].form == Covariance::kLinear
            ? Eigen::VectorXf(gp.terms_[t].points.transpose() * (a2 * gp.alpha_).cast<float>())
            : Eigen::VectorXf());
  }
  for (Eigen::Index i = 0; i < count; ++i) {
    const double variance = 1 / gp.inverse_(i, i);
    gp.loo_mean_.push_back((y(i) - gp.alpha_(i) * variance) * gp.scale_ + gp.centre_);
    gp.loo_variance_.push_back(variance * gp.scale_ * gp.scale_);
    gp.label_weights_.push_back(weights(i));
  }
  return gp;
}

std::vector<double> GaussianProcess::mean(std::span<const Points* const> points) const {
  const Eigen::Index rows = points.empty() ? 0 : points[0]->rows();
  Eigen::VectorXd answer = Eigen::VectorXd::Constant(rows, constant_ * alpha_.sum());
  for (size_t t = 0; t < terms_.size(); ++t) {
    if (terms_[t].form == Covariance::kLinear) {
      answer += (*points[t] * linear_weights_[t]).cast<double>();
      continue;
    }
    const double a2 = hyper_.amplitudes[t] * hyper_.amplitudes[t];
    answer +=
        a2 * ((distances(*points[t], terms_[t].points) / hyper_.lengths[t]).unaryExpr([](double d) {
          return matern52(d);
        }) * alpha_);
  }
  std::vector<double> result(static_cast<size_t>(rows));
  for (Eigen::Index i = 0; i < rows; ++i)
    result[static_cast<size_t>(i)] = answer(i) * scale_ + centre_;
  return result;
}

std::vector<double> GaussianProcess::variance(std::span<const Points* const> points) const {
  const Eigen::Index rows = points.empty() ? 0 : points[0]->rows();
  Eigen::MatrixXd cross = Eigen::MatrixXd::Constant(rows, alpha_.size(), constant_);
  Eigen::VectorXd own = Eigen::VectorXd::Constant(rows, constant_);
  for (size_t t = 0; t < terms_.size(); ++t) {
    const double a2 = hyper_.amplitudes[t] * hyper_.amplitudes[t];
    if (terms_[t].form == Covariance::kLinear) {
      cross += a2 * (*points[t] * terms_[t].points.transpose()).cast<double>();
      own += a2 * points[t]->rowwise().squaredNorm().cast<double>();
    } else {
      cross +=
          a2 *
          (distances(*points[t], terms_[t].points) / hyper_.lengths[t]).unaryExpr([](double d) {
            return matern52(d);
          });
      own.array() += a2;
    }
  }
  const Eigen::VectorXd known = (cross * inverse_).cwiseProduct(cross).rowwise().sum();
  std::vector<double> result(static_cast<size_t>(rows));
  for (Eigen::Index i = 0; i < rows; ++i)
    result[static_cast<size_t>(i)] = std::max(0.0, own(i) - known(i)) * scale_ * scale_;
  return result;
}

}  // namespace edgesage
