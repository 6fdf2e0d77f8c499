// Whether a series of timings is fit to be a label. Nothing is averaged away: a series that is not
// is rejected with its reason, and is worth another measurement.
//
// A label is rejected
//  - "min": when the minima of the series' thirds lie more than `drift` apart (the floor was not
//    reached in all of them), or when the 90 % interval of the minimum is wider than
//    +-`half_width`. A second level above the floor, or a wide tail, does not move a minimum that
//    every third has reached.
//  - "p10", "p50", "p90", "mean": when the series has two separate levels, drifts (statistics.h),
//  or
//    when the 90 % interval of the statistic is wider than +-`half_width`.
// The intervals: of a quantile from the order statistics whose ranks are n q +- 1.645 sqrt(n q (1 -
// q)), free of a distribution (David and Nagaraja, Order Statistics, 7.1); of the mean +-1.645 s /
// sqrt(n); of the minimum the bootstrap of a third of the samples (Bickel and Sakov 2008: the full
// bootstrap is wrong for extremes), in closed form: the minimum of m draws of n is above the i-th
// with probability ((n - i) / n)^m.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "src/devices/statistics.h"

namespace edgesage {

struct NoiseLimits {
  double half_width = 0.05;  // relative to the label
  double drift = 0.05;       // relative, between the minima of the thirds
  double deviation = 0.25;   // of a summary: standard deviation over mean
  int64_t min_samples = 10;  // fewer cannot be judged, and are not rejected
};

struct SeriesVerdict {
  SeriesSummary summary;
  double label_ms = 0;               // the statistic of the series
  std::optional<double> half_width;  // of its 90 % interval, relative; absent: too few samples
  std::string rejected;              // why, with what to do; empty: it is a label
};

// `statistic`: "min", "p10", "p50", "p90", "mean"; another one is taken as "p50". `samples` in the
// order taken, in ms, not empty. Costs a few sorts.
[[nodiscard]] SeriesVerdict judge_series(std::span<const double> samples,
                                         std::string_view statistic,
                                         const NoiseLimits& limits = {});

// For a device that gives a summary in place of samples: why it is rejected, or nothing.
[[nodiscard]] std::string judge_summary(double mean_ms, double deviation_ms, int64_t runs,
                                        const NoiseLimits& limits = {});

}  // namespace edgesage
