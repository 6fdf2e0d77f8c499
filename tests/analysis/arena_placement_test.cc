#include "src/analysis/arena_placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "src/base/rng.h"

namespace edgesage {
namespace {

bool meet(const ArenaBlock& a, const ArenaBlock& b) {
  return a.first <= b.last && b.first <= a.last;
}

int64_t aligned(int64_t offset) {
  return (offset + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

// The rule by looking at every pair of blocks.
void place_slowly(std::vector<ArenaBlock>& blocks) {
  std::vector<ArenaBlock> placed;
  for (ArenaBlock& block : blocks) {
    if (block.bytes == 0) continue;
    int64_t end = 0, best = -1, best_gap = int64_t{1} << 62;
    std::ranges::sort(placed, {}, &ArenaBlock::offset);
    for (const ArenaBlock& other : placed) {
      if (!meet(block, other)) continue;
      if (aligned(end) + block.bytes <= other.offset && other.offset - aligned(end) < best_gap) {
        best = aligned(end);
        best_gap = other.offset - end;
      }
      end = std::max(end, other.offset + other.bytes);
    }
    block.offset = best >= 0 ? best : aligned(end);
    placed.push_back(block);
  }
}

std::vector<ArenaBlock> random_blocks(Rng& rng, int32_t steps) {
  std::vector<ArenaBlock> blocks;
  for (int64_t i = rng.integer(1, 60); i > 0; --i) {
    const auto first = static_cast<int32_t>(rng.integer(0, steps - 1));
    const auto last = static_cast<int32_t>(
        rng.chance(0.1) ? steps - 1 : std::min<int64_t>(steps - 1, first + rng.integer(0, 5)));
    blocks.push_back({rng.chance(0.05) ? 0 : rng.integer(1, 2000), first, last});
  }
  // The runtime starts with what is needed throughout; the answer must not depend on that.
  if (rng.chance(0.7))
    std::ranges::stable_partition(
        blocks, [&](const ArenaBlock& b) { return b.first == 0 && b.last == steps - 1; });
  return blocks;
}

TEST(ArenaPlacement, EqualsTheRuleTriedOnEveryPair) {
  Rng rng(5);
  for (int round = 0; round < 2000; ++round) {
    const auto steps = static_cast<int32_t>(rng.integer(1, 40));
    std::vector<ArenaBlock> ours = random_blocks(rng, steps), expected = ours;
    place_slowly(expected);
    ASSERT_TRUE(place_blocks(ours, steps));
    for (size_t i = 0; i < ours.size(); ++i)
      ASSERT_EQ(ours[i].offset, expected[i].offset) << "round " << round << ", block " << i;
  }
}

// Hundreds of blocks needed at once, so that all ways of finding neighbours take turns.
TEST(ArenaPlacement, EqualsTheRuleWhereItIsCrowded) {
  Rng rng(7);
  for (int round = 0; round < 20; ++round) {
    std::vector<ArenaBlock> ours;
    for (int i = 0; i < 600; ++i) {
      const auto first = static_cast<int32_t>(rng.integer(0, 99));
      const auto length = static_cast<int32_t>(i / 150 % 2 == 0 ? rng.integer(0, 3) : 60);
      ours.push_back({rng.integer(1, 500), first, std::min(99, first + length)});
    }
    std::vector<ArenaBlock> expected = ours;
    place_slowly(expected);
    ASSERT_TRUE(place_blocks(ours, 100));
    for (size_t i = 0; i < ours.size(); ++i) ASSERT_EQ(ours[i].offset, expected[i].offset) << i;
  }
}

TEST(ArenaPlacement, BlocksNeededTogetherNeverShareBytes) {
  Rng rng(6);
  for (int round = 0; round < 300; ++round) {
    std::vector<ArenaBlock> blocks = random_blocks(rng, 30);
    const int64_t reach = place_blocks(blocks, 30).value();
    for (size_t i = 0; i < blocks.size(); ++i) {
      EXPECT_EQ(blocks[i].offset % kArenaAlignment, 0);
      EXPECT_LE(blocks[i].offset + blocks[i].bytes, reach);
      for (size_t k = 0; k < i; ++k) {
        const bool apart = blocks[i].offset + blocks[i].bytes <= blocks[k].offset ||
                           blocks[k].offset + blocks[k].bytes <= blocks[i].offset;
        EXPECT_TRUE(apart || !meet(blocks[i], blocks[k]) || blocks[i].bytes == 0 ||
                    blocks[k].bytes == 0);
      }
    }
  }
}

TEST(ArenaPlacement, NothingTakesNothing) {
  EXPECT_EQ(place_blocks({}, 0), 0);
  EXPECT_EQ(place_blocks({}, 7), 0);
}

TEST(ArenaPlacement, AChainOfAHundredThousandIsQuick) {
  constexpr int32_t kSteps = 100'000;
  std::vector<ArenaBlock> blocks;
  for (int32_t step = 0; step < kSteps; ++step)
    blocks.push_back({1000 + step % 7, step, std::min(step + 1, kSteps - 1)});
  std::ranges::stable_sort(blocks, std::greater{}, &ArenaBlock::bytes);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(place_blocks(blocks, kSteps));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

// Each of 100,000 blocks is needed with all others: the answer would take minutes.
TEST(ArenaPlacement, GivesUpInsteadOfTakingMinutes) {
  constexpr int32_t kBlocks = 100'000;
  std::vector<ArenaBlock> blocks;
  for (int32_t i = 0; i < kBlocks; ++i) blocks.push_back({64, i, kBlocks});
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(place_blocks(blocks, kBlocks + 1));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

TEST(ArenaPlacement, AHundredThousandGraphInputsAreQuick) {
  std::vector<ArenaBlock> blocks(100'000, ArenaBlock{10, 0, 0});
  EXPECT_EQ(place_blocks(blocks, 1), int64_t{64} * 99'999 + 10);
}

}  // namespace
}  // namespace edgesage
