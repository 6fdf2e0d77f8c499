// The process against closed forms written a second time: dense algebra with an explicit inverse,
// finite differences, and fits without one label.
#include "src/predict/gaussian_process.h"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>

#include "src/base/rng.h"
#include "src/predict/covariance_fit.h"

namespace edgesage {
namespace {

Points random_points(Rng& rng, Eigen::Index rows, Eigen::Index columns) {
  Points points(rows, columns);
  for (Eigen::Index i = 0; i < points.size(); ++i)
    points.data()[i] = static_cast<float>(rng.normal() / std::sqrt(static_cast<double>(columns)));
  return points;
}

struct Problem {
  std::vector<CovarianceTerm> terms;
  std::vector<double> y;
};

Problem random_problem(uint64_t seed, Eigen::Index labels) {
  Rng rng(seed);
  Problem problem;
  problem.terms.push_back({"linear", Covariance::kLinear, random_points(rng, labels, 12)});
  problem.terms.push_back({"matern", Covariance::kMatern52, random_points(rng, labels, 5)});
  const Eigen::VectorXf weights = random_points(rng, 12, 1);
  const Eigen::VectorXf linear = problem.terms[0].points * weights;
  for (Eigen::Index i = 0; i < labels; ++i)
    problem.y.push_back(3 + 2 * static_cast<double>(linear(i)) +
                        std::sin(3 * static_cast<double>(problem.terms[1].points(i, 0))) +
                        0.05 * rng.normal());
  return problem;
}

std::vector<const Points*> points_of(const std::vector<CovarianceTerm>& terms) {
  std::vector<const Points*> points;
  for (const CovarianceTerm& term : terms) points.push_back(&term.points);
  return points;
}

std::vector<CovarianceTerm> rows_of(const std::vector<CovarianceTerm>& terms,
                                    const std::vector<Eigen::Index>& rows) {
  std::vector<CovarianceTerm> some = terms;
  for (CovarianceTerm& term : some) term.points = Points(term.points(rows, Eigen::all));
  return some;
}

TEST(CovarianceFit, GradientIsThatOfFiniteDifferences) {
  const Problem problem = random_problem(3, 30);
  const CovarianceFit fit(problem.terms, 25);
  Rng rng(5);
  Eigen::VectorXd y(30), weights(30);
  for (Eigen::Index i = 0; i < 30; ++i) {
    y(i) = rng.normal();
    weights(i) = rng.uniform(0.2, 1.2);
  }
  const std::vector<double> at{-0.4, 0.3, 0.2, -1.1};
  std::vector<double> gradient;
  fit.objective(y, weights, at, &gradient);
  ASSERT_EQ(gradient.size(), at.size());
  for (size_t p = 0; p < at.size(); ++p) {
    constexpr double kStep = 1e-5;
    std::vector<double> up = at, down = at;
    up[p] += kStep;
    down[p] -= kStep;
    const double slope =
        (fit.objective(y, weights, up, nullptr) - fit.objective(y, weights, down, nullptr)) /
        (2 * kStep);
    EXPECT_NEAR(gradient[p], slope, 1e-4 * std::max(1.0, std::abs(slope))) << "parameter " << p;
  }
}

TEST(CovarianceFit, SearchNeverLeavesWorseThanItCame) {
  const Problem problem = random_problem(4, 40);
  const CovarianceFit fit(problem.terms, 25);
  Eigen::VectorXd y = Eigen::Map<const Eigen::VectorXd>(problem.y.data(), 40);
  y = (y.array() - y.mean()) / 2;
  const Eigen::VectorXd ones = Eigen::VectorXd::Ones(40);
  const auto objective = [&](const HyperParameters& h) {
    return fit.objective(y, ones,
                         {std::log(h.amplitudes[0]), std::log(h.amplitudes[1]),
                          std::log(h.lengths[1]), std::log(h.noise)},
                         nullptr);
  };
  const HyperParameters start{{0.5, 0.5}, {1, 1}, 0.15};
  const HyperParameters found = fit.search(y, ones, start, 40);
  EXPECT_LT(objective(found), objective(start) - 1);
}

TEST(GaussianProcess, MeanAndVarianceAreTheTextbookFormula) {
  const Problem all = random_problem(7, 60);
  std::vector<Eigen::Index> first(40), rest(20);
  for (Eigen::Index i = 0; i < 40; ++i) first[static_cast<size_t>(i)] = i;
  for (Eigen::Index i = 0; i < 20; ++i) rest[static_cast<size_t>(i)] = 40 + i;
  const std::vector<double> y(all.y.begin(), all.y.begin() + 40);
  GaussianProcessOptions options;
  options.robust_rounds = 0;
  options.known = {{0.7, 0.4}, {1, 0.8}, 0.1};
  auto gp = GaussianProcess::fit(rows_of(all.terms, first), y, options);
  ASSERT_TRUE(gp) << gp.error().to_string();

  // Everything again with an explicit inverse, in double and element by element.
  std::vector<double> sorted = y;
  std::sort(sorted.begin(), sorted.end());
  const double centre = sorted[20];
  double mean_y = 0, square = 0;
  for (const double value : y) mean_y += value / 40;
  for (const double value : y) square += (value - mean_y) * (value - mean_y) / 40;
  const double scale = std::sqrt(square);
  const auto k = [&](Eigen::Index i, Eigen::Index j) {
    double value = 25, distance = 0;
    for (Eigen::Index c = 0; c < 12; ++c)
      value += 0.49 * static_cast<double>(all.terms[0].points(i, c)) *
               static_cast<double>(all.terms[0].points(j, c));
    for (Eigen::Index c = 0; c < 5; ++c) {
      const double d = static_cast<double>(all.terms[1].points(i, c)) -
                       static_cast<double>(all.terms[1].points(j, c));
      distance += d * d;
    }
    const double s = std::sqrt(5 * distance) / 0.8;
    return value + 0.16 * (1 + s + s * s / 3) * std::exp(-s);
  };
  Eigen::MatrixXd kernel(40, 40);
  Eigen::VectorXd target(40);
  for (Eigen::Index i = 0; i < 40; ++i) {
    target(i) = (y[static_cast<size_t>(i)] - centre) / scale;
    for (Eigen::Index j = 0; j < 40; ++j) kernel(i, j) = k(i, j) + (i == j ? 0.01 + 1e-8 : 0);
  }
  const Eigen::MatrixXd inverse = kernel.inverse();
  const auto tests = rows_of(all.terms, rest);
  const std::vector<double> mean = gp->mean(points_of(tests));
  const std::vector<double> variance = gp->variance(points_of(tests));
  for (Eigen::Index t = 0; t < 20; ++t) {
    Eigen::VectorXd cross(40);
    for (Eigen::Index i = 0; i < 40; ++i) cross(i) = k(40 + t, i);
    const auto at = static_cast<size_t>(t);
    EXPECT_NEAR(mean[at], cross.dot(inverse * target) * scale + centre, 1e-3);
    EXPECT_NEAR(variance[at], (k(40 + t, 40 + t) - cross.dot(inverse * cross)) * scale * scale,
                1e-3);
  }
}

TEST(GaussianProcess, LeaveOneOutIsTheFitWithoutThatLabel) {
  const Problem problem = random_problem(9, 24);
  GaussianProcessOptions options;
  options.robust_rounds = 0;
  options.known = {{0.7, 0.4}, {1, 0.8}, 0.2};
  auto gp = GaussianProcess::fit(problem.terms, problem.y, options);
  ASSERT_TRUE(gp);
  for (Eigen::Index out : {0, 5, 23}) {
    std::vector<Eigen::Index> kept;
    std::vector<double> y;
    for (Eigen::Index i = 0; i < 24; ++i)
      if (i != out) {
        kept.push_back(i);
        y.push_back(problem.y[static_cast<size_t>(i)]);
      }
    auto without = GaussianProcess::fit(rows_of(problem.terms, kept), y, options);
    ASSERT_TRUE(without);
    const auto left = rows_of(problem.terms, {out});
    // The labels are standardised by what is there, so noise and level differ a little.
    EXPECT_NEAR(gp->leave_one_out()[static_cast<size_t>(out)], without->mean(points_of(left))[0],
                0.02)
        << "label " << out;
  }
}

TEST(GaussianProcess, LearnsASmoothFunctionToItsNoise) {
  Problem all = random_problem(11, 400);
  std::vector<Eigen::Index> first(150), rest(250);
  for (size_t i = 0; i < 400; ++i)
    (i < 150 ? first[i] : rest[i - 150]) = static_cast<Eigen::Index>(i);
  auto gp = GaussianProcess::fit(rows_of(all.terms, first), std::span(all.y).first(150));
  ASSERT_TRUE(gp);
  const std::vector<double> mean = gp->mean(points_of(rows_of(all.terms, rest)));
  double error = 0;
  for (size_t i = 0; i < 250; ++i) error += std::abs(mean[i] - all.y[150 + i]) / 250;
  EXPECT_LT(error, 0.15);  // labels vary by 2, their noise has a mean of 0.04
}

TEST(GaussianProcess, OneWildLabelLosesItsWeight) {
  Problem problem = random_problem(13, 60);
  auto clean = GaussianProcess::fit(problem.terms, problem.y);
  problem.y[17] += 8;
  auto wild = GaussianProcess::fit(problem.terms, problem.y);
  ASSERT_TRUE(clean && wild);
  EXPECT_LT(wild->label_weights()[17], 0.2);
  const auto other = rows_of(problem.terms, {3, 30, 55});
  const std::vector<double> a = clean->mean(points_of(other)), b = wild->mean(points_of(other));
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(a[i], b[i], 0.3);
}

TEST(GaussianProcess, RefusesWhatItCannotLearnFrom) {
  Problem problem = random_problem(15, 10);
  EXPECT_EQ(GaussianProcess::fit({}, problem.y).error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(GaussianProcess::fit(problem.terms, std::span(problem.y).first(9)));
  problem.y[2] = std::nan("");
  EXPECT_FALSE(GaussianProcess::fit(problem.terms, problem.y));
}

TEST(GaussianProcess, EqualLabelsAndEqualPointsAreNoError) {
  Problem problem = random_problem(17, 12);
  problem.terms[0].points.setZero();
  problem.terms[1].points.setZero();
  auto same_points = GaussianProcess::fit(problem.terms, problem.y);
  ASSERT_TRUE(same_points);
  EXPECT_TRUE(std::isfinite(same_points->mean(points_of(problem.terms))[0]));
  std::fill(problem.y.begin(), problem.y.end(), 2.0);
  auto same_labels = GaussianProcess::fit(problem.terms, problem.y);
  ASSERT_TRUE(same_labels);
  EXPECT_NEAR(same_labels->mean(points_of(problem.terms))[5], 2.0, 1e-6);
}

}  // namespace
}  // namespace edgesage
