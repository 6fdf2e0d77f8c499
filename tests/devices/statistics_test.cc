#include "src/devices/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "src/base/rng.h"

namespace edgesage {
namespace {

std::vector<double> normal_series(size_t count, double mean, double deviation, uint64_t seed) {
  Rng rng(seed);
  std::vector<double> series;
  for (size_t i = 0; i < count; ++i) series.push_back(mean + deviation * rng.normal());
  return series;
}

TEST(Statistics, QuantilesInterpolateBetweenOrderStatistics) {
  const std::vector<double> sorted = {1, 2, 3, 4};
  EXPECT_DOUBLE_EQ(quantile(sorted, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(sorted, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile(sorted, 0.1), 1.3);
  EXPECT_DOUBLE_EQ(quantile(sorted, 1), 4);
  const std::vector<double> one = {7};
  EXPECT_DOUBLE_EQ(quantile(one, 0.9), 7);
}

TEST(Statistics, MedianAbsoluteDeviationIgnoresOneOutlier) {
  EXPECT_DOUBLE_EQ(median_absolute_deviation(std::vector<double>{1, 1, 2, 2, 4, 6, 9}), 1);
  EXPECT_DOUBLE_EQ(median_absolute_deviation(std::vector<double>{5, 5, 5, 5, 1e9}), 0);
  EXPECT_DOUBLE_EQ(median_absolute_deviation({}), 0);
}

TEST(Statistics, SummaryOfAnArithmeticSeriesHasItsClosedForm) {
  std::vector<double> series;
  for (int i = 0; i <= 100; ++i) series.push_back(100 + i);
  std::reverse(series.begin(), series.end());
  const SeriesSummary summary = summarize(series);
  EXPECT_EQ(summary.count, 101);
  EXPECT_DOUBLE_EQ(summary.min, 100);
  EXPECT_DOUBLE_EQ(summary.p10, 110);
  EXPECT_DOUBLE_EQ(summary.p50, 150);
  EXPECT_DOUBLE_EQ(summary.p90, 190);
  EXPECT_DOUBLE_EQ(summary.max, 200);
  EXPECT_DOUBLE_EQ(summary.mad, 25);
}

TEST(Statistics, AnEmptySeriesIsAllZero) {
  const SeriesSummary summary = summarize({});
  EXPECT_EQ(summary.count, 0);
  EXPECT_EQ(summary.min, 0);
  EXPECT_TRUE(summary.reason.empty());
}

TEST(Statistics, AConstantSeriesIsQuiet) {
  const SeriesSummary summary = summarize(std::vector<double>(200, 1.5));
  EXPECT_TRUE(summary.stationary);
  EXPECT_FALSE(summary.bimodal);
  EXPECT_FALSE(summary.noisy);
  EXPECT_TRUE(summary.reason.empty());
}

TEST(Statistics, FlagsADriftThatItsSpreadDoesNotExplain) {
  std::vector<double> series = normal_series(300, 1.0, 0.01, 1);
  EXPECT_TRUE(is_stationary(series));
  for (size_t i = 0; i < series.size(); ++i) series[i] += 0.2 * static_cast<double>(i) / 300;
  EXPECT_FALSE(is_stationary(series));
  EXPECT_FALSE(summarize(series).reason.empty());
}

TEST(Statistics, WideButStableNoiseIsStationaryAndNoisy) {
  const std::vector<double> series = normal_series(300, 1.0, 0.15, 2);
  EXPECT_TRUE(is_stationary(series));
  EXPECT_TRUE(summarize(series).noisy);
  EXPECT_FALSE(is_bimodal(series));
}

TEST(Statistics, FindsTwoLevelsWhateverTheirOrder) {
  std::vector<double> series = normal_series(100, 1.0, 0.01, 3);
  const std::vector<double> slow = normal_series(60, 1.5, 0.01, 4);
  series.insert(series.end(), slow.begin(), slow.end());
  Rng rng(5);
  rng.shuffle(series);
  EXPECT_TRUE(is_bimodal(series));
  EXPECT_EQ(summarize(series).reason, "two separate levels");
}

TEST(Statistics, AFewOutliersAndAnEvenSpreadAreNotTwoLevels) {
  std::vector<double> outliers = normal_series(100, 1.0, 0.01, 6);
  for (int i = 0; i < 10; ++i) outliers[static_cast<size_t>(10 * i)] = 2;
  EXPECT_FALSE(is_bimodal(outliers));
  std::vector<double> even;
  for (int i = 0; i < 100; ++i) even.push_back(1 + 0.01 * i);
  EXPECT_FALSE(is_bimodal(even));
  EXPECT_FALSE(is_bimodal(std::vector<double>{1, 2, 1, 2}));
}

}  // namespace
}  // namespace edgesage
