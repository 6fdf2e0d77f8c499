// Square charts as SVG, for pages: axes, ticks, and a mapping of the data to the inside.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace edgesage::report {

inline constexpr double kChartSide = 340, kChartMargin = 52;

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

// The whole picture: `body` is what chart_ticks_x and the like made.
[[nodiscard]] std::string chart(std::string_view title, std::string_view x_label,
                                std::string_view body);

// A place on an axis and what stands there.
struct ChartTick {
  double value = 0;  // as the scale has it: of a logarithmic axis the logarithm
  std::string text;
  bool operator==(const ChartTick&) const = default;
};
// At most `most` multiples of 1, 2 or 5 times a power of ten, and of `least_step` at least (1:
// whole numbers), from low to high; all with as many decimals. None where high is not above low.
[[nodiscard]] std::vector<ChartTick> linear_ticks(double low, double high, int most = 6,
                                                  double least_step = 0);
// Of an axis of decimal logarithms: 1, 2 and 5 of each power of ten where there is room, else
// powers of ten; of less than about a decade linear ticks.
[[nodiscard]] std::vector<ChartTick> logarithmic_ticks(double low, double high);

// Lines across the chart and their labels, which stay inside of the picture and beside each other
// whatever they say: a label without room to the right of the one before it is left out.
[[nodiscard]] std::string chart_ticks_x(const ChartScale& scale,
                                        const std::vector<ChartTick>& ticks);
[[nodiscard]] std::string chart_ticks_y(const ChartScale& scale,
                                        const std::vector<ChartTick>& ticks);
// Logarithmic ticks on both axes, and the diagonal where both are equal.
[[nodiscard]] std::string chart_logarithmic_square(const ChartScale& scale);

}  // namespace edgesage::report
