#include "src/devices/noise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "src/base/rng.h"

namespace edgesage {
namespace {

// A floor with delays on top, as timings are.
std::vector<double> timings(size_t count, double floor, double scale, uint64_t seed) {
  Rng rng(seed);
  std::vector<double> series;
  for (size_t i = 0; i < count; ++i)
    series.push_back(floor * (1 - scale * std::log(1 - rng.uniform())));
  return series;
}

std::vector<double> joined(std::vector<double> a, const std::vector<double>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(Noise, AQuietSeriesIsALabelByEveryStatistic) {
  const std::vector<double> series = timings(200, 2.0, 0.01, 1);
  for (const char* statistic : {"min", "p10", "p50", "p90", "mean"}) {
    const SeriesVerdict verdict = judge_series(series, statistic);
    EXPECT_EQ(verdict.rejected, "") << statistic;
    EXPECT_LT(verdict.half_width.value(), 0.01) << statistic;
    EXPECT_NEAR(verdict.label_ms, 2.0, 0.1) << statistic;
  }
  EXPECT_EQ(judge_series(series, "min").label_ms, *std::min_element(series.begin(), series.end()));
}

TEST(Noise, TwoLevelsRejectAMedianWhateverTheirOrder) {
  std::vector<double> series = joined(timings(60, 1.0, 0.005, 2), timings(60, 1.5, 0.005, 3));
  Rng(4).shuffle(series);
  const SeriesVerdict verdict = judge_series(series, "p50");
  EXPECT_NE(verdict.rejected.find("two separate levels"), std::string::npos) << verdict.rejected;
  EXPECT_NE(verdict.rejected.find("measure it again"), std::string::npos);
  EXPECT_NE(judge_series(series, "mean").rejected, "");
}

TEST(Noise, AMinimumCountsWhenEveryThirdReachesTheFloor) {
  std::vector<double> mixed = joined(timings(60, 1.0, 0.005, 2), timings(60, 1.5, 0.005, 3));
  Rng(4).shuffle(mixed);
  EXPECT_EQ(judge_series(mixed, "min").rejected, "");
  // The same samples in the order in which the machine became slower.
  const auto sorted = joined(timings(60, 1.0, 0.005, 2), timings(60, 1.5, 0.005, 3));
  const SeriesVerdict verdict = judge_series(sorted, "min");
  EXPECT_NE(verdict.rejected.find("the minima of its thirds are"), std::string::npos)
      << verdict.rejected;
}

TEST(Noise, AWideIntervalRejects) {
  Rng rng(5);
  std::vector<double> few;
  for (int i = 0; i < 12; ++i) few.push_back(rng.log_uniform(1, 3));
  for (const char* statistic : {"min", "p50", "mean"}) {
    NoiseLimits limits;
    limits.drift = 10;
    EXPECT_NE(judge_series(few, statistic, limits).rejected.find("90 % interval"),
              std::string::npos)
        << statistic << ": " << judge_series(few, statistic, limits).rejected;
    limits.half_width = 10;
    EXPECT_EQ(judge_series(few, statistic, limits).rejected, "") << statistic;
  }
}

TEST(Noise, TooFewSamplesAreNotJudged) {
  for (const std::vector<double>& series :
       {std::vector<double>{1}, std::vector<double>{1, 9}, std::vector<double>(9, 1)}) {
    const SeriesVerdict verdict = judge_series(series, "p50");
    EXPECT_FALSE(verdict.half_width);
    EXPECT_EQ(verdict.rejected, "");
  }
}

// The interval of the median against what resampling says of the same series.
TEST(Noise, TheIntervalOfTheMedianIsThatOfTheBootstrap) {
  const std::vector<double> series = timings(101, 1.0, 0.2, 7);
  Rng rng(8);
  std::vector<double> medians;
  for (int i = 0; i < 4000; ++i) {
    std::vector<double> resampled;
    for (size_t k = 0; k < series.size(); ++k) resampled.push_back(rng.pick(series));
    std::sort(resampled.begin(), resampled.end());
    medians.push_back(quantile(resampled, 0.5));
  }
  std::sort(medians.begin(), medians.end());
  const SeriesVerdict verdict = judge_series(series, "p50");
  const double expected =
      (quantile(medians, 0.95) - quantile(medians, 0.05)) / 2 / verdict.label_ms;
  EXPECT_NEAR(verdict.half_width.value(), expected, 0.25 * expected);
}

TEST(Noise, TheIntervalOfTheMinimumIsThatOfAThirdOfTheSamples) {
  const std::vector<double> series = timings(90, 1.0, 0.1, 9);
  Rng rng(10);
  std::vector<double> minima;
  for (int i = 0; i < 20000; ++i) {
    double least = rng.pick(series);
    for (int k = 1; k < 30; ++k) least = std::min(least, rng.pick(series));
    minima.push_back(least);
  }
  std::sort(minima.begin(), minima.end());
  const SeriesVerdict verdict = judge_series(series, "min");
  const double expected = (quantile(minima, 0.95) - minima.front()) / 2 / verdict.label_ms;
  EXPECT_NEAR(verdict.half_width.value(), expected, 0.1 * expected);
}

TEST(Noise, ASummaryIsJudgedByItsDeviation) {
  EXPECT_EQ(judge_summary(10, 0.5, 50), "");
  EXPECT_NE(judge_summary(10, 3, 50).find("30 %"), std::string::npos);
  EXPECT_NE(judge_summary(10, 2, 4), "") << "four runs with 20 % deviation: +-16 %";
  EXPECT_EQ(judge_summary(10, 0, 1), "");
}

}  // namespace
}  // namespace edgesage
