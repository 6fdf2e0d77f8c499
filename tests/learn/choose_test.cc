#include "src/learn/choose.h"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <cmath>
#include <set>

#include "src/base/rng.h"

namespace edgesage {
namespace {

// `clusters` heaps of points, `each` in every one, far from each other.
Points heaps(Eigen::Index clusters, Eigen::Index each, uint64_t seed) {
  Rng rng(seed);
  Points points(clusters * each, 3);
  for (Eigen::Index i = 0; i < points.rows(); ++i)
    for (Eigen::Index c = 0; c < 3; ++c)
      points(i, c) =
          static_cast<float>(20 * static_cast<double>((i / each) >> c & 1) +
                             10 * static_cast<double>((i / each) % 5) + 0.1 * rng.normal());
  return points;
}

TEST(ChooseFirst, TakesOneOfEachHeap) {
  const Points points = heaps(8, 25, 1);
  for (const uint64_t seed : {1, 2, 3}) {
    const std::vector<size_t> chosen = choose_first(points, 8, {}, seed);
    std::set<size_t> seen;
    for (const size_t i : chosen) seen.insert(i / 25);
    EXPECT_GE(seen.size(), 7U) << "seed " << seed;
    EXPECT_EQ(chosen.size(), 8U);
  }
}

TEST(ChooseFirst, GivesEveryGroupItsShare) {
  const Points points = heaps(8, 25, 1);
  std::vector<size_t> groups(200, 0);
  for (size_t i = 180; i < 200; ++i) groups[i] = 1;  // a tenth of the networks
  const std::vector<size_t> chosen = choose_first(points, 20, groups, 1);
  size_t small = 0;
  for (const size_t i : chosen) small += groups[i];
  EXPECT_EQ(chosen.size(), 20U);
  EXPECT_GE(small, 4U);  // by the square root: 5 of 20
  EXPECT_LE(small, 6U);
}

TEST(ChooseFirst, IsDeterministicAndWithoutDuplicates) {
  const Points points = heaps(5, 10, 2);
  const auto first = choose_first(points, 30, {}, 7);
  EXPECT_EQ(first, choose_first(points, 30, {}, 7));
  EXPECT_EQ(std::set<size_t>(first.begin(), first.end()).size(), first.size());
  EXPECT_EQ(choose_first(points, 500, {}, 7).size(), 50U);  // there are not more
}

TEST(ChooseFirst, EqualPointsAreNoError) {
  EXPECT_EQ(choose_first(Points::Zero(12, 4), 5, {}, 1).size(), 5U);
}

TEST(ChooseNext, GoesWhereTheProcessIsUnsureButNotTwice) {
  const Points points = heaps(8, 25, 1);
  std::vector<double> sd(200, 0.1);
  for (size_t i = 0; i < 25; ++i) sd[i] = 1.0;     // heap 0
  for (size_t i = 100; i < 125; ++i) sd[i] = 0.8;  // heap 4
  const std::vector<size_t> labelled{30, 60, 90, 130, 160, 190};
  const std::vector<size_t> next = choose_next(points, sd, labelled, 2);
  ASSERT_EQ(next.size(), 2U);
  EXPECT_EQ(next[0] / 25, 0U);
  EXPECT_EQ(next[1] / 25, 4U);  // a second one of heap 0 would say little
}

TEST(ChooseNext, NeverAsksForWhatIsKnown) {
  const Points points = heaps(2, 3, 1);
  const std::vector<double> sd(6, 1.0);
  const std::vector<size_t> labelled{0, 1, 2, 3};
  const auto next = choose_next(points, sd, labelled, 10);
  EXPECT_EQ(std::set<size_t>(next.begin(), next.end()), (std::set<size_t>{4, 5}));
}

TEST(SimulatedComponents, KeepDistancesOfALowRankTable) {
  // Prices that vary in three directions only; the components must separate the same networks.
  Rng rng(3);
  Points factors(300, 3), loads(3, 500);
  for (Eigen::Index i = 0; i < factors.size(); ++i)
    factors.data()[i] = static_cast<float>(rng.normal());
  for (Eigen::Index i = 0; i < loads.size(); ++i)
    loads.data()[i] = static_cast<float>(rng.normal());
  Points prices = factors * loads;
  prices.rowwise() -= prices.colwise().mean().eval();
  const Points components = simulated_components(prices, 40);
  EXPECT_EQ(components.cols(), 3);
  // Least squares of the components reproduce every device.
  const Eigen::MatrixXf solution =
      (components.transpose() * components).ldlt().solve(components.transpose() * prices);
  EXPECT_LT((components * solution - prices).norm(), 1e-3F * prices.norm());
}

TEST(Outlook, ExtrapolatesAPowerOfTheNumberOfLabels) {
  const double counts[] = {50, 75, 100},
               errors[] = {0.2, 0.2 * std::sqrt(50.0 / 75), 0.2 * std::sqrt(0.5)};
  const Outlook result = outlook(counts, errors, 12);
  EXPECT_NEAR(result.error_after, 0.2 * std::sqrt(50.0 / 112), 1e-9);
  EXPECT_FALSE(result.stop);  // 5.5 % less
}

TEST(Outlook, StopsWhereTheErrorNoLongerFalls) {
  const double counts[] = {50, 100}, errors[] = {0.05, 0.051};
  const Outlook result = outlook(counts, errors);
  EXPECT_DOUBLE_EQ(result.error_after, 0.051);
  EXPECT_TRUE(result.stop);
}

}  // namespace
}  // namespace edgesage
