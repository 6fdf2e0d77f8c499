// What the XNNPACK delegate of LiteRT 2.3 takes, and the partitions that follow.
//
// Facts from experiments with the runtime (tests/lower compares with its own delegation).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/graph/graph.h"

namespace edgesage {

// Weights that are stored compressed (float16, sparse) and unpacked once when the model is loaded:
// for each tensor the constant that it is unpacked from, kNoTensor for the others.
[[nodiscard]] std::vector<int32_t> xnnpack_unpacked(const Subgraph& subgraph);

// Why the delegate leaves the operator to the runtime's built-in kernels; empty: it takes it.
// `unpacked` is xnnpack_unpacked's.
[[nodiscard]] std::string xnnpack_obstacle(const Graph& graph, const Subgraph& subgraph,
                                           const Operator& op, std::span<const int32_t> unpacked);

// The partition of each operator, -1 for those left outside. An operator joins the latest
// partition that its inputs allow, as the runtime's partitioner does: it alternates between
// delegated and other operators, each time taking all that are ready. `folded` operators vanish at
// load and divide nothing.
[[nodiscard]] std::vector<int32_t> xnnpack_partitions(const Subgraph& subgraph,
                                                      std::span<const std::string> obstacles,
                                                      std::span<const uint8_t> folded);

}  // namespace edgesage
