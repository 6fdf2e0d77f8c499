// The memory planner of TensorFlow Lite Micro: buffers with lifetimes get offsets in one arena,
// greedily, the largest first.
//
// Each buffer in turn is put into the lowest gap between those placed before that live at the same
// time. Of equal sizes the one added last comes first. Buffers with a given offset (an offline
// plan) are placed before all others, in their own order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edgesage/result.h"

namespace edgesage {

struct PlanBuffer {
  int64_t bytes = 0;  // as it shall be reserved: aligned by the caller
  int32_t first = 0;  // first and last step at which it is in use
  int32_t last = 0;
  int64_t fixed_offset = -1;  // -1: the planner chooses
};

struct GreedyPlan {
  std::vector<int64_t> offsets;  // one a buffer
  int64_t bytes = 0;             // end of the highest buffer
};

// Needs `first <= last` of each buffer. Cost: n log n, and for each buffer the number of those that
// live at the same time; kUnsupported where these are too many together (a hundred million),
// which is far above what the runtime can plan itself.
[[nodiscard]] Result<GreedyPlan> greedy_plan(std::span<const PlanBuffer> buffers);

}  // namespace edgesage
