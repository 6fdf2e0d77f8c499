#include "src/report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/report/html.h"

namespace edgesage::report {
namespace {

constexpr double kBottom = kChartSide - kChartMargin;
constexpr size_t kMostTicks = 9;  // of a logarithmic axis

// Of a label, rather too much: digits of common fonts take 0.55 to 0.6 of the size of 11.
double width_of(std::string_view text) { return 6.6 * static_cast<double>(text.size()); }

int exponent_of(double value) { return static_cast<int>(std::floor(std::log10(value) + 1e-9)); }

}  // namespace

std::string chart_figure(double value) {
  return value != 0 && (std::abs(value) < 0.01 || std::abs(value) >= 1e6)
             ? fmt::format("{:.2e}", value)
             : fmt::format("{:.4g}", value);
}

ChartScale scale_around(double low, double high) {
  const double margin = std::max(1e-9, 0.05 * (high - low));
  return {low - margin, high + margin};
}

std::string chart(std::string_view title, std::string_view x_label, std::string_view body) {
  return fmt::format(
      "<svg width=\"{0}\" height=\"{0}\" viewBox=\"0 0 {0} {0}\" role=\"img\" "
      "aria-label=\"{1}\"><path class=\"axis\" d=\"M{2} 10V{3}H{4}\"/>{5}"
      "<text x=\"{6}\" y=\"{7}\" text-anchor=\"middle\">{8}</text></svg>",
      kChartSide, escaped(title), kChartMargin, kBottom, kChartSide - 10, body,
      (kChartSide + kChartMargin) / 2, kChartSide - 8, escaped(x_label));
}

std::vector<ChartTick> linear_ticks(double low, double high, int most, double least_step) {
  const double range = high - low;
  if (!(range > 0) || !std::isfinite(range)) return {};
  const double power = std::pow(10, std::floor(std::log10(range / most)));
  double step = 10 * power;
  for (const double digit : {5, 2, 1})
    if (range / (digit * power) <= most) step = digit * power;
  step = std::max(step, least_step);
  const double slack = 1e-9 * range, largest = std::max(std::abs(low), std::abs(high));
  const int digits = exponent_of(step), exponent = exponent_of(largest);
  const bool plain = digits >= -4 && exponent < 6;
  std::vector<ChartTick> ticks;
  for (double i = std::ceil((low - slack) / step); i * step <= high + slack; ++i) {
    const double value = i == 0 ? 0 : i * step;
    ticks.push_back({value, plain || value == 0
                                ? fmt::format("{:.{}f}", value, plain ? std::max(0, -digits) : 0)
                                : fmt::format("{:.{}f}e{}", value / std::pow(10, exponent),
                                              std::max(0, exponent - digits), exponent)});
  }
  return ticks;
}

std::vector<ChartTick> logarithmic_ticks(double low, double high) {
  if (!(high > low) || !(high - low < 1000)) return {};
  constexpr double kSlack = 1e-9;
  std::vector<ChartTick> all, tens;
  for (auto power = static_cast<int>(std::floor(low)); power <= high; ++power) {
    for (const int digit : {1, 2, 5}) {
      const double at = power + std::log10(digit);
      if (at < low - kSlack || at > high + kSlack) continue;
      const double value = digit * std::pow(10, power);
      const std::string text = power < -3 || power > 4
                                   ? fmt::format("{}e{}", digit, power)
                                   : fmt::format("{:.{}f}", value, std::max(0, -power));
      all.push_back({at, text});
      if (digit == 1) tens.push_back({at, text});
    }
  }
  if (all.size() <= kMostTicks && all.size() >= 3) return all;
  if (all.size() > kMostTicks) {
    std::vector<ChartTick> kept;
    const size_t every = (tens.size() + kMostTicks - 1) / kMostTicks;
    for (size_t i = 0; i < tens.size(); i += every) kept.push_back(std::move(tens[i]));
    return kept;
  }
  std::vector<ChartTick> ticks = linear_ticks(std::pow(10, low), std::pow(10, high));
  for (ChartTick& tick : ticks) tick.value = std::log10(tick.value);
  return ticks;
}

std::string chart_ticks_x(const ChartScale& scale, const std::vector<ChartTick>& ticks) {
  std::string body;
  double end = -kChartSide;  // of the label before
  for (const ChartTick& tick : ticks) {
    body += fmt::format("<path class=\"grid\" d=\"M{:.1f} 10V{}\"/>", scale.x(tick.value), kBottom);
    const double half = width_of(tick.text) / 2;
    const double middle = std::clamp(scale.x(tick.value), half, kChartSide - half);
    if (middle - half < end + 3) continue;
    end = middle + half;
    body += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>", middle,
                        kBottom + 15, tick.text);
  }
  return body;
}

std::string chart_ticks_y(const ChartScale& scale, const std::vector<ChartTick>& ticks) {
  constexpr double kRoom = kChartMargin - 5;
  std::string body;
  for (const ChartTick& tick : ticks)
    body += fmt::format(
        "<path class=\"grid\" d=\"M{} {:.1f}H{}\"/><text x=\"{}\" y=\"{:.1f}\" "
        "text-anchor=\"end\"{}>{}</text>",
        kChartMargin, scale.y(tick.value), kChartSide - 10, kRoom, scale.y(tick.value) + 4,
        width_of(tick.text) > kRoom
            ? fmt::format(" textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\"", kRoom - 2)
            : "",
        tick.text);
  return body;
}

std::string chart_logarithmic_square(const ChartScale& scale) {
  const std::vector<ChartTick> ticks = logarithmic_ticks(scale.low, scale.high);
  const std::string body = chart_ticks_x(scale, ticks) + chart_ticks_y(scale, ticks);
  return body +
         fmt::format(
             "<path class=\"axis\" stroke-dasharray=\"4\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>",
             scale.x(scale.low), scale.y(scale.low), scale.x(scale.high), scale.y(scale.high));
}

}  // namespace edgesage::report
