// Multiply-accumulates of one operator, by its shapes alone.
#pragma once

#include <cstdint>

#include "src/graph/graph.h"

namespace edgesage {

// Of convolutions, fully connected layers, matrix products and recurrent cells; 0 for all others,
// control flow included (SubgraphWork has that). Saturates at INT64_MAX.
[[nodiscard]] int64_t own_macs(const Subgraph& subgraph, const Operator& op);

// Sum and product that stop at INT64_MAX; arguments must not be negative.
[[nodiscard]] int64_t saturating_sum(int64_t a, int64_t b);

}  // namespace edgesage
