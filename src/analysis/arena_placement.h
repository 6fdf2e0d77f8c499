// Offsets for blocks of memory that are needed for a while each: the rule of LiteRT's arena
// (tensorflow/lite/simple_memory_arena.cc, as of 2.3.0).
//
// Blocks are placed one after the other. A block goes into the smallest gap that holds it between
// the blocks placed before it that are needed at some step with it, or behind the last of these.
// All offsets are multiples of 64.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace edgesage {

inline constexpr int64_t kArenaAlignment = 64;

// Steps first..last, both inclusive.
struct ArenaBlock {
  int64_t bytes = 0;
  int32_t first = 0;
  int32_t last = 0;
  int64_t offset = 0;  // the answer
};

// Places the blocks in the order given and returns how far the arena reaches. Steps are 0..steps-1.
// Nothing if too many blocks are needed at once for an answer within about a second; a chain of
// 100,000 takes some 0.1 s. Memory: linear in the blocks, times the logarithm of the steps.
[[nodiscard]] std::optional<int64_t> place_blocks(std::span<ArenaBlock> blocks, int32_t steps);

}  // namespace edgesage
