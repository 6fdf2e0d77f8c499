#include "src/spaces/trained_weights.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string_view>
#include <vector>

#include "src/base/hash.h"
#include "src/base/portable_math.h"

namespace edgesage {
namespace {

TEST(PortableMath, AgreesWithTheCLibrary) {
  Rng rng(1);
  for (int i = 0; i < 20000; ++i) {
    const double x = std::exp(rng.uniform(-300, 300));
    EXPECT_NEAR(portable_log(x), std::log(x), 1e-12 * std::max(1.0, std::abs(std::log(x))));
    const double y = rng.uniform(-300, 300);
    EXPECT_NEAR(portable_exp(y) / std::exp(y), 1, 2e-12);
  }
  EXPECT_EQ(portable_log(1), 0);
  EXPECT_EQ(portable_exp(0), 1);
}

// Quantiles of the distributions, from tables.
TEST(PortableMath, VariatesHaveTheirQuantiles) {
  constexpr int kDraws = 200'000;
  Rng rng(2);
  int normal = 0, laplace = 0, student = 0;
  for (int i = 0; i < kDraws; ++i) {
    normal += std::abs(portable_normal(rng)) > 1.959964;         // 5 %
    laplace += std::abs(portable_laplace(rng)) > 2.995732;       // 5 %
    student += std::abs(portable_student_t(rng, 4)) > 2.776445;  // 5 %
  }
  for (const int count : {normal, laplace, student}) EXPECT_NEAR(count, 0.05 * kDraws, 400);
}

struct Filter {
  FilterLayout layout;
  std::vector<int8_t> stored;
  Filter(FilterLayout given, uint64_t seed,
         TrainedWeights::Drawing drawing = TrainedWeights::Drawing::kEach)
      : layout(given) {
    stored.resize(static_cast<size_t>(layout.channels * layout.taps));
    TrainedWeights(seed, drawing).fill(layout, stored);
  }
  [[nodiscard]] double zeros() const {
    return static_cast<double>(std::count(stored.begin(), stored.end(), 0)) /
           static_cast<double>(stored.size());
  }
  [[nodiscard]] double kurtosis() const {
    double second = 0, fourth = 0;
    for (const int8_t value : stored) {
      const double square = static_cast<double>(value) * value;
      second += square;
      fourth += square * square;
    }
    const auto count = static_cast<double>(stored.size());
    return second > 0 ? fourth / count / (second / count * second / count) : 0;
  }
};

constexpr FilterLayout kConv{.kind = OpKind::kConv2D, .channels = 32, .taps = 288};

TEST(TrainedWeights, EveryLivingChannelReachesTheLargestMagnitude) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Filter filter(kConv, seed);
    for (int64_t channel = 0; channel < kConv.channels; ++channel) {
      int largest = 0;
      for (int64_t i = 0; i < kConv.taps; ++i)
        largest = std::max(
            largest, std::abs(int{filter.stored[static_cast<size_t>(channel * kConv.taps + i)]}));
      // Clustered grids leave out one end, so the largest may be a step below.
      EXPECT_TRUE(largest == 0 || largest >= 110) << seed;
      EXPECT_LE(largest, 127);
    }
  }
}

TEST(TrainedWeights, ChannelsOfDepthwiseFiltersAreTheLastDimension) {
  const Filter filter(
      {.kind = OpKind::kDepthwiseConv2D, .channels = 20, .taps = 9, .channel_last = true}, 5);
  for (size_t channel = 0; channel < 20; ++channel) {
    int largest = 0;
    for (size_t tap = 0; tap < 9; ++tap)
      largest = std::max(largest, std::abs(int{filter.stored[tap * 20 + channel]}));
    EXPECT_TRUE(largest == 0 || largest >= 110);
  }
}

TEST(TrainedWeights, AShareIsPrunedAShareIsClusteredAndMostHaveHeavyTails) {
  constexpr int kNetworks = 300;
  int pruned = 0, clustered = 0, heavy = 0;
  for (uint64_t seed = 0; seed < kNetworks; ++seed) {
    const Filter filter(kConv, seed);
    const std::set<int8_t> distinct(filter.stored.begin(), filter.stored.end());
    EXPECT_GE(distinct.size(), 3U);
    clustered += distinct.size() <= 33;
    // Rounding alone makes zeros of the middle of heavy-tailed values.
    pruned += filter.zeros() > 0.25 && distinct.size() > 33;
    heavy += filter.kurtosis() > 3.3;
  }
  fmt::print("pruned {} clustered {} heavy {} of {}\n", pruned, clustered, heavy, kNetworks);
  EXPECT_GE(pruned, kNetworks * 12 / 100);
  EXPECT_LE(pruned, kNetworks * 40 / 100);
  EXPECT_GE(clustered, kNetworks * 6 / 100);
  EXPECT_LE(clustered, kNetworks * 20 / 100);
  EXPECT_GE(heavy, kNetworks / 2);
}

