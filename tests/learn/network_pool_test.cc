#include "src/learn/network_pool.h"

#include <gtest/gtest.h>

#include <cmath>

namespace edgesage {
namespace {

const std::vector<Quantity> kLatency{Quantity::kLatencyMs};

TEST(NetworkPool, KeepsEqualGraphsOnceAndLeavesConstantsOut) {
  const std::vector<std::string> names{"keyword-sound/1/5", "a constant", "keyword-sound/1/6",
                                       "keyword-sound/1/5"};
  const NetworkBuilder builder = [](const std::string& name) -> Result<NamedGraph> {
    if (name == "a constant") return NamedGraph{};
    return build_named(name);
  };
  auto pool = make_pool(names, *target_from_name("generic"), kLatency, builder, 2);
  ASSERT_TRUE(pool) << pool.error().to_string();
  EXPECT_EQ(pool->size(), 2U);
  EXPECT_EQ(pool->place[0], pool->place[3]);
  EXPECT_FALSE(pool->place[1]);
  EXPECT_EQ(pool->few_shot[0].size(), 2U);
  EXPECT_TRUE(std::isnan(pool->dataset.examples[0].labels[0]));
}

TEST(NetworkPool, ErrorsOfOneNameAreErrors) {
  const std::vector<std::string> names{"keyword-sound/1/5", "no-such-space/1/1"};
  const auto pool = make_pool(names, *target_from_name("generic"), kLatency, build_named, 2);
  ASSERT_FALSE(pool);
  EXPECT_NE(pool.error().to_string().find("no-such-space"), std::string::npos);
}

TEST(NetworkPool, SharesOfTheClosedFormSumToOne) {
  const std::vector<std::string> names{"keyword-sound/1/5", "mobile-classifier/1/2"};
  for (const char* target : {"generic", "ethos-u55-256", "litert-xnnpack"}) {
    auto pool = make_pool(names, *target_from_name(target), kLatency, build_named, 1);
    ASSERT_TRUE(pool);
    for (const auto& shares : pool->few_shot[0].shares) {
      double sum = 0;
      for (const float share : shares) sum += static_cast<double>(share);
      EXPECT_NEAR(sum, 1, 1e-5) << target;
    }
  }
}

}  // namespace
}  // namespace edgesage
