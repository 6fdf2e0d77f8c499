// Options of builtin operators: the tables of the TFLite schema, and attributes of a Graph's
// operator. One generic converter, driven by the types that the schema's compiler leaves in the
// program, serves every table in both directions; a new options table needs no code here but its
// row in the list of kinds.
//
// An attribute has the field's name. Booleans, enumerations and integers are int64_t; float is
// double; vectors are vector<int64_t> or vector<double>; text is a string. Scalars that equal the
// schema's default are left out on reading and may be left out on writing; an absent vector and an
// empty one are told apart. Attributes are read in the schema's order.
//
// Thread-safe; the lists are built once.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "edgesage/result.h"
#include "src/graph/graph.h"

namespace edgesage {

// One field of an options table.
struct OptionField {
  enum class Type : uint8_t { kInt, kFloat, kString, kInts, kFloats };
  std::string_view name;
  Type type = Type::kInt;
  int64_t default_int = 0;  // of kInt; the default of kFloat is 0 everywhere in the schema
  // How the file stores it.
  flatbuffers::ElementaryType stored = flatbuffers::ET_INT;
  flatbuffers::voffset_t slot = 0;
};

// Which options table: its number in the first or second union of the schema.
struct OptionsTable {
  int union_number = 0;  // 1 or 2; 0: none
  uint8_t id = 0;
  bool operator==(const OptionsTable&) const = default;
};

// The table that runtimes expect for a kind; union_number 0 for kinds without options.
[[nodiscard]] OptionsTable options_table_of(OpKind kind);
// False for numbers that are newer than this version.
[[nodiscard]] bool is_known(OptionsTable table);
// "Conv2DOptions"; empty if unknown or none.
[[nodiscard]] std::string_view options_table_name(OptionsTable table);
// In the schema's order; empty for tables without fields and for unknown ones.
[[nodiscard]] std::span<const OptionField> option_fields(OptionsTable table);

// `options` must be a verified table of that type. Appends to `attributes`.
void read_options(OptionsTable table, const flatbuffers::Table& options,
                  std::vector<Attribute>& attributes);

// Builds the table. kInvalidArgument names an attribute that the table does not have, or whose
// value is of another type or does not fit the field.
[[nodiscard]] Result<flatbuffers::Offset<void>> write_options(
    OptionsTable table, std::span<const Attribute> attributes,
    flatbuffers::FlatBufferBuilder& builder);

}  // namespace edgesage
