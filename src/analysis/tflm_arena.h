// The arena of TensorFlow Lite Micro for a model, to the byte: what its interpreter allocates in
// the array that an application gives it.
//
// The arena has two ends. At its tail lies what lives as long as the interpreter: its structures,
// one for each tensor and operator, kernels' data and multipliers, state. At its head lie the
// activations and the kernels' scratch buffers, placed by the greedy planner (greedy_plan.h).
// Weights are not in it: they stay in the model. The figures are those of the runtime's default
// allocator and planner, with its reference kernels or with CMSIS-NN's; docs/memory.md says what
// was compared with what.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "edgesage/result.h"
#include "src/analysis/tflm_kernels.h"
#include "src/graph/graph.h"

namespace edgesage {

// What one kind of structure takes, under the name that the runtime prints for it; the last ones
// are those that it does not print.
struct TflmAllocation {
  std::string_view name;
  int64_t used_bytes = 0;  // with what alignment adds
  int64_t requested_bytes = 0;
  int64_t count = 0;
};

// A part of the head: an activation, or a scratch buffer of an operator.
struct TflmBuffer {
  int32_t subgraph = 0;
  int32_t tensor = kNoTensor;  // kNoTensor: scratch
  int32_t op = -1;             // whose scratch it is
  int64_t bytes = 0;           // rounded up to 16
  int32_t first_step = 0, last_step = 0;
  int64_t offset = 0;  // from the start of the arena
};

struct TflmArena {
  int64_t activations_bytes = 0;  // the plan without scratch buffers
  int64_t scratch_bytes = 0;      // what these add to the plan
  int64_t runtime_bytes = 0;      // the tail
  int64_t total_bytes = 0;        // of the three
  // An arena of this size is enough to prepare the model and to run it. Preparing needs more than
  // `total_bytes` for a moment where there are many tensors and small ones. A bound, not to the
  // byte; a multiple of 16.
  int64_t sufficient_bytes = 0;
  std::vector<TflmAllocation> allocations;  // of the tail; used_bytes sum to runtime_bytes
  std::vector<TflmBuffer> buffers;          // of the head
  // One line each: custom operators, whose kernels are the user's. Their operands are planned.
  std::vector<std::string> not_counted;
};

// kInvalidArgument for CMSIS-NN's kernels on 64 bits. kUnsupported with the reason where the
// runtime refuses the model: an operator that it has not, operands that a kernel does not take (the
// operator is named), types without a size, dynamic shapes. Cost: linear in tensors and operators,
// and that of the plan.
[[nodiscard]] Result<TflmArena> tflm_arena(const Graph& graph, TflmBuild build);

}  // namespace edgesage
