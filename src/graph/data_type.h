// Element types of tensors. The values are TFLite's TensorType.
#pragma once

#include <cstdint>
#include <string_view>

namespace edgesage {

enum class DataType : uint8_t {
  kFloat32 = 0,
  kFloat16 = 1,
  kInt32 = 2,
  kUInt8 = 3,
  kInt64 = 4,
  kString = 5,
  kBool = 6,
  kInt16 = 7,
  kComplex64 = 8,
  kInt8 = 9,
  kFloat64 = 10,
  kComplex128 = 11,
  kUInt64 = 12,
  kResource = 13,
  kVariant = 14,
  kUInt32 = 15,
  kUInt16 = 16,
  kInt4 = 17,
  kBFloat16 = 18,
  kInt2 = 19,
  kUInt4 = 20,
  kFloat8E4M3FN = 21,
  kFloat8E5M2 = 22,
  kUnknown = 255,  // a type id this version does not know
};

// Bits of one element; 0 where the size is not fixed (string, resource, variant, unknown).
[[nodiscard]] int bits_per_element(DataType type);

// "int8", "float32", ...; "unknown" for others.
[[nodiscard]] std::string_view type_name(DataType type);

}  // namespace edgesage
