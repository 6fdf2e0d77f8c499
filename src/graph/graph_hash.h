// Identity of networks: what deduplication, splits and the store rest on.
#pragma once

#include <string>

#include "src/graph/graph.h"

namespace edgesage {

// "g1-" and 32 hexadecimal digits over what decides cost: operators in their order (kind, custom
// code and options, options that differ from the schema's defaults), how tensors connect them,
// types, shapes, which tensors are constant, and the values of the small constants that define
// shapes (reshape targets, axes, pads). Names, weights, quantisation values and the numbering of
// tensors and buffers do not matter; tensors that nothing uses are left out.
//
// The prefix changes whenever the same graph would hash differently. Time: linear in the tables.
[[nodiscard]] std::string graph_hash(const Graph& graph);

// "w1-" and 32 hexadecimal digits over the bytes of the constants, in the order in which operators
// first use them. Reads all constants.
[[nodiscard]] std::string weights_hash(const Graph& graph);

}  // namespace edgesage
