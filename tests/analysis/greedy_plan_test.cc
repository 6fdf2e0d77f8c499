#include "src/analysis/greedy_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <list>
#include <numeric>

#include "src/base/rng.h"

namespace edgesage {
namespace {

// The definition, word for word: sort, then look at everything that was placed before.
GreedyPlan by_definition(const std::vector<PlanBuffer>& buffers) {
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::reverse(order.begin(), order.end());
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return buffers[a].bytes > buffers[b].bytes; });
  std::vector<size_t> fixed;
  for (size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i].fixed_offset >= 0) fixed.push_back(i);
  std::erase_if(order, [&](size_t i) { return buffers[i].fixed_offset >= 0; });
  order.insert(order.begin(), fixed.begin(), fixed.end());

  GreedyPlan plan;
  plan.offsets.resize(buffers.size());
  std::list<size_t> placed;  // by offset
  for (const size_t i : order) {
    const PlanBuffer& wanted = buffers[i];
    int64_t offset = 0;
    for (const size_t other : placed) {
      const bool apart = buffers[other].first > wanted.last || buffers[other].last < wanted.first;
      if (apart) continue;
      if (plan.offsets[other] - offset >= wanted.bytes) break;
      offset = std::max(offset, plan.offsets[other] + buffers[other].bytes);
    }
    if (wanted.fixed_offset >= 0) offset = wanted.fixed_offset;
    plan.offsets[i] = offset;
    plan.bytes = std::max(plan.bytes, offset + wanted.bytes);
    placed.insert(std::find_if(placed.begin(), placed.end(),
                               [&](size_t other) { return plan.offsets[other] > offset; }),
                  i);
  }
  return plan;
}

TEST(GreedyPlan, NothingNeedsNothing) { EXPECT_EQ(greedy_plan({})->bytes, 0); }

TEST(GreedyPlan, BuffersOfDifferentTimesShareTheirPlace) {
  const std::vector<PlanBuffer> buffers = {{64, 0, 1}, {32, 1, 2}, {64, 2, 3}};
  const GreedyPlan plan = greedy_plan(buffers).value();
  EXPECT_EQ(plan.offsets, (std::vector<int64_t>{0, 64, 0}));
  EXPECT_EQ(plan.bytes, 96);
}

TEST(GreedyPlan, OfEqualSizesTheLastComesFirst) {
  const std::vector<PlanBuffer> buffers = {{16, 0, 1}, {16, 0, 1}, {16, 0, 1}};
  EXPECT_EQ(greedy_plan(buffers)->offsets, (std::vector<int64_t>{32, 16, 0}));
}

TEST(GreedyPlan, GivenOffsetsStand) {
  const std::vector<PlanBuffer> buffers = {{16, 0, 1}, {16, 0, 1, 16}, {32, 0, 1}};
  const GreedyPlan plan = greedy_plan(buffers).value();
  EXPECT_EQ(plan.offsets, (std::vector<int64_t>{0, 16, 32}));
}

TEST(GreedyPlan, IsTheDefinitionOnRandomBuffers) {
  Rng rng(17);
  for (int round = 0; round < 400; ++round) {
    std::vector<PlanBuffer> buffers;
    const int64_t steps = rng.integer(1, 40);
    for (int64_t i = rng.integer(0, 60); i > 0; --i) {
      PlanBuffer buffer;
      buffer.bytes = 16 * rng.integer(1, 12);
      buffer.first = static_cast<int32_t>(rng.integer(-1, steps));
      buffer.last = static_cast<int32_t>(rng.integer(buffer.first, steps));
      if (rng.chance(0.1)) buffer.fixed_offset = 16 * rng.integer(0, 40);
      buffers.push_back(buffer);
    }
    const GreedyPlan expected = by_definition(buffers), plan = greedy_plan(buffers).value();
    ASSERT_EQ(plan.offsets, expected.offsets) << "round " << round;
    EXPECT_EQ(plan.bytes, expected.bytes);
  }
}

TEST(GreedyPlan, AHundredThousandInAChainTakeWellUnderASecond) {
  std::vector<PlanBuffer> buffers;
  for (int32_t i = 0; i < 100'000; ++i) buffers.push_back({16 * (1 + i % 7), i, i + 1});
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(greedy_plan(buffers));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST(GreedyPlan, TooManyAtOnceAreRefusedNotWaitedFor) {
  std::vector<PlanBuffer> buffers(100'000, {16, 0, 1});
  EXPECT_EQ(greedy_plan(buffers).error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace edgesage
