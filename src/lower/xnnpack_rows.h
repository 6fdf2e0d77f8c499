// Rows of LiteRT on a CPU: what the XNNPACK delegate takes, what runs in built-in kernels.
#pragma once

#include "src/lower/row_builder.h"

namespace edgesage {

// Places and lowers every operator of the builder's graph; gives the number of delegated
// partitions.
[[nodiscard]] int32_t lower_xnnpack(RowBuilder& builder);

}  // namespace edgesage
