// Dense matrix products: forward with bias and ReLU, and the two that a backward pass needs.
//
//   forward      Y  = act(X W + b)      gemm(X, packed W, {.bias = b, .relu = true}, Y)
//   to inputs    dX = dY W^T            gemm(dY, W packed transposed, {}, dX)
//   to weights   dW += X^T dY           gemm_transposed_accumulate(X, packed dY, dW)
//
// Every element is one chain of multiply-adds in the order of the summed index, which starts with
// the bias or with what is added to; so a row's result does not depend on the other rows,
// and there are no threads inside. Not reentrant on one PackedMatrix that is being packed;
// otherwise thread-safe.
#pragma once

#include <cstdint>

#include "src/kernels/matrix.h"

namespace edgesage::kernels {

// The right-hand side of a product, copied into panels of kPanelWidth columns: all rows of a panel
// are contiguous and aligned, and the last panel is filled up with zeros. The layout is the same on
// every instruction set.
class PackedMatrix {
 public:
  static constexpr int64_t kPanelWidth = 32;

  // Reuses its memory; allocates only to grow.
  void pack(ConstMatrix source);
  void pack_transposed(ConstMatrix source);  // packs source^T

  [[nodiscard]] int64_t rows() const { return rows_; }
  [[nodiscard]] int64_t cols() const { return cols_; }
  [[nodiscard]] int64_t panels() const { return (cols_ + kPanelWidth - 1) / kPanelWidth; }
  [[nodiscard]] const float* panel(int64_t index) const {
    return data_.data() + index * rows_ * kPanelWidth;
  }

 private:
  void resize(int64_t rows, int64_t cols);

  AlignedFloats data_;
  int64_t rows_ = 0;
  int64_t cols_ = 0;
};

struct GemmOptions {
  const float* bias = nullptr;  // b.cols() values added to every row, or none
  bool relu = false;            // clip at zero, after the bias
};

// c = act(a b + bias); a is c.rows x b.rows, c has b.cols columns.
void gemm(ConstMatrix a, const PackedMatrix& b, const GemmOptions& options, Matrix c);

// The same for a left-hand side in two blocks of columns, which need not lie side by side: bit for
// bit what their concatenation would give.
void gemm(ConstMatrix left, ConstMatrix right, const PackedMatrix& b, const GemmOptions& options,
          Matrix c);

// dw += x^T dy; x is dy.rows() x dw.rows.
void gemm_transposed_accumulate(ConstMatrix x, const PackedMatrix& dy, Matrix dw);

}  // namespace edgesage::kernels
