// Shapes again, after an edit that changes sizes of maps.
#pragma once

#include <cstdint>
#include <vector>

#include "edgesage/result.h"
#include "src/graph/graph.h"

namespace edgesage {

// Shapes of all activations of the main subgraph from those of its inputs, in the order of the
// operators. What was made for the old sizes follows: pooling of a whole map, targets of reshape,
// resize and transposed convolutions, the depth of a dense layer behind a flattened map (its
// columns are repeated or cut). `before` is the graph before the edit, with the same operators and
// tensors. kUnsupported where an operator's rule is not known and its inputs changed; kBadModel
// where the sizes do not fit any more. The graph is then of no use.
[[nodiscard]] Status refit_shapes(const Graph& before, Graph& graph);

// Scales of int32 biases from their inputs' and filters': an input of another scale needs it.
// kStored leaves the values, so that the biases become others; kReal rounds them to the new scales.
enum class BiasValues : uint8_t { kStored, kReal };
void refit_bias_scales(Graph& graph, BiasValues values = BiasValues::kStored);

// Leaves out operators that no output needs and tensors that nothing names. For each tensor that is
// left its number before.
std::vector<int32_t> remove_unused(Graph& graph);

}  // namespace edgesage
