#include "src/devices/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace edgesage {
namespace {

std::vector<double> sorted_copy(std::span<const double> samples) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

constexpr double kNoisySpread = 0.2;
constexpr double kModeShare = 0.2;
constexpr double kModeVariance = 0.8;
constexpr double kModeDistance = 0.1;

}  // namespace

double median(std::span<const double> samples) { return quantile(sorted_copy(samples), 0.5); }

double quantile(std::span<const double> sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const double fraction = position - static_cast<double>(below);
  return sorted[below] + fraction * (sorted[above] - sorted[below]);
}

double median_absolute_deviation(std::span<const double> samples) {
  if (samples.empty()) return 0;
  const double centre = median(samples);
  std::vector<double> deviations;
  for (const double sample : samples) deviations.push_back(std::abs(sample - centre));
  return median(deviations);
}

bool is_stationary(std::span<const double> samples, double tolerance) {
  if (samples.size() < 9) return true;
  const size_t third = samples.size() / 3;
  const std::span<const double> parts[3] = {samples.first(third),
                                            samples.subspan(third, samples.size() - 2 * third),
                                            samples.last(third)};
  double low = median(parts[0]), high = low, spread = 0;
  for (const std::span<const double> part : parts) {
    low = std::min(low, median(part));
    high = std::max(high, median(part));
    // Standard error of a median of normal data: 1.2533 sigma / sqrt(n), sigma = 1.4826 MAD.
    const double error = 1.2533 * 1.4826 * median_absolute_deviation(part) /
                         std::sqrt(static_cast<double>(part.size()));
    spread = std::max(spread, error);
  }
  return high - low <= std::max(tolerance * low, 4 * spread);
}

bool is_bimodal(std::span<const double> samples) {
  if (samples.size() < 10) return false;
  std::vector<double> logs;
  for (const double sample : samples) logs.push_back(std::log(std::max(sample, 1e-12)));
  std::sort(logs.begin(), logs.end());
  const auto count = static_cast<double>(logs.size());
  double total = 0, squares = 0;
  for (const double value : logs) total += value;
  const double mean = total / count;
  for (const double value : logs) squares += (value - mean) * (value - mean);
  if (squares <= 0) return false;
  double below = 0;
  for (size_t split = 1; split < logs.size(); ++split) {
    below += logs[split - 1];
    const auto n = static_cast<double>(split);
    if (n < kModeShare * count || count - n < kModeShare * count) continue;
    const double distance = (total - below) / (count - n) - below / n;
    const double between = n * (count - n) / count * distance * distance;
    // The gap keeps one wide, even level from being cut in two.
    const double gap = logs[split] - logs[split - 1];
    if (between > kModeVariance * squares && distance > kModeDistance && gap > 0.25 * distance)
      return true;
  }
  return false;
}

SeriesSummary summarize(std::span<const double> samples) {
  SeriesSummary summary;
  if (samples.empty()) return summary;
  const std::vector<double> sorted = sorted_copy(samples);
  summary.count = static_cast<int64_t>(sorted.size());
  summary.min = sorted.front();
  summary.p10 = quantile(sorted, 0.1);
  summary.p50 = quantile(sorted, 0.5);
  summary.p90 = quantile(sorted, 0.9);
  summary.max = sorted.back();
  summary.mad = median_absolute_deviation(samples);
  summary.stationary = is_stationary(samples);
  summary.bimodal = is_bimodal(samples);
  summary.noisy = summary.p50 > 0 && (summary.p90 - summary.p10) / summary.p50 > kNoisySpread;
  if (summary.bimodal) {
    summary.reason = "two separate levels";
  } else if (!summary.stationary) {
    summary.reason = "its first, middle and last thirds differ";
  } else if (summary.noisy) {
    summary.reason =
        fmt::format("p10 to p90 is {:.0f} % of the median, more than {:.0f} %",
                    100 * (summary.p90 - summary.p10) / summary.p50, 100 * kNoisySpread);
  }
  return summary;
}

}  // namespace edgesage
