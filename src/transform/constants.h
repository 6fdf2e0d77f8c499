// Constants of other shapes and values, made from those that are there; who reads what.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "edgesage/result.h"
#include "src/graph/graph.h"

namespace edgesage {

// Along one dimension of a constant of the main subgraph, the entries `chosen` in their order.
// Shape, bytes and the scales of that dimension change; the buffer is a new one, so that whoever
// shares the old one keeps it. kUnsupported for types that are not whole bytes.
[[nodiscard]] Status take_along(Graph& graph, int32_t tensor, size_t dimension,
                                std::span<const int64_t> chosen);

// Other values for a constant of int32 or int64, as many as before, in a new buffer.
void set_constant_ints(Graph& graph, int32_t tensor, std::span<const int64_t> values);

// Whether the operator has all inputs that its kind cannot do without, and a first output.
[[nodiscard]] bool is_complete(const Operator& op);

// How many inputs of operators read each tensor of the main subgraph.
[[nodiscard]] std::vector<int32_t> use_counts(const Subgraph& subgraph);

}  // namespace edgesage
