// Products with both factors rounded to bfloat16 (8 bits of mantissa) and summed in float32: half
// the bytes of weights, and twice the speed on a CPU that has instructions for it (AVX512_BF16).
//
// Rounding is to nearest, ties to even. Without those instructions the same products are formed one
// by one, slower than in float32. Thread-safe as gemm.h is.
#pragma once

#include <cstdint>
#include <vector>

#include "src/kernels/gemm.h"
#include "src/kernels/matrix.h"

namespace edgesage::kernels {

// Two neighbouring terms of a sum in one word, the first in the lower half.
using AlignedPairs = std::vector<uint32_t, AlignedAllocator<uint32_t>>;

// The right-hand side, rounded: panels of kPanelWidth columns, rows in pairs, filled up with zeros.
class PackedBf16 {
 public:
  static constexpr int64_t kPanelWidth = PackedMatrix::kPanelWidth;

  void pack(ConstMatrix source);

  [[nodiscard]] int64_t rows() const { return rows_; }
  [[nodiscard]] int64_t cols() const { return cols_; }
  [[nodiscard]] int64_t pairs() const { return (rows_ + 1) / 2; }
  [[nodiscard]] int64_t panels() const { return (cols_ + kPanelWidth - 1) / kPanelWidth; }
  [[nodiscard]] const uint32_t* panel(int64_t index) const {
    return data_.data() + index * pairs() * kPanelWidth;
  }

 private:
  AlignedPairs data_;
  int64_t rows_ = 0;
  int64_t cols_ = 0;
};

// c = act([left right] b + bias), as gemm's; `rounded` is scratch that grows to c.rows * b.pairs().
void gemm_bf16(ConstMatrix left, ConstMatrix right, const PackedBf16& b, const GemmOptions& options,
               AlignedPairs& rounded, Matrix c);

// Whether the CPU has the instructions, and the instruction set in force may use them.
[[nodiscard]] bool has_bf16_instructions();

}  // namespace edgesage::kernels
