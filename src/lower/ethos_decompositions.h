// Operators that Vela turns into several rows, after its own decomposition.
#pragma once

#include "src/lower/row_builder.h"

namespace edgesage::ethos {

// Each adds the rows of operator `index`, which runs on the NPU.
void lower_softmax(RowBuilder& builder, int32_t index);
void lower_mean(RowBuilder& builder, int32_t index);
void lower_reduction(RowBuilder& builder, int32_t index);  // SUM, REDUCE_MAX, REDUCE_MIN
void lower_arg_max(RowBuilder& builder, int32_t index);
void lower_resize(RowBuilder& builder, int32_t index);
void lower_mat_mul(RowBuilder& builder, int32_t index);  // also FULLY_CONNECTED without constants
void lower_squared_difference(RowBuilder& builder, int32_t index);
void lower_transpose(RowBuilder& builder, int32_t index);
void lower_depthwise(RowBuilder& builder, int32_t index);
void lower_leaky_relu(RowBuilder& builder, int32_t index);
void lower_prelu(RowBuilder& builder, int32_t index);  // with several slopes

// Whether a PRELU has one slope, constant: it is then a LEAKY_RELU.
[[nodiscard]] bool has_one_slope(const RowBuilder& builder, int32_t index);

}  // namespace edgesage::ethos
