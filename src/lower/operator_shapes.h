// Geometry of one operator as a Row wants it: shapes, kernel, stride, padding, groups, types.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "src/graph/graph.h"
#include "src/lower/rows.h"

namespace edgesage {

// NHWC of any rank: leading ones are added, dimensions beyond four are multiplied into n. Unknown
// (negative) dimensions count 1; products saturate.
[[nodiscard]] Shape4 to_shape4(const Tensor& tensor);

// Product that stops at INT64_MAX; factors must not be negative.
[[nodiscard]] int64_t saturating_product(std::span<const int64_t> factors);

// The tensor at an operator's input or output, or null where it is left out or out of range.
[[nodiscard]] const Tensor* input_tensor(const Subgraph& subgraph, const Operator& op,
                                         size_t index);
[[nodiscard]] const Tensor* output_tensor(const Subgraph& subgraph, const Operator& op,
                                          size_t index);

// Fused activation function of an operator's options (RELU, RELU6, ...); kUnknown for none.
[[nodiscard]] OpKind fused_activation(const Operator& op);

// Inputs that only say how: shapes, axes, sizes, pads.
[[nodiscard]] bool is_shape_operand(const Operator& op, size_t input);

// Which inputs hold weights and bias; kNoTensor where the kind has none. TRANSPOSE_CONV reads its
// activation at input 2, all others at input 0 (concatenation and the like: several).
struct OperandRoles {
  size_t ifm = 0;
  int32_t weights = kNoTensor;  // tensor index
  int32_t bias = kNoTensor;
};
[[nodiscard]] OperandRoles operand_roles(const Operator& op);

// Fills ifm, ifm2, ofm, kernel, stride, dilation, padding, groups, types, activation, weights and
// bias, ifm_tensors and ofm_tensors. `kind`, `op` and placement are the caller's.
void fill_geometry(const Graph& graph, const Subgraph& subgraph, const Operator& op, Row& row);

// Axes of a reduction or of ARG_MAX, made non-negative and sorted; nullopt where they are not
// constant.
[[nodiscard]] std::optional<std::vector<int64_t>> reduction_axes(const Graph& graph,
                                                                 const Subgraph& subgraph,
                                                                 const Operator& op);

}  // namespace edgesage
