// What LiteRT allocates when XNNPACK runs the network: the arena that is left to LiteRT, planned to
// the byte, and beside it the delegate's own memory, estimated.
#pragma once

#include <cstdint>

#include "src/analysis/litert_arena.h"
#include "src/graph/graph.h"
#include "src/lower/rows.h"

namespace edgesage {

// The main subgraph as LiteRT runs it then: each partition is one operator (kind kDelegate) that
// reads what comes from outside and writes what goes outside. Tensors keep their indexes.
[[nodiscard]] Graph with_partitions(const Graph& graph, const Lowering& lowering);

struct XnnpackMemory {
  // Values inside the largest partition, placed by falling size into the smallest gap; partitions
  // share one workspace. Estimated: the delegate fuses and overwrites more than is known here.
  int64_t workspace_bytes = 0;
  // Filters and biases in the order of the kernels, channels rounded up to what a kernel computes
  // at once, with a scale a channel where they are int8. Estimated: tiles differ between CPUs.
  int64_t packed_weights_bytes = 0;
  // Pointers to the input of each window of convolutions and pools. Estimated.
  int64_t indirection_bytes = 0;

  [[nodiscard]] int64_t total_bytes() const {
    return workspace_bytes + packed_weights_bytes + indirection_bytes;
  }
};

// `lowering` must be for "litert-xnnpack".
[[nodiscard]] XnnpackMemory xnnpack_memory(const Graph& graph, const Lowering& lowering);

}  // namespace edgesage
