// Views of row-major float32 matrices, and aligned storage for them.
//
// A view does not own its memory. `stride` is the distance between rows in floats, at least `cols`,
// so that a block of columns of a wider matrix is a view as well. Kernels neither read nor write
// outside rows x cols.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace edgesage::kernels {

struct ConstMatrix {
  const float* data = nullptr;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t stride = 0;

  [[nodiscard]] const float* row(int64_t i) const { return data + i * stride; }
  // Rows [first, first + count); of a view without data, none.
  [[nodiscard]] ConstMatrix slice(int64_t first, int64_t count) const {
    return data == nullptr ? ConstMatrix{} : ConstMatrix{row(first), count, cols, stride};
  }
};

struct Matrix {
  float* data = nullptr;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t stride = 0;

  [[nodiscard]] float* row(int64_t i) const { return data + i * stride; }
  // Columns [first, first + count) of the same rows.
  [[nodiscard]] Matrix columns(int64_t first, int64_t count) const {
    return {data + first, rows, count, stride};
  }
  [[nodiscard]] Matrix slice(int64_t first, int64_t count) const {
    return data == nullptr ? Matrix{} : Matrix{row(first), count, cols, stride};
  }
  operator ConstMatrix() const { return {data, rows, cols, stride}; }
};

// Allocates on cache lines, which is also the widest vector.
template <class T>
struct AlignedAllocator {
  using value_type = T;
  static constexpr std::align_val_t kAlignment{64};

  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U>&) {}
  T* allocate(size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), kAlignment));
  }
  void deallocate(T* memory, size_t) { ::operator delete(memory, kAlignment); }
  bool operator==(const AlignedAllocator&) const = default;
};

using AlignedFloats = std::vector<float, AlignedAllocator<float>>;

// Scratch of at least rows x cols floats as a matrix, contents unspecified. Grows and never
// shrinks, so a loop over bounded sizes stops allocating.
inline Matrix scratch(AlignedFloats& buffer, int64_t rows, int64_t cols) {
  const auto needed = static_cast<size_t>(rows * cols);
  if (buffer.size() < needed) buffer.resize(needed);
  return {buffer.data(), rows, cols, cols};
}

}  // namespace edgesage::kernels
