// Rows of a device that nothing is known about.
//
// One row an operator, in order of execution. Nothing is fused or decomposed; operators that only
// compute with constants are folded, as every runtime does when it loads a model. A reshape that
// moves no data is a row of kind kReshape, and an activation that the file fuses into an operator
// stays that row's `activation`: what they cost is for a simulated or learnt device to say. Int8,
// float and any other type alike.
#pragma once

#include "src/lower/row_builder.h"

namespace edgesage {

// Known kinds are placed with Placement::kDelegate in partition 0; operators without a row kind and
// control flow with kCpu. Gives the number of partitions: 1, or 0 where no kind is known.
[[nodiscard]] int32_t lower_generic(RowBuilder& builder);

}  // namespace edgesage
