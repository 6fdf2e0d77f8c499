#include "src/graph/data_type.h"

#include <array>

namespace edgesage {
namespace {

struct TypeInfo {
  std::string_view name;
  int bits;
};

constexpr std::array<TypeInfo, 23> kTypes{{
    {"float32", 32}, {"float16", 16},      {"int32", 32},      {"uint8", 8},      {"int64", 64},
    {"string", 0},   {"bool", 8},          {"int16", 16},      {"complex64", 64}, {"int8", 8},
    {"float64", 64}, {"complex128", 128},  {"uint64", 64},     {"resource", 0},   {"variant", 0},
    {"uint32", 32},  {"uint16", 16},       {"int4", 4},        {"bfloat16", 16},  {"int2", 2},
    {"uint4", 4},    {"float8_e4m3fn", 8}, {"float8_e5m2", 8},
}};

}  // namespace

int bits_per_element(DataType type) {
  const auto index = static_cast<size_t>(type);
  return index < kTypes.size() ? kTypes[index].bits : 0;
}

std::string_view type_name(DataType type) {
  const auto index = static_cast<size_t>(type);
  return index < kTypes.size() ? kTypes[index].name : "unknown";
}

}  // namespace edgesage
