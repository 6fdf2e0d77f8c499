// Constants that an Ethos-U's compiler stores for each row besides the feature maps it works on.
#pragma once

#include <span>
#include <vector>

#include "src/lower/rows.h"

namespace edgesage {

// One a row, in bytes: `weights`, encoded, with what their estimate leaves out; constant operands;
// the tables of activations and softmaxes; zeros that spread one value over all channels. What
// several rows share counts at the first of them. Cost: n log n in rows.
[[nodiscard]] std::vector<double> ethos_constant_bytes(const Lowering& lowering,
                                                       std::span<const double> weights);

}  // namespace edgesage
