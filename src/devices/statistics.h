// Robust statistics of a series of timings.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace edgesage {

// Of a series in the order in which it was taken. All zero for an empty one.
struct SeriesSummary {
  int64_t count = 0;
  double min = 0, p10 = 0, p50 = 0, p90 = 0, max = 0;
  double mad = 0;          // median absolute deviation from p50
  bool stationary = true;  // no drift between its parts
  bool bimodal = false;    // two separate levels, each holding a fifth or more of the samples
  bool noisy = false;      // (p90 - p10) / p50 above 0.2
  std::string reason;      // what is wrong with it, one line; empty when nothing is
};

// The value below which the share `q` of the sorted series lies, interpolated linearly between the
// neighbouring order statistics (the definition that NumPy has as its default). `sorted` is not
// empty.
[[nodiscard]] double quantile(std::span<const double> sorted, double q);

// In any order; not empty.
[[nodiscard]] double median(std::span<const double> samples);

[[nodiscard]] double median_absolute_deviation(std::span<const double> samples);

// Whether the medians of the series' first, middle and last thirds agree within `tolerance`
// (relative), or within what the spread inside the thirds explains. Fewer than 9 samples: true.
[[nodiscard]] bool is_stationary(std::span<const double> samples, double tolerance = 0.05);

// Whether some split into two levels explains the series far better than one level does: it takes
// more than 0.8 of the variance of the logarithms, both levels hold a fifth or more of the samples,
// lie 10 % or more apart, and have a gap between them. Fewer than 10 samples: false.
[[nodiscard]] bool is_bimodal(std::span<const double> samples);

[[nodiscard]] SeriesSummary summarize(std::span<const double> samples);

}  // namespace edgesage
