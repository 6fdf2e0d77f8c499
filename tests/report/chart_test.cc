#include "src/report/chart.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <string>
#include <vector>

#include "src/base/rng.h"

namespace edgesage::report {
namespace {

std::vector<std::string> texts(const std::vector<ChartTick>& ticks) {
  std::vector<std::string> found;
  for (const ChartTick& tick : ticks) found.push_back(tick.text);
  return found;
}

using Texts = std::vector<std::string>;

TEST(ChartTicks, LinearOnesAreRoundWithAsManyDecimals) {
  EXPECT_EQ(texts(linear_ticks(0, 1)), (Texts{"0.0", "0.2", "0.4", "0.6", "0.8", "1.0"}));
  EXPECT_EQ(texts(linear_ticks(0, 12.588)), (Texts{"0", "5", "10"}));
  EXPECT_EQ(texts(linear_ticks(-0.3, 0.27)), (Texts{"-0.3", "-0.2", "-0.1", "0.0", "0.1", "0.2"}));
  EXPECT_EQ(texts(linear_ticks(0.09137, 0.0932)), (Texts{"0.0915", "0.0920", "0.0925", "0.0930"}));
  EXPECT_EQ(texts(linear_ticks(0, 3e6)),
            (Texts{"0", "0.5e6", "1.0e6", "1.5e6", "2.0e6", "2.5e6", "3.0e6"}));
  EXPECT_EQ(texts(linear_ticks(0, 4e-6)), (Texts{"0", "1e-6", "2e-6", "3e-6", "4e-6"}));
  EXPECT_EQ(texts(linear_ticks(0, 2.1, 6, 1)), (Texts{"0", "1", "2"}));
}

TEST(ChartTicks, LogarithmicOnesAreOneTwoFiveOrPowersOfTen) {
  EXPECT_EQ(texts(logarithmic_ticks(-1, 1)), (Texts{"0.1", "0.2", "0.5", "1", "2", "5", "10"}));
  EXPECT_EQ(texts(logarithmic_ticks(0.05, 4.2)), (Texts{"10", "100", "1000", "10000"}));
  EXPECT_EQ(texts(logarithmic_ticks(-6.1, -4.9)), (Texts{"1e-6", "2e-6", "5e-6", "1e-5"}));
  // Less than a decade: linear, for 1, 2 and 5 would be one label.
  EXPECT_EQ(texts(logarithmic_ticks(std::log10(3.147), std::log10(4.6))),
            (Texts{"3.5", "4.0", "4.5"}));
  EXPECT_EQ(texts(logarithmic_ticks(0, 20)).size(), 7U);
}

TEST(ChartTicks, NothingToDivideHasNone) {
  for (const double high : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    EXPECT_TRUE(linear_ticks(0, high).empty());
    EXPECT_TRUE(logarithmic_ticks(0, high).empty());
  }
}

// Whatever the range: some ticks, few, inside, rising, no text twice, and no label beyond the
// picture, at the width that the widest of common fonts gives a character.
TEST(ChartTicks, AnyRangeIsReadable) {
  Rng rng(1, "ticks");
  const std::regex label(
      "<text x=\"([-0-9.]+)\" y=\"([-0-9.]+)\" text-anchor=\"(\\w+)\"( textLength=\"([0-9.]+)\" "
      "lengthAdjust=\"spacingAndGlyphs\")?>([^<]*)<");
  for (int round = 0; round < 2000; ++round) {
    const double width = std::pow(10, rng.uniform(-8, 9));
    const double low = rng.uniform(-1, 1) * width * std::pow(10, rng.uniform(-1, 1.5));
    const ChartScale linear{low, low + width};
    const double begin = rng.uniform(-9, 9);
    const ChartScale logarithmic{begin, begin + std::pow(10, rng.uniform(-1.5, 1.2))};
    for (const bool is_linear : {true, false}) {
      const ChartScale& scale = is_linear ? linear : logarithmic;
      const auto ticks = is_linear ? linear_ticks(scale.low, scale.high)
                                   : logarithmic_ticks(scale.low, scale.high);
      const double slack = 1e-6 * (scale.high - scale.low);
      ASSERT_GE(ticks.size(), 2U) << scale.low << ' ' << scale.high;
      ASSERT_LE(ticks.size(), 9U) << scale.low << ' ' << scale.high;
      for (size_t i = 0; i < ticks.size(); ++i) {
        EXPECT_GE(ticks[i].value, scale.low - slack);
        EXPECT_LE(ticks[i].value, scale.high + slack);
        if (i == 0) continue;
        EXPECT_GT(ticks[i].value, ticks[i - 1].value);
        EXPECT_NE(ticks[i].text, ticks[i - 1].text);
      }
      const std::string svg = chart_ticks_x(scale, ticks) + chart_ticks_y(scale, ticks);
      size_t labels = 0;
      double end_before = -kChartSide;
      for (std::sregex_iterator at(svg.begin(), svg.end(), label), last; at != last;
           ++at, ++labels) {
        const std::smatch& found = *at;
        const double x = std::stod(found[1]);
        const double wide =
            found[5].matched ? std::stod(found[5]) : 6.6 * static_cast<double>(found[6].length());
        const bool is_middle = found[3] == "middle";
        EXPECT_GE(x - (is_middle ? wide / 2 : wide), -0.1) << svg;
        EXPECT_LE(x + (is_middle ? wide / 2 : 0), kChartSide + 0.1) << svg;
        if (is_middle) {
          EXPECT_GT(x - wide / 2, end_before) << svg;
          end_before = x + wide / 2;
        }
        EXPECT_GE(std::stod(found[2]), 11) << svg;
        EXPECT_LE(std::stod(found[2]), kChartSide) << svg;
      }
      EXPECT_GT(labels, ticks.size());
      EXPECT_LE(labels, 2 * ticks.size());
    }
  }
}

}  // namespace
}  // namespace edgesage::report
