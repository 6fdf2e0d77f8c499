// Square charts as SVG, for pages: axes, ticks, and a mapping of the data to the inside.
#pragma once

#include <string>
#include <string_view>

namespace edgesage::report {

inline constexpr double kChartSide = 340, kChartMargin = 46;

// Style of the classes that charts use, for pages that bring their own colours.
inline constexpr std::string_view kChartStyle =
    "svg{margin:.3rem 1rem .3rem 0;max-width:100%}svg text{font:11px system-ui,sans-serif;"
    "fill:#4a5568}.axis{stroke:#8a94a6;fill:none}.grid{stroke:#e7ebf1}.in{fill:#2867b2;"
    "fill-opacity:.65}.out{fill:#c4392b}.line{stroke:#2867b2;fill:none;stroke-width:2}"
    ".bar{fill:#7aa6d8}";

// Four digits; very small and very large figures with an exponent.
[[nodiscard]] std::string chart_figure(double value);

// Maps [low, high] of the data to the inside of a chart.
struct ChartScale {
  double low = 0, high = 1;
  [[nodiscard]] double x(double value) const {
    return kChartMargin + (value - low) / (high - low) * (kChartSide - kChartMargin - 10);
  }
  [[nodiscard]] double y(double value) const {
    return kChartSide - kChartMargin -
           (value - low) / (high - low) * (kChartSide - kChartMargin - 10);
  }
};

// With a margin around the data; never empty.
[[nodiscard]] ChartScale scale_around(double low, double high);

// The whole picture: `body` is what chart_tick_x and the like made.
[[nodiscard]] std::string chart(std::string_view title, std::string_view x_label,
                                std::string_view body);

[[nodiscard]] std::string chart_tick_x(const ChartScale& scale, double value,
                                       std::string_view text);
[[nodiscard]] std::string chart_tick_y(const ChartScale& scale, double value,
                                       std::string_view text);
// Ticks at powers of ten on both axes, of logarithms, and the diagonal where both are equal.
[[nodiscard]] std::string chart_logarithmic_square(const ChartScale& scale);

}  // namespace edgesage::report
