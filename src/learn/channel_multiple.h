// Networks of round channel counts, for devices that are costly to ask by distinct layer.
#pragma once

#include <cstdint>

#include "src/graph/graph.h"

namespace edgesage {

// Whether every CONV_2D and DEPTHWISE_CONV_2D of the main subgraph makes a multiple of `multiple`
// channels, except where it makes an output of the network (the classes of a detector's head).
// `multiple` is at least 1.
[[nodiscard]] bool has_channel_multiple(const Graph& graph, int64_t multiple);

}  // namespace edgesage
