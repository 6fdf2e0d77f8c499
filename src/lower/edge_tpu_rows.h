// Rows of an accelerator like the Edge TPU, as the device edge-tpu-like prices them
// (docs/edge_tpu_like.md): one row an operator, nothing fused; operators without a layer in ZigZag,
// and those whose values are not of 8 bits, are left to the CPU with the reason.
#pragma once

#include "src/lower/row_builder.h"

namespace edgesage {

// Gives the number of partitions: 1, or 0 where nothing runs on the accelerator.
[[nodiscard]] int32_t lower_edge_tpu(RowBuilder& builder);

}  // namespace edgesage
