// Which activation tensor must be in memory when, and the peak that follows.
//
// A tensor lives from the operator that writes it (graph inputs: from the start) to the last that
// reads it (graph outputs: to the end). Constants are not counted; variables live throughout.
#pragma once

#include <cstdint>
#include <vector>

#include "src/graph/graph.h"
#include "src/lower/rows.h"

namespace edgesage {

struct LiveRange {
  int32_t tensor = kNoTensor;
  int32_t first = 0;  // step at which it must exist; steps are operators, or rows
  int32_t last = 0;   // last step at which it must exist
  int64_t bytes = 0;
};

// Over operators of the main subgraph. Tensors without a known size are left out and named in
// `unknown`.
struct Liveness {
  std::vector<LiveRange> ranges;
  std::vector<int64_t> live_bytes;  // at each step
  int64_t peak_bytes = 0;
  int32_t peak_step = -1;
  std::vector<int32_t> unknown;
};
[[nodiscard]] Liveness liveness(const Graph& graph);

// Over the rows of a lowering: tensors inside fusions do not exist; `live_bytes` is one a row.
[[nodiscard]] Liveness liveness(const Graph& graph, const Lowering& lowering);

}  // namespace edgesage
