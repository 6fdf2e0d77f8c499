#include "src/kernels/gemm.h"

#include <algorithm>
#include <cstring>

#include "src/kernels/targets_inl.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/gemm.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace edgesage::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kTileRows = 6;  // 6 x 2 accumulators fit the 16 registers of AVX2
constexpr int64_t kPanel = PackedMatrix::kPanelWidth;
// Rows of x^T dy summed before the sum goes to memory: bounds the cache that a pass touches.
constexpr int64_t kDepthChunk = 128;

using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;

struct Tile {
  int64_t depth;   // length of the sum
  const float* a;  // left factor: element (row, k) at a[row * row_step + k * depth_step]
  int64_t row_step;
  int64_t depth_step;
  const float* b;     // right factor: rows of a panel
  const float* bias;  // of the first column, or null
  bool relu;
  bool accumulate;
  float* c;
  int64_t c_stride;
  int64_t width;  // columns to write, at most two vectors
};

// The last columns of a matrix: the same arithmetic, element by element.
HWY_INLINE void FinishNarrow(const Tile& t, const float* sums, float* c) {
  for (int64_t j = 0; j < t.width; ++j) {
    float value = sums[j];
    if (t.bias != nullptr) value += t.bias[j];
    if (t.accumulate) value += c[j];
    c[j] = t.relu ? std::max(value, 0.0f) : value;
  }
}

HWY_INLINE V Finish(const Tile& t, V value, int64_t column, const float* c) {
  const D d;
  if (t.bias != nullptr) value = hn::Add(value, hn::LoadU(d, t.bias + column));
  if (t.accumulate) value = hn::Add(value, hn::LoadU(d, c + column));
  return t.relu ? hn::Max(value, hn::Zero(d)) : value;
}

template <int kRows>
HWY_INLINE void ComputeTile(const Tile& t) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  V left[kRows];
  V right[kRows];
  for (int i = 0; i < kRows; ++i) left[i] = right[i] = hn::Zero(d);
  const float* a = t.a;
  const float* b = t.b;
  const int64_t row_step = t.row_step;
  for (int64_t k = 0; k < t.depth; ++k, a += t.depth_step, b += kPanel) {
    const V b0 = hn::Load(d, b);
    const V b1 = hn::Load(d, b + lanes);
    for (int i = 0; i < kRows; ++i) {
      const V value = hn::Set(d, a[i * row_step]);
      left[i] = hn::MulAdd(value, b0, left[i]);
      right[i] = hn::MulAdd(value, b1, right[i]);
    }
  }
  if (t.width < 2 * lanes) {
    HWY_ALIGN float sums[kPanel];
    for (int i = 0; i < kRows; ++i) {
      hn::Store(left[i], d, sums);
      hn::Store(right[i], d, sums + lanes);
      FinishNarrow(t, sums, t.c + i * t.c_stride);
    }
    return;
  }
  for (int i = 0; i < kRows; ++i) {
    float* c = t.c + i * t.c_stride;
    hn::StoreU(Finish(t, left[i], 0, c), d, c);
    hn::StoreU(Finish(t, right[i], lanes, c), d, c + lanes);
  }
}

void ComputeRows(Tile t, int64_t rows) {
  for (; rows >= kTileRows; rows -= kTileRows) {
    ComputeTile<kTileRows>(t);
    t.a += kTileRows * t.row_step;
    t.c += kTileRows * t.c_stride;
  }
  switch (rows) {
    case 5:
      return ComputeTile<5>(t);
    case 4:
      return ComputeTile<4>(t);
    case 3:
      return ComputeTile<3>(t);
    case 2:
      return ComputeTile<2>(t);
    case 1:
      return ComputeTile<1>(t);
    default:
      return;
  }
}

// All rows of one panel, strip by strip of two vectors; `t` is set for the panel's first column.
void ComputePanel(Tile t, int64_t rows, int64_t width) {
  const auto strip = 2 * static_cast<int64_t>(hn::Lanes(D()));
  for (int64_t column = 0; column < width; column += strip) {
    t.width = std::min(strip, width - column);
    ComputeRows(t, rows);
    t.b += strip;
    t.c += strip;
    if (t.bias != nullptr) t.bias += strip;
  }
}

