// The one table of operator kinds: names by format.
#pragma once

#include <span>
#include <string_view>

#include "src/graph/op_kind.h"

namespace edgesage {

struct OpInfo {
  OpKind kind;
  std::string_view name;  // as TFLite spells it: "CONV_2D"
};

// All kinds of TFLite, in order of their codes.
[[nodiscard]] std::span<const OpInfo> op_table();

// "CONV_2D"; "UNKNOWN" for kinds outside the table.
[[nodiscard]] std::string_view op_name(OpKind kind);

// kUnknown for codes outside the table.
[[nodiscard]] OpKind op_kind_from_code(int32_t builtin_code);

}  // namespace edgesage
