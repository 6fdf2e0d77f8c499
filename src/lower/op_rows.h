// The kind of row that an operator becomes where nothing special is known.
#pragma once

#include "src/graph/op_kind.h"
#include "src/lower/rows.h"

namespace edgesage {

[[nodiscard]] RowKind default_row_kind(OpKind kind);

// Operators that only give the same elements another shape.
[[nodiscard]] bool is_reshape(OpKind kind);

}  // namespace edgesage
