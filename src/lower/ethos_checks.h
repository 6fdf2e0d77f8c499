// The constraints that the placement table is made of. Each answers with the reason against, or
// with an empty string.
#pragma once

#include <string>

#include "src/graph/graph.h"

namespace edgesage::ethos {

struct OperatorView {
  const Graph& graph;
  const Subgraph& subgraph;
  const Operator& op;
  bool is_u85 = false;
};

using Check = std::string (*)(const OperatorView&);

// What is asked of every operator: types, shapes, quantisation.
std::string generic_obstacle(const OperatorView& view);

// Types
std::string no_int32_on_u55(const OperatorView& view);
std::string same_int8_in_and_out(const OperatorView& view);
std::string same_8_bit_in_and_out(const OperatorView& view);
std::string same_int8_or_int16_in_and_out(const OperatorView& view);
std::string input_is_int8_or_int16(const OperatorView& view);
std::string equal_quantization(const OperatorView& view);
std::string weights_are_8_bit(const OperatorView& view);
std::string bias_is_constant(const OperatorView& view);
std::string weight_sum(const OperatorView& view);

// Geometry
std::string narrow_stride(const OperatorView& view);  // at most 3 on U55 and U65
std::string wide_stride(const OperatorView& view);    // above 3 only undilated, unpadded
std::string average_pool_kernel(const OperatorView& view);
std::string max_pool_kernel(const OperatorView& view);
std::string mean_shape(const OperatorView& view);
std::string arg_max_shape(const OperatorView& view);
std::string mat_mul_operands(const OperatorView& view);
std::string fully_connected_weights(const OperatorView& view);
std::string transpose_conv_stride(const OperatorView& view);
std::string resize_bilinear_scale(const OperatorView& view);
std::string resize_nearest_scale(const OperatorView& view);
std::string softmax_shape(const OperatorView& view);
std::string transpose_shape(const OperatorView& view);
std::string slice_strides(const OperatorView& view);
std::string no_reverse_on_u55(const OperatorView& view);
std::string lstm_variant(const OperatorView& view);
std::string gather_axis(const OperatorView& view);
std::string scatter_operands(const OperatorView& view);
std::string parameters_are_constant(const OperatorView& view);

}  // namespace edgesage::ethos
