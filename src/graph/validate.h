// Whether a Graph is well formed.
#pragma once

#include "edgesage/result.h"
#include "src/graph/graph.h"

namespace edgesage {

// Checks every subgraph: indexes lie in range; each tensor has one producer, and constants and
// graph inputs have none; operators come after those that make their inputs; the bytes of constants
// are what shape and type need (sparse ones and types without a fixed size are not checked); the
// number of inputs and outputs is possible for the kind. An expected kBadModel names the place:
// "subgraph 0, operator 3 (CONV_2D)". Time is linear in the tables.
[[nodiscard]] Status validate(const Graph& graph);

}  // namespace edgesage
