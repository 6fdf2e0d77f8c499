#include "src/report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/report/html.h"

namespace edgesage::report {
namespace {

constexpr double kBottom = kChartSide - kChartMargin;

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

std::string chart_tick_x(const ChartScale& scale, double value, std::string_view text) {
  return fmt::format(
      "<path class=\"grid\" d=\"M{0:.1f} 10V{1}\"/><text x=\"{0:.1f}\" y=\"{2}\" "
      "text-anchor=\"middle\">{3}</text>",
      scale.x(value), kBottom, kBottom + 15, text);
}

std::string chart_tick_y(const ChartScale& scale, double value, std::string_view text) {
  return fmt::format(
      "<path class=\"grid\" d=\"M{0} {1:.1f}H{2}\"/><text x=\"{3}\" y=\"{4:.1f}\" "
      "text-anchor=\"end\">{5}</text>",
      kChartMargin, scale.y(value), kChartSide - 10, kChartMargin - 5, scale.y(value) + 4, text);
}

std::string chart_logarithmic_square(const ChartScale& scale) {
  std::string body;
  for (double power = std::ceil(scale.low); power <= scale.high; ++power) {
    const std::string text = chart_figure(std::pow(10, power));
    body += chart_tick_x(scale, power, text) + chart_tick_y(scale, power, text);
  }
  return body +
         fmt::format(
             "<path class=\"axis\" stroke-dasharray=\"4\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>",
             scale.x(scale.low), scale.y(scale.low), scale.x(scale.high), scale.y(scale.high));
}

}  // namespace edgesage::report
