// What would lower the peak of LiteRT's arena. Every answer is a plan made again, not a rule.
#pragma once

#include <cstdint>
#include <vector>

#include "src/analysis/litert_arena.h"

namespace edgesage {

// The step at which most of the arena is in use, among those that reach its end.
struct ArenaPeak {
  int32_t step = -1;
  int64_t live_bytes = 0;
};
[[nodiscard]] ArenaPeak arena_peak(const LiteRtArena& arena, size_t steps);

struct LiteRtSaving {
  LiteRtBlock block;           // what is taken away ...
  std::vector<int32_t> order;  // ... or the other order of the operators
  int64_t arena_bytes = 0;     // the arena then
};

// The blocks at the peak whose absence lowers the arena, and an order of the operators that does,
// the largest saving first; at most eight of the largest blocks are tried. Empty beyond 20,000
// operators or 1,000 blocks at the peak, where planning again takes too long.
[[nodiscard]] std::vector<LiteRtSaving> litert_savings(const Graph& graph,
                                                       const LiteRtPlanner& planner,
                                                       const LiteRtArena& arena);

}  // namespace edgesage
