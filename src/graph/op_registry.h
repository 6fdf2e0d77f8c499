// The one table of operator kinds: names by format, arity, and what defines shapes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "src/graph/op_kind.h"

namespace edgesage {

inline constexpr int kAnyNumber = 1 << 30;

struct OpInfo {
  OpKind kind;
  std::string_view name;  // as TFLite spells it: "CONV_2D"
  // How many inputs files give (optional ones at the end may be missing) and how many outputs;
  // kinds whose arity nothing checks yet allow any number.
  int min_inputs = 0;
  int max_inputs = kAnyNumber;
  int outputs = kAnyNumber;
  // Bit i is set if the values of input i define the output's shape or what is read of the others:
  // reshape targets, axes, pads.
  uint32_t shape_inputs = 0;
};

// All kinds of TFLite, in order of their codes.
[[nodiscard]] std::span<const OpInfo> op_table();

// The row of a kind; nullptr for kinds outside the table.
[[nodiscard]] const OpInfo* op_info(OpKind kind);

[[nodiscard]] bool defines_shape(OpKind kind, size_t input);

// The TFLite schema's default of an integer option: 0 for nearly all.
[[nodiscard]] int64_t default_option(OpKind kind, std::string_view option);

// "CONV_2D"; "UNKNOWN" for kinds outside the table.
[[nodiscard]] std::string_view op_name(OpKind kind);

// kUnknown for codes outside the table.
[[nodiscard]] OpKind op_kind_from_code(int32_t builtin_code);

}  // namespace edgesage
