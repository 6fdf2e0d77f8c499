// Sizes of TensorFlow Lite Micro's structures in two of its builds.
//
// k32: for a 32-bit microcontroller, as the runtime's own makefile builds it for Cortex-M with GCC:
// pointers and size_t of four bytes, 8-byte alignment of double and int64 (Arm's procedure call
// standard), enums as short as their values allow. Compilers that keep enums at four bytes make the
// options of some operators up to twelve bytes larger.
// k64: the interpreter of the Python package tflite-micro: x86-64, with the allocator that records
// what it gives, and with support for compressed weights.
#pragma once

#include <cstdint>

namespace edgesage {

enum class TflmAbi : uint8_t { k32, k64 };

struct TflmStruct {
  uint16_t size = 0;
  uint8_t align = 1;
  bool operator==(const TflmStruct&) const = default;
};

// A structure in both builds.
struct TflmStructs {
  TflmStruct abi64, abi32;
  [[nodiscard]] constexpr TflmStruct of(TflmAbi abi) const {
    return abi == TflmAbi::k64 ? abi64 : abi32;
  }
};

// A structure without pointers, doubles and enums.
[[nodiscard]] constexpr TflmStructs tflm_plain(uint16_t size, uint8_t align) {
  return {{size, align}, {size, align}};
}

namespace tflm {

inline constexpr int64_t kArenaAlignment = 16;

// Of the interpreter, in the order of their allocation.
inline constexpr TflmStructs kArenaAllocator = {{104, 8}, {36, 4}};
inline constexpr TflmStructs kGreedyPlanner = {{72, 8}, {44, 4}};
inline constexpr TflmStructs kMicroAllocator = {{272, 8}, {36, 4}};
inline constexpr TflmStructs kResourceVariables = {{16, 8}, {12, 4}};
inline constexpr TflmStructs kResourceVariable = {{40, 8}, {20, 4}};
inline constexpr TflmStructs kBuiltinDataAllocator = {{16, 8}, {8, 4}};
inline constexpr TflmStructs kSubgraphAllocations = {{24, 8}, {8, 4}};
inline constexpr TflmStructs kEvalTensor = {{24, 8}, {12, 4}};
inline constexpr TflmStructs kNodeAndRegistration = {{64, 8}, {32, 4}};
inline constexpr TflmStructs kScratchHandle = {{8, 8}, {4, 4}};
inline constexpr TflmStructs kTensor = {{64, 8}, {32, 4}};
inline constexpr TflmStructs kAffineQuantization = {{24, 8}, {12, 4}};
inline constexpr TflmStructs kPointer = {{8, 8}, {4, 4}};

// While a model is prepared, in the part of the arena that activations take later.
inline constexpr TflmStructs kScratchRequest = {{16, 8}, {12, 4}};
inline constexpr int64_t kScratchRequestsPerOperator = 12;
inline constexpr TflmStructs kAllocationInfo = {{32, 8}, {24, 4}};
inline constexpr int64_t kPlannerBytesPerBuffer = 40;

// A length and that many 32-bit integers.
inline constexpr uint8_t kIntArrayAlign = 4;
[[nodiscard]] constexpr int64_t int_array_bytes(int64_t count) { return 4 + 4 * count; }

}  // namespace tflm
}  // namespace edgesage