void Gemm(const ConstMatrix& a, const PackedMatrix& b, const GemmOptions& options,
          const Matrix& c) {
  Tile t{.depth = b.rows(),
         .a = a.data,
         .row_step = a.stride,
         .depth_step = 1,
         .b = nullptr,
         .bias = nullptr,
         .relu = options.relu,
         .accumulate = options.accumulate,
         .c = nullptr,
         .c_stride = c.stride,
         .width = 0};
  for (int64_t p = 0; p < b.panels(); ++p) {
    const int64_t column = p * kPanel;
    t.b = b.panel(p);
    t.c = c.data + column;
    t.bias = options.bias == nullptr ? nullptr : options.bias + column;
    ComputePanel(t, c.rows, std::min(kPanel, b.cols() - column));
  }
}

void GemmTransposed(const ConstMatrix& x, const PackedMatrix& dy, const Matrix& dw) {
  Tile t{.depth = 0,
         .a = nullptr,
         .row_step = 1,
         .depth_step = x.stride,
         .b = nullptr,
         .bias = nullptr,
         .relu = false,
         .accumulate = true,
         .c = nullptr,
         .c_stride = dw.stride,
         .width = 0};
  for (int64_t first = 0; first < dy.rows(); first += kDepthChunk) {
    t.depth = std::min(kDepthChunk, dy.rows() - first);
    for (int64_t p = 0; p < dy.panels(); ++p) {
      const int64_t column = p * kPanel;
      t.a = x.row(first);
      t.b = dy.panel(p) + first * kPanel;
      t.c = dw.data + column;
      ComputePanel(t, dw.rows, std::min(kPanel, dy.cols() - column));
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace edgesage::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgesage::kernels {

HWY_EXPORT(Gemm);
HWY_EXPORT(GemmTransposed);

void PackedMatrix::resize(int64_t rows, int64_t cols) {
  rows_ = rows;
  cols_ = cols;
  scratch(data_, rows, panels() * kPanelWidth);
}

void PackedMatrix::pack(ConstMatrix source) {
  resize(source.rows, source.cols);
  float* out = data_.data();
  for (int64_t p = 0; p < panels(); ++p) {
    const int64_t column = p * kPanelWidth;
    const int64_t width = std::min(kPanelWidth, cols_ - column);
    for (int64_t k = 0; k < rows_; ++k, out += kPanelWidth) {
      std::copy_n(source.row(k) + column, width, out);
      std::fill(out + width, out + kPanelWidth, 0.0f);
    }
  }
}

void PackedMatrix::pack_transposed(ConstMatrix source) {
  resize(source.cols, source.rows);
  float* out = data_.data();
  for (int64_t p = 0; p < panels(); ++p, out += rows_ * kPanelWidth) {
    const int64_t column = p * kPanelWidth;
    const int64_t width = std::min(kPanelWidth, cols_ - column);
    for (int64_t j = 0; j < width; ++j) {
      const float* from = source.row(column + j);
      for (int64_t k = 0; k < rows_; ++k) out[k * kPanelWidth + j] = from[k];
    }
    for (int64_t k = 0; width < kPanelWidth && k < rows_; ++k)
      std::fill(out + k * kPanelWidth + width, out + (k + 1) * kPanelWidth, 0.0f);
  }
}

void gemm(ConstMatrix a, const PackedMatrix& b, const GemmOptions& options, Matrix c) {
  HWY_DYNAMIC_DISPATCH(Gemm)(a, b, options, c);
}

void gemm_transposed_accumulate(ConstMatrix x, const PackedMatrix& dy, Matrix dw) {
  HWY_DYNAMIC_DISPATCH(GemmTransposed)(x, dy, dw);
}

}  // namespace edgesage::kernels
#endif  // HWY_ONCE
