// What the decompositions into several rows share.
#pragma once

#include <cstdint>
#include <vector>

#include "src/lower/row_builder.h"

namespace edgesage::ethos {

[[nodiscard]] bool is_u85(const RowBuilder& builder);
// At least 1.
[[nodiscard]] int32_t to_int32(int64_t value);

// First of several rows: reads the operator's inputs, writes an intermediate result.
[[nodiscard]] Row opening(const Row& whole, RowKind kind, Shape4 ifm, Shape4 ofm);

// Last of several rows: reads intermediate results, writes the operator's output.
[[nodiscard]] Row closing(const Row& whole, RowKind kind, Shape4 ifm, std::vector<int32_t> inputs);

// Adds a row in which one value for all channels is added to zeros; gives its index.
int32_t add_spread(RowBuilder& builder, const Row& whole, Shape4 shape,
                   std::vector<int32_t> inputs);

}  // namespace edgesage::ethos
