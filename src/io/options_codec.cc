#include "src/io/options_codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <string>
#include <utility>

#include "tflite_generated.h"

namespace edgesage {
namespace {

namespace fb = flatbuffers;
using Type = OptionField::Type;

struct TableInfo {
  std::string_view name;
  std::vector<OptionField> fields;
};

Type attribute_type(fb::ElementaryType stored, bool is_vector) {
  if (stored == fb::ET_STRING) return Type::kString;
  const bool real = stored == fb::ET_FLOAT || stored == fb::ET_DOUBLE;
  if (is_vector) return real ? Type::kFloats : Type::kInts;
  return real ? Type::kFloat : Type::kInt;
}

// The schema's few defaults that are not zero; the types in the program do not carry them.
int64_t schema_default(std::string_view table, std::string_view field) {
  if (field == "dilation_w_factor" || field == "dilation_h_factor" || field == "dilation_d_factor")
    return 1;
  if (field == "pot_scale_int16") return 1;
  if (field == "idx_out_type") return static_cast<int64_t>(tflite::TensorType::INT32);
  if (field == "time_major" && table == "BidirectionalSequenceLSTMOptions") return 1;
  return 0;
}

std::vector<TableInfo> describe_union(const fb::TypeTable& types) {
  std::vector<TableInfo> tables(types.num_elems);
  for (size_t id = 0; id < types.num_elems; ++id) {
    if (types.type_codes[id].sequence_ref < 0) continue;  // NONE
    TableInfo& info = tables[id];
    info.name = types.names[id];
    const fb::TypeTable& table = *types.type_refs[types.type_codes[id].sequence_ref]();
    for (size_t i = 0; i < table.num_elems; ++i) {
      const std::string_view name = table.names[i];
      if (name.starts_with("unused_")) continue;
      const auto stored = static_cast<fb::ElementaryType>(table.type_codes[i].base_type);
      info.fields.push_back({name, attribute_type(stored, table.type_codes[i].is_repeating != 0),
                             schema_default(info.name, name), stored,
                             fb::FieldIndexToOffset(static_cast<fb::voffset_t>(i))});
    }
  }
  return tables;
}

const TableInfo* find_info(OptionsTable table) {
  static const std::vector<TableInfo> first = describe_union(*tflite::BuiltinOptionsTypeTable());
  static const std::vector<TableInfo> second = describe_union(*tflite::BuiltinOptions2TypeTable());
  if (table.union_number != 1 && table.union_number != 2) return nullptr;
  const std::vector<TableInfo>& tables = table.union_number == 1 ? first : second;
  return table.id > 0 && table.id < tables.size() ? &tables[table.id] : nullptr;
}

// Calls `visitor` with a value of the C++ type that the file stores.
template <class Visitor>
auto with_stored_type(fb::ElementaryType stored, Visitor visitor) {
  switch (stored) {
    case fb::ET_BOOL:
    case fb::ET_UTYPE:
    case fb::ET_UCHAR:
      return visitor(uint8_t{});
    case fb::ET_CHAR:
      return visitor(int8_t{});
    case fb::ET_SHORT:
      return visitor(int16_t{});
    case fb::ET_USHORT:
      return visitor(uint16_t{});
    case fb::ET_UINT:
      return visitor(uint32_t{});
    case fb::ET_LONG:
      return visitor(int64_t{});
    case fb::ET_ULONG:
      return visitor(uint64_t{});
    case fb::ET_FLOAT:
      return visitor(float{});
    case fb::ET_DOUBLE:
      return visitor(double{});
    default:
      return visitor(int32_t{});
  }
}

template <class Value>
std::vector<Value> read_vector(const OptionField& field, const uint8_t* vector) {
  return with_stored_type(field.stored, [&]<class Stored>(Stored) {
    const auto& elements = *reinterpret_cast<const fb::Vector<Stored>*>(vector);
    std::vector<Value> values(elements.size());
    for (fb::uoffset_t i = 0; i < elements.size(); ++i) {
      const Stored value = elements.Get(i);
      values[i] = static_cast<Value>(field.stored == fb::ET_BOOL ? Stored(value != 0) : value);
    }
    return values;
  });
}

// Bit by bit, so that -0.0 is not taken for the default.
bool is_zero(double value) { return std::bit_cast<uint64_t>(value) == 0; }

void read_scalar(const OptionField& field, const uint8_t* at, std::vector<Attribute>& attributes) {
  with_stored_type(field.stored, [&]<class Stored>(Stored) {
    const auto value = fb::ReadScalar<Stored>(at);
    if (field.type == Type::kFloat) {
      const auto real = static_cast<double>(value);
      if (!is_zero(real)) attributes.push_back({std::string(field.name), real});
    } else {
      const int64_t integer =
          field.stored == fb::ET_BOOL ? value != 0 : static_cast<int64_t>(value);
      if (integer != field.default_int) attributes.push_back({std::string(field.name), integer});
    }
  });
}

void read_field(const OptionField& field, const uint8_t* at, std::vector<Attribute>& attributes) {
  if (field.type == Type::kInt || field.type == Type::kFloat) {
    read_scalar(field, at, attributes);
    return;
  }
  const uint8_t* target = at + fb::ReadScalar<fb::uoffset_t>(at);
  if (field.type == Type::kString) {
    attributes.push_back(
        {std::string(field.name), reinterpret_cast<const fb::String*>(target)->str()});
  } else if (field.type == Type::kInts) {
    attributes.push_back({std::string(field.name), read_vector<int64_t>(field, target)});
  } else {
    attributes.push_back({std::string(field.name), read_vector<double>(field, target)});
  }
}

const OptionField* find_field(const TableInfo& info, std::string_view name) {
  for (const OptionField& field : info.fields)
    if (field.name == name) return &field;
  return nullptr;
}

// Whole numbers stand for reals where the field is real.
std::optional<double> as_real(const Attribute::Value& value) {
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
  return std::nullopt;
}

std::optional<std::vector<double>> as_reals(const Attribute::Value& value) {
  if (const auto* reals = std::get_if<std::vector<double>>(&value)) return *reals;
  if (const auto* integers = std::get_if<std::vector<int64_t>>(&value))
    return std::vector<double>(integers->begin(), integers->end());
  return std::nullopt;
}

bool fits(fb::ElementaryType stored, int64_t value) {
  if (stored == fb::ET_BOOL) return value == 0 || value == 1;
  if (stored == fb::ET_ULONG) return value >= 0;
  return with_stored_type(stored, [&]<class Stored>(Stored) {
    if constexpr (std::is_integral_v<Stored> && sizeof(Stored) < sizeof(int64_t))
      return value >= std::numeric_limits<Stored>::min() &&
             value <= std::numeric_limits<Stored>::max();
    else
      return true;
  });
}

bool value_fits(const OptionField& field, const Attribute::Value& value) {
  switch (field.type) {
    case Type::kInt: {
      const auto* integer = std::get_if<int64_t>(&value);
      return integer != nullptr && fits(field.stored, *integer);
    }
    case Type::kInts: {
      const auto* integers = std::get_if<std::vector<int64_t>>(&value);
      return integers != nullptr && std::all_of(integers->begin(), integers->end(),
                                                [&](int64_t i) { return fits(field.stored, i); });
    }
    case Type::kFloat:
      return as_real(value).has_value();
    case Type::kFloats:
      return as_reals(value).has_value();
    case Type::kString:
      return std::holds_alternative<std::string>(value);
  }
  return false;
}

template <class Values>
fb::Offset<void> write_vector(const OptionField& field, const Values& values,
                              fb::FlatBufferBuilder& builder) {
  return with_stored_type(field.stored, [&]<class Stored>(Stored) {
    std::vector<Stored> stored(values.size());
    std::transform(values.begin(), values.end(), stored.begin(),
                   [](auto value) { return static_cast<Stored>(value); });
    return fb::Offset<void>(builder.CreateVector(stored).o);
  });
}

// What lies outside of the table and is referred to: written first.
fb::Offset<void> write_outside(const OptionField& field, const Attribute::Value& value,
                               fb::FlatBufferBuilder& builder) {
  if (field.type == Type::kString) return builder.CreateString(std::get<std::string>(value)).o;
  if (field.type == Type::kInts)
    return write_vector(field, std::get<std::vector<int64_t>>(value), builder);
  if (field.type == Type::kFloats) return write_vector(field, *as_reals(value), builder);
  return 0;
}

void write_scalar(const OptionField& field, const Attribute::Value& value,
                  fb::FlatBufferBuilder& builder) {
  with_stored_type(field.stored, [&]<class Stored>(Stored) {
    if (field.type == Type::kFloat) {
      const double real = *as_real(value);
      if (!is_zero(real)) builder.AddElement<Stored>(field.slot, static_cast<Stored>(real));
    } else {
      builder.AddElement<Stored>(field.slot, static_cast<Stored>(std::get<int64_t>(value)),
                                 static_cast<Stored>(field.default_int));
    }
  });
}

}  // namespace

bool is_known(OptionsTable table) { return find_info(table) != nullptr; }

std::string_view options_table_name(OptionsTable table) {
  const TableInfo* info = find_info(table);
  return info != nullptr ? info->name : std::string_view();
}

std::span<const OptionField> option_fields(OptionsTable table) {
  const TableInfo* info = find_info(table);
  return info != nullptr ? std::span<const OptionField>(info->fields)
                         : std::span<const OptionField>();
}

void read_options(OptionsTable table, const fb::Table& options,
                  std::vector<Attribute>& attributes) {
  for (const OptionField& field : option_fields(table))
    if (const uint8_t* at = options.GetAddressOf(field.slot)) read_field(field, at, attributes);
}

Result<fb::Offset<void>> write_options(OptionsTable table, std::span<const Attribute> attributes,
                                       fb::FlatBufferBuilder& builder) {
  const TableInfo* info = find_info(table);
  if (info == nullptr)
    return make_error(ErrorCode::kInternal, "options",
                      fmt::format("no table {} in union {}", table.id, table.union_number));
  struct Placed {
    const OptionField* field;
    const Attribute* attribute;
    fb::Offset<void> outside;
  };
  std::vector<Placed> placed;
  for (const Attribute& attribute : attributes) {
    const OptionField* field = find_field(*info, attribute.name);
    if (field == nullptr)
      return make_error(
          ErrorCode::kInvalidArgument, attribute.name,
          fmt::format("is no option of {}; the names are those of the TFLite schema", info->name));
    if (!value_fits(*field, attribute.value))
      return make_error(ErrorCode::kInvalidArgument, attribute.name,
                        fmt::format("has a value that does not fit this option of {}", info->name));
    for (const Placed& other : placed)
      if (other.field == field)
        return make_error(ErrorCode::kInvalidArgument, attribute.name, "is given twice");
    placed.push_back({field, &attribute, 0});
  }
  for (Placed& entry : placed)
    entry.outside = write_outside(*entry.field, entry.attribute->value, builder);
  const fb::uoffset_t start = builder.StartTable();
  for (const Placed& entry : placed) {
    if (entry.outside.o != 0)
      builder.AddOffset(entry.field->slot, entry.outside);
    else
      write_scalar(*entry.field, entry.attribute->value, builder);
  }
  return fb::Offset<void>(builder.EndTable(start));
}

}  // namespace edgesage
