// Seeded structured mutations of a graph: other networks of its kind, to measure and learn from.
//
//   Result<Mutation> other = mutate(graph, 17);   // runnable: write_tflite(other->graph)
//
// Edits by the seed: widths of channel groups (one factor for all, and one each), the
// resolution of an image or one dimension of other inputs, kernels of 1, 3 or 5, blocks that keep
// their shape left out or repeated, RELU and RELU6 exchanged. Constants are sliced or repeated, so
// that values stay of the kind they were; what the network computes has no meaning any more, what
// it costs has. What does not lead to a valid graph is not done.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "edgesage/result.h"
#include "src/graph/graph.h"

namespace edgesage {

struct Mutation {
  Graph graph;
  std::vector<std::string> changes;  // in words, in the order of their application
};

// The same graph hash and seed give the same structure on every platform; the same file the same
// bytes. Constants of the result that did not change share the memory of `graph`'s.
// kUnsupported for a graph in which nothing of the above can be changed. Cost: some copies of the
// graph's constants.
[[nodiscard]] Result<Mutation> mutate(const Graph& graph, uint64_t seed);

}  // namespace edgesage
