// Operators that only move data: free where producers or consumers can address memory as needed,
// copies elsewhere.
#pragma once

#include "src/lower/row_builder.h"

namespace edgesage::ethos {

void lower_reshape(RowBuilder& builder, int32_t index);
void lower_concatenation(RowBuilder& builder, int32_t index);  // also PACK
void lower_slice(RowBuilder& builder, int32_t index);  // SLICE, STRIDED_SLICE, SPLIT, UNPACK
void lower_pad(RowBuilder& builder, int32_t index);
// A convolution that reads a free PAD does the padding itself: gives the row the PAD's input and
// sides.
void absorb_padding(const RowBuilder& builder, Row& row);
void lower_tile(RowBuilder& builder, int32_t index);

}  // namespace edgesage::ethos
