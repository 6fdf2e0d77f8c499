#include "src/search/greedy_adaptation.h"

#include <gtest/gtest.h>

#include <numeric>

namespace edgesage::search {
namespace {

// Gene 0 is expensive and matters little, gene 1 is cheap and matters.
AdaptationProblem two_genes() {
  AdaptationProblem problem;
  problem.counts = {10, 10};
  problem.start = {9, 9};
  problem.cost = [](std::span<const Genome> genomes) {
    std::vector<double> cost;
    for (const Genome& genome : genomes) cost.push_back(10.0 * genome[0] + genome[1] + 1);
    return Result<std::vector<double>>(cost);
  };
  problem.quality = [](std::span<const Genome> genomes) {
    std::vector<double> quality;
    for (const Genome& genome : genomes) quality.push_back(genome[0] + 5.0 * genome[1]);
    return Result<std::vector<double>>(quality);
  };
  return problem;
}

TEST(GreedyAdaptation, TakesFromWhatMattersLeast) {
  const auto adapted = adapt_greedily(two_genes(), {.target = 40}, [](auto&) { return true; });
  ASSERT_TRUE(adapted);
  EXPECT_TRUE(adapted->reached);
  const AdaptationStep& last = adapted->steps.back();
  EXPECT_LE(last.cost, 40);
  EXPECT_EQ(last.genome, (Genome{3, 9}));
  for (size_t i = 1; i < adapted->steps.size(); ++i)
    EXPECT_LT(adapted->steps[i].cost, adapted->steps[i - 1].cost);
}

TEST(GreedyAdaptation, SaysWhereATargetCannotBeReached) {
  const auto adapted = adapt_greedily(two_genes(), {.target = 0.5}, [](auto&) { return true; });
  ASSERT_TRUE(adapted);
  EXPECT_FALSE(adapted->reached);
  EXPECT_EQ(adapted->steps.back().genome, (Genome{0, 0}));
}

TEST(GreedyAdaptation, StopsWhenAsked) {
  const auto adapted = adapt_greedily(two_genes(), {.target = 10}, [](auto&) { return false; });
  ASSERT_TRUE(adapted);
  EXPECT_EQ(adapted->steps.size(), 1U);
}

}  // namespace
}  // namespace edgesage::search
