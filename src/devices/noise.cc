#include "src/devices/noise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace edgesage {
namespace {

constexpr double kNormal90 = 1.645;  // both tails of 5 %
constexpr std::string_view kRemedy =
    "measure it again on a quiet machine ('edgesage devices --check NAME' says what disturbs it), "
    "or with more runs";

double quantile_of(std::string_view statistic) {
  if (statistic == "p10") return 0.1;
  if (statistic == "p90") return 0.9;
  return 0.5;
}

double mean_of(std::span<const double> samples) {
  double sum = 0;
  for (const double sample : samples) sum += sample;
  return sum / static_cast<double>(samples.size());
}

double half_width_of_mean(std::span<const double> samples, double mean) {
  double squares = 0;
  for (const double sample : samples) squares += (sample - mean) * (sample - mean);
  const auto count = static_cast<double>(samples.size());
  return kNormal90 * std::sqrt(squares / (count - 1) / count) / mean;
}

double half_width_of_minimum(std::span<const double> sorted) {
  const auto count = static_cast<double>(sorted.size());
  const double draws = std::max(1.0, std::floor(count / 3));
  // The lowest rank that the minimum of the draws does not exceed with this probability.
  const auto rank = [&](double probability) {
    const double above = std::pow(1 - probability, 1 / draws);
    const double i = std::ceil(count * (1 - above));
    return static_cast<size_t>(std::clamp(i, 1.0, count)) - 1;
  };
  return (sorted[rank(0.95)] - sorted[rank(0.05)]) / 2 / sorted.front();
}

double half_width_of_quantile(std::span<const double> sorted, double q, double label) {
  const auto count = static_cast<double>(sorted.size());
  const double reach = kNormal90 * std::sqrt(count * q * (1 - q)) / (count - 1);
  return (quantile(sorted, std::min(1.0, q + reach)) - quantile(sorted, std::max(0.0, q - reach))) /
         2 / label;
}

// Empty where the minima of the thirds agree.
std::string apart(std::span<const double> samples, double drift) {
  const size_t third = samples.size() / 3;
  double minima[3], low = samples.front(), high = 0;
  for (size_t i = 0; i < 3; ++i) {
    const auto part = i < 2 ? samples.subspan(i * third, third) : samples.subspan(2 * third);
    minima[i] = *std::min_element(part.begin(), part.end());
    low = i == 0 ? minima[i] : std::min(low, minima[i]);
    high = std::max(high, minima[i]);
  }
  if (high <= low * (1 + drift)) return "";
  return fmt::format(
      "the minima of its thirds are {:.4g}, {:.4g} and {:.4g} ms, more than {:g} % "
      "apart",
      minima[0], minima[1], minima[2], 100 * drift);
}

}  // namespace

SeriesVerdict judge_series(std::span<const double> samples, std::string_view statistic,
                           const NoiseLimits& limits) {
  SeriesVerdict verdict;
  verdict.summary = summarize(samples);
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  const bool minimum = statistic == "min", mean = statistic == "mean";
  if (minimum)
    verdict.label_ms = sorted.front();
  else if (mean)
    verdict.label_ms = mean_of(samples);
  else
    verdict.label_ms = quantile(sorted, quantile_of(statistic));
  if (verdict.summary.count < limits.min_samples || !(sorted.front() > 0)) return verdict;

  if (minimum)
    verdict.half_width = half_width_of_minimum(sorted);
  else if (mean)
    verdict.half_width = half_width_of_mean(samples, verdict.label_ms);
  else
    verdict.half_width = half_width_of_quantile(sorted, quantile_of(statistic), verdict.label_ms);
  std::string why;
  if (minimum)
    why = apart(samples, limits.drift);
  else if (verdict.summary.bimodal || !verdict.summary.stationary)
    why = verdict.summary.reason;
  if (why.empty() && *verdict.half_width > limits.half_width)
    why = fmt::format("the 90 % interval of its {} is +-{:.1f} %, wider than {:g} %", statistic,
                      100 * *verdict.half_width, 100 * limits.half_width);
  if (!why.empty()) verdict.rejected = fmt::format("{}; {}", why, kRemedy);
  return verdict;
}

std::string judge_summary(double mean_ms, double deviation_ms, int64_t runs,
                          const NoiseLimits& limits) {
  const double deviation = deviation_ms / mean_ms;
  if (deviation > limits.deviation)
    return fmt::format("its standard deviation is {:.0f} % of the mean, more than {:g} %; {}",
                       100 * deviation, 100 * limits.deviation, kRemedy);
  const double half_width = kNormal90 * deviation / std::sqrt(static_cast<double>(runs));
  if (runs > 1 && half_width > limits.half_width)
    return fmt::format("the 90 % interval of its mean is +-{:.1f} %, wider than {:g} %; {}",
                       100 * half_width, 100 * limits.half_width, kRemedy);
  return "";
}

}  // namespace edgesage
