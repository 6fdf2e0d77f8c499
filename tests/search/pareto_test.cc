#include "src/search/pareto.h"

#include <gtest/gtest.h>

#include "src/base/rng.h"
#include "src/search/staircase.h"

namespace edgesage::search {
namespace {

TEST(Domination, PrefersFeasibleOutcomesAndThenSmallerViolations) {
  const Outcome good{{5, 5}, 0}, better{{4, 5}, 0}, broken{{0, 0}, 0.5}, more_broken{{0, 0}, 0.6};
  EXPECT_TRUE(dominates(better, good));
  EXPECT_FALSE(dominates(good, better));
  EXPECT_FALSE(dominates(good, good));
  EXPECT_TRUE(dominates(good, broken));
  EXPECT_TRUE(dominates(broken, more_broken));
  EXPECT_FALSE(dominates(Outcome{{1, 9}, 0}, Outcome{{9, 1}, 0}));
}

TEST(FrontRanks, PeelFrontsOneByOne) {
  Rng rng(1);
  std::vector<Outcome> outcomes;
  for (int i = 0; i < 200; ++i)
    outcomes.push_back(
        {{rng.uniform(), rng.uniform(), rng.uniform()}, rng.chance(0.2) ? rng.uniform() : 0.0});
  const std::vector<int32_t> ranks = front_ranks(outcomes);
  for (size_t i = 0; i < outcomes.size(); ++i) {
    // By definition: one above the highest of what dominates it.
    int32_t expected = 0;
    for (size_t j = 0; j < outcomes.size(); ++j)
      if (dominates(outcomes[j], outcomes[i])) expected = std::max(expected, ranks[j] + 1);
    EXPECT_EQ(ranks[i], expected);
  }
}

TEST(Hypervolume, IsTheShareOfRandomPointsThatAreDominated) {
  Rng rng(2);
  for (const size_t objectives : {1U, 2U, 3U, 4U}) {
    std::vector<std::vector<double>> points(12);
    for (auto& point : points)
      for (size_t i = 0; i < objectives; ++i) point.push_back(rng.uniform());
    const std::vector<double> reference(objectives, 1.0);
    constexpr int kDraws = 200'000;
    int inside = 0;
    for (int draw = 0; draw < kDraws; ++draw) {
      std::vector<double> at;
      for (size_t i = 0; i < objectives; ++i) at.push_back(rng.uniform());
      const auto covers = [&](const std::vector<double>& point) {
        for (size_t i = 0; i < objectives; ++i)
          if (point[i] > at[i]) return false;
        return true;
      };
      for (const auto& point : points)
        if (covers(point)) {
          ++inside;
          break;
        }
    }
    EXPECT_NEAR(hypervolume(points, reference), static_cast<double>(inside) / kDraws, 0.006);
  }
}

TEST(Hypervolume, CountsNothingBeyondTheReference) {
  EXPECT_EQ(hypervolume({{2.0, 0.0}, {1.0, 0.5}}, std::vector<double>{1.0, 1.0}), 0.0);
  EXPECT_EQ(hypervolume({}, std::vector<double>{1.0, 1.0}), 0.0);
  EXPECT_DOUBLE_EQ(hypervolume({{0.5, 0.5}, {0.5, 0.5}}, std::vector<double>{1.0, 1.0}), 0.25);
}

TEST(Front, HoldsOnlyWhatNothingDominates) {
  std::vector<Individual> front;
  EXPECT_TRUE(add_to_front(front, {{0}, {{2, 2}, 0}}));
  EXPECT_TRUE(add_to_front(front, {{1}, {{1, 3}, 0}}));
  EXPECT_FALSE(add_to_front(front, {{2}, {{3, 3}, 0}}));
  EXPECT_FALSE(add_to_front(front, {{3}, {{2, 2}, 0}}));
  EXPECT_FALSE(add_to_front(front, {{4}, {{0, 0}, 1}}));
  EXPECT_TRUE(add_to_front(front, {{5}, {{1, 1}, 0}}));
  EXPECT_EQ(front.size(), 1U);
}

TEST(Staircase, FindsTheStepsOfADeviceThatWorksInSixteens) {
  std::vector<int32_t> widths = sampled_widths(64, 8, 128);
  std::vector<double> cost;
  for (const int32_t width : widths) cost.push_back(10.0 + (width + 15) / 16);
  const Staircase stairs = find_steps(widths, cost);
  EXPECT_EQ(stairs.steps, (std::vector<int32_t>{16, 32, 48, 64}));
  EXPECT_EQ(choose_steps(stairs, 2), (std::vector<int32_t>{16, 64}));
  EXPECT_EQ(choose_steps(stairs, 9), stairs.steps);
}

TEST(Staircase, KeepsEveryWidthWhereEachIsCheaper) {
  std::vector<int32_t> widths = sampled_widths(1000, 250, 100);
  EXPECT_EQ(widths.back(), 1000);
  EXPECT_EQ(widths.front(), 250);
  EXPECT_LE(widths.size(), 103U);
  std::vector<double> cost;
  for (const int32_t width : widths) cost.push_back(width);
  EXPECT_EQ(find_steps(widths, cost).steps, widths);
  const std::vector<int32_t> chosen = choose_steps(find_steps(widths, cost), 16);
  EXPECT_EQ(chosen.size(), 16U);
  EXPECT_EQ(chosen.back(), 1000);
  EXPECT_TRUE(std::is_sorted(chosen.begin(), chosen.end()));
}

}  // namespace
}  // namespace edgesage::search
