#include "src/learn/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "src/base/rng.h"
#include "src/learn/boosting.h"
#include "src/learn/nnls.h"

namespace edgesage {
namespace {

TEST(Accuracy, CountsErrorsRelativeToTheTruth) {
  const std::vector<double> truth{100, 200, 400, 1000};
  const std::vector<double> predicted{101, 190, 440, 500};
  const Accuracy a = accuracy(truth, predicted);
  EXPECT_NEAR(a.mape, (0.01 + 0.05 + 0.10 + 0.50) / 4, 1e-12);
  EXPECT_NEAR(a.median_ape, 0.075, 1e-12);
  EXPECT_DOUBLE_EQ(a.within_1, 0.25);
  EXPECT_DOUBLE_EQ(a.within_5, 0.5);
  EXPECT_DOUBLE_EQ(a.within_10, 0.75);
  EXPECT_DOUBLE_EQ(a.worst_under, 0.5);
  EXPECT_DOUBLE_EQ(a.spearman, 1.0);
  EXPECT_DOUBLE_EQ(a.kendall, 1.0);
}

// The definition, pair by pair.
double naive_tau_b(const std::vector<double>& a, const std::vector<double>& b) {
  double concordant = 0, only_a = 0, only_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const double da = a[i] - a[j], db = b[i] - b[j];
      if (da * db > 0) concordant += 1;
      if (da * db < 0) concordant -= 1;
      if (da != 0) only_a += 1;
      if (db != 0) only_b += 1;
    }
  }
  return concordant / std::sqrt(only_a * only_b);
}

TEST(Accuracy, KendallAgreesWithItsDefinitionOnTies) {
  Rng rng(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<double> a(40), b(40);
    for (size_t i = 0; i < a.size(); ++i) {
      a[i] = static_cast<double>(rng.integer(1, 8));
      b[i] = a[i] + static_cast<double>(rng.integer(0, 6));
    }
    EXPECT_NEAR(accuracy(a, b).kendall, naive_tau_b(a, b), 1e-12) << "round " << round;
  }
}

TEST(Accuracy, ConstantPredictionsHaveNoRankCorrelation) {
  const std::vector<double> truth{1, 2, 3}, predicted{2, 2, 2};
  EXPECT_TRUE(std::isnan(accuracy(truth, predicted).spearman));
  EXPECT_TRUE(std::isnan(accuracy(truth, predicted).kendall));
}

TEST(Accuracy, EmptyInputGivesNoCount) { EXPECT_EQ(accuracy({}, {}).count, 0u); }

TEST(Nnls, RecoversNonNegativeWeightsOfVeryDifferentScale) {
  Rng rng(11);
  const std::vector<double> weights{3e-9, 0.0, 0.25};
  std::vector<double> x, y;
  for (int i = 0; i < 300; ++i) {
    const double row[3] = {rng.log_uniform(1e5, 1e9), rng.log_uniform(1, 100), 1.0};
    x.insert(x.end(), row, row + 3);
    y.push_back(weights[0] * row[0] + weights[2]);
  }
  const std::vector<double> fitted = fit_relative_nnls(x, 3, y);
  EXPECT_NEAR(fitted[0], weights[0], 1e-12);
  EXPECT_NEAR(fitted[1], weights[1], 1e-6);
  EXPECT_NEAR(fitted[2], weights[2], 1e-5);
}

TEST(Nnls, NeverReturnsNegativeWeights) {
  const std::vector<double> x{1, 1, 2, 1, 3, 1}, y{3, 2, 1};  // falls with the first column
  for (const double weight : fit_relative_nnls(x, 2, y)) EXPECT_GE(weight, 0.0);
}

TEST(BoostedTrees, LearnsAStepAndAnInteraction) {
  Rng rng(5);
  std::vector<float> x;
  std::vector<double> y;
  const auto truth = [](float a, float b) { return a > 0.5F ? 2.0 + b : -b; };
  for (int i = 0; i < 2000; ++i) {
    const auto a = static_cast<float>(rng.uniform()), b = static_cast<float>(rng.uniform());
    x.insert(x.end(), {a, b});
    y.push_back(truth(a, b));
  }
  const BoostedTrees model = BoostedTrees::fit(x, 2, y);
  double error = 0;
  for (int i = 0; i < 200; ++i) {
    const float row[2] = {static_cast<float>(rng.uniform()), static_cast<float>(rng.uniform())};
    error += std::abs(model.predict(row) - truth(row[0], row[1])) / 200;
  }
  EXPECT_LT(error, 0.05);
}

TEST(BoostedTrees, WithoutExamplesPredictsZero) {
  const float row[1] = {1};
  EXPECT_EQ(BoostedTrees::fit({}, 1, {}).predict(row), 0.0);
}

}  // namespace
}  // namespace edgesage
