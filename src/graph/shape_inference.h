// Shapes of an operator's outputs from its inputs and options.
//
// Files declare the shapes of all tensors; these rules serve whatever makes or changes Graphs (the
// builder, transforms) and check what files declare.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edgesage/result.h"
#include "src/graph/graph.h"

namespace edgesage {

using Shape = std::vector<int64_t>;

// Positions of a sliding window along one dimension. `padding` is TFLite's: 0 SAME, 1 VALID.
// 0 or less where the window does not fit.
[[nodiscard]] int64_t window_positions(int64_t size, int64_t kernel, int64_t stride,
                                       int64_t dilation, int64_t padding);

// NumPy's rule; kInvalidArgument where the shapes cannot be broadcast.
[[nodiscard]] Result<Shape> broadcast_shapes(std::span<const int64_t> a,
                                             std::span<const int64_t> b);

// True if `infer_shapes` has a rule for the kind.
[[nodiscard]] bool has_shape_rule(OpKind kind);

// One shape for each output of the operator. kUnsupported: no rule for the kind, or the shape
// depends on values that are not constant (a computed reshape target). kBadModel: the inputs do not
// fit each other; the message says which dimension.
[[nodiscard]] Result<std::vector<Shape>> infer_shapes(const Graph& graph, const Subgraph& subgraph,
                                                      const Operator& op);

}  // namespace edgesage
