#include "workers/litert/random_inputs.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>

#include "workers/litert/litert_api.h"

namespace worker {
namespace {

// Rounded towards zero; values are far from the limits of the format.
uint16_t half_of(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto exponent = static_cast<int32_t>((bits >> 23) & 0xff) - 127 + 15;
  const uint32_t sign = (bits >> 16) & 0x8000;
  if (exponent <= 0) return static_cast<uint16_t>(sign);
  return static_cast<uint16_t>(sign | (static_cast<uint32_t>(exponent) << 10) |
                               ((bits >> 13) & 0x3ff));
}

template <class T, class Source>
void fill_with(void* memory, size_t bytes, Source source) {
  auto* out = static_cast<std::byte*>(memory);
  for (size_t i = 0; i < bytes / sizeof(T); ++i) {
    const T value = static_cast<T>(source());
    std::memcpy(out + i * sizeof(T), &value, sizeof(T));
  }
}

}  // namespace

// SplitMix64 (Steele, Lea and Flood, 2014).
uint64_t InputGenerator::next() {
  uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

double InputGenerator::normal() {
  const double u = (static_cast<double>(next() >> 11) + 1) * 0x1.0p-53;
  const double v = static_cast<double>(next() >> 11) * 0x1.0p-53;
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

bool InputGenerator::fill(int element_type, void* memory, size_t bytes) {
  switch (element_type) {
    case kInt8:
    case kUInt8:
      fill_with<uint8_t>(memory, bytes, [this] { return next() >> 56; });
      return true;
    case kInt16:
    case kUInt16:
      fill_with<uint16_t>(memory, bytes, [this] { return next() >> 48; });
      return true;
    case kBool:
      fill_with<uint8_t>(memory, bytes, [this] { return next() >> 63; });
      return true;
    case kInt32:
    case kUInt32:
      fill_with<uint32_t>(memory, bytes, [this] { return next() >> 63; });
      return true;
    case kInt64:
      fill_with<uint64_t>(memory, bytes, [this] { return next() >> 63; });
      return true;
    case kFloat32:
      fill_with<float>(memory, bytes, [this] { return normal(); });
      return true;
    case kFloat64:
      fill_with<double>(memory, bytes, [this] { return normal(); });
      return true;
    case kFloat16:
      fill_with<uint16_t>(memory, bytes, [this] { return half_of(static_cast<float>(normal())); });
      return true;
    default:
      return false;
  }
}

}  // namespace worker