// Drawing from a table must not show: the same networks are pruned and clustered, and as much.
TEST(TrainedWeights, TabledFiltersLookLikeThoseDrawnOneByOne) {
  double zeros_each = 0, zeros_tabled = 0, tails_each = 0, tails_tabled = 0;
  constexpr int kNetworks = 200;
  for (uint64_t seed = 0; seed < kNetworks; ++seed) {
    const Filter each(kConv, seed);
    const Filter tabled(kConv, seed, TrainedWeights::Drawing::kTabled);
    EXPECT_NEAR(each.zeros(), tabled.zeros(), 0.15) << seed;
    const std::set<int8_t> distinct(tabled.stored.begin(), tabled.stored.end());
    const std::set<int8_t> expected(each.stored.begin(), each.stored.end());
    EXPECT_EQ(distinct.size() <= 33, expected.size() <= 33) << seed;
    zeros_each += each.zeros();
    zeros_tabled += tabled.zeros();
    tails_each += std::min(each.kurtosis(), 10.0);
    tails_tabled += std::min(tabled.kurtosis(), 10.0);
    for (int64_t channel = 0; channel < kConv.channels; ++channel) {
      int largest = 0;
      for (int64_t i = 0; i < kConv.taps; ++i)
        largest = std::max(
            largest, std::abs(int{tabled.stored[static_cast<size_t>(channel * kConv.taps + i)]}));
      EXPECT_TRUE(largest == 0 || largest >= 110) << seed;
    }
  }
  fmt::print("zeros {:.3f} and {:.3f}, kurtosis {:.2f} and {:.2f}\n", zeros_each / kNetworks,
             zeros_tabled / kNetworks, tails_each / kNetworks, tails_tabled / kNetworks);
  EXPECT_NEAR(zeros_each / kNetworks, zeros_tabled / kNetworks, 0.02);
  EXPECT_NEAR(tails_each / tails_tabled, 1, 0.1);
}

TEST(TrainedWeights, TabledDepthwiseChannelsAreTheLastDimension) {
  const Filter filter(
      {.kind = OpKind::kDepthwiseConv2D, .channels = 20, .taps = 9, .channel_last = true}, 5,
      TrainedWeights::Drawing::kTabled);
  for (size_t channel = 0; channel < 20; ++channel) {
    int largest = 0;
    for (size_t tap = 0; tap < 9; ++tap)
      largest = std::max(largest, std::abs(int{filter.stored[tap * 20 + channel]}));
    EXPECT_TRUE(largest == 0 || largest >= 110);
  }
}

// Labels belong to networks by their bytes: however weights are drawn, these are drawn.
TEST(TrainedWeights, BytesStayThoseOfTheFirstVersion) {
  Hasher hasher;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    TrainedWeights weights(seed);
    for (int k = 0; k < 12; ++k) {
      FilterLayout layout{.kind = OpKind::kConv2D,
                          .channels = 8 << (k % 5),
                          .taps = (k % 3 == 0 ? 9 : 64) << (k % 4)};
      if (k == 5) {
        layout.kind = OpKind::kDepthwiseConv2D;
        layout.channel_last = true;
        layout.taps = 9;
      }
      if (k == 7 || k == 11) layout.kind = OpKind::kFullyConnected;
      if (k == 9) layout.taps = 1;
      std::vector<int8_t> stored(static_cast<size_t>(layout.channels * layout.taps));
      weights.fill(layout, stored);
      hasher.add(std::string_view(reinterpret_cast<const char*>(stored.data()), stored.size()));
    }
  }
  EXPECT_EQ(hasher.low64(), 0x0e615474fc024159U);
}

TEST(TrainedWeights, SingleValuesAndEmptyFiltersAreFine) {
  const Filter one({.kind = OpKind::kFullyConnected, .channels = 1, .taps = 1}, 3);
  EXPECT_EQ(one.stored.size(), 1U);
  const Filter none({.kind = OpKind::kFullyConnected, .channels = 0, .taps = 1}, 3);
  EXPECT_TRUE(none.stored.empty());
}

}  // namespace
}  // namespace edgesage
