#include "src/kernels/gemm.h"

#include <algorithm>
#include <utility>

#include "src/kernels/targets_inl.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/gemm.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace edgesage::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows of a tile. Two vectors a row: 16 accumulators of the 32 registers of AVX-512, where fewer
// than 8 would leave its multipliers waiting; 12 of the 16 registers of AVX2.
constexpr int64_t kTileRows = HWY_MAX_BYTES >= 64 ? 8 : 6;
constexpr int64_t kPanel = PackedMatrix::kPanelWidth;
// Rows of x^T dy summed before the sum goes to memory: bounds the cache that a pass touches.
constexpr int64_t kDepthChunk = 128;

using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;

// A run of the summed index: element (row, k) of the left factor is a[row * row_step + k *
// depth_step].
struct Run {
  const float* a;
  int64_t depth;
  int64_t row_step;
  int64_t depth_step;
};

struct Tile {
  Run runs[2];           // one after the other; the second may be empty
  const float* b;        // right factor: rows of a panel
  const float* initial;  // what the sums start with
  int64_t initial_stride;
  bool relu;
  float* c;
  int64_t c_stride;
};

// kRows rows and kVectors vectors of columns. Loops over the tile are unrolled by force, or the
// sums would be kept in memory.
template <int kRows, int kVectors>
HWY_INLINE void ComputeTile(const Tile& t) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  V sums[kRows * kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kRows * kVectors; ++i)
    sums[i] = hn::LoadU(d, t.initial + i / kVectors * t.initial_stride + i % kVectors * lanes);
  const float* b = t.b;
  for (const Run& run : t.runs) {
    const float* a = run.a;
    const int64_t row_step = run.row_step;
    for (int64_t k = 0; k < run.depth; ++k, a += run.depth_step, b += kPanel) {
      V right[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) right[v] = hn::Load(d, b + v * lanes);
#pragma GCC unroll 16
      for (int i = 0; i < kRows * kVectors; ++i)
        sums[i] = hn::MulAdd(hn::Set(d, a[i / kVectors * row_step]), right[i % kVectors], sums[i]);
    }
  }
  const V zero = hn::Zero(d);
#pragma GCC unroll 16
  for (int i = 0; i < kRows * kVectors; ++i)
    hn::StoreU(t.relu ? hn::Max(sums[i], zero) : sums[i], d,
               t.c + i / kVectors * t.c_stride + i % kVectors * lanes);
}

// With one vector a row, twice as many rows keep as many multipliers busy.
template <int kVectors>
constexpr int64_t kHeight = kTileRows * 2 / kVectors;

template <int kVectors, int kRows = kHeight<kVectors>>
void ComputeTileOf(const Tile& t, int64_t rows) {
  if (rows == kRows) return ComputeTile<kRows, kVectors>(t);
  if constexpr (kRows > 1) ComputeTileOf<kVectors, kRows - 1>(t, rows);
}

// A tile that is not as wide as its vectors, by way of one that is; `columns` numbers a row are
// used. Element by element, since there are few.
template <int kVectors>
void ComputeNarrowTile(Tile t, int64_t rows, int64_t columns) {
  HWY_ALIGN float initial[kHeight<kVectors> * kPanel];
  HWY_ALIGN float whole[kHeight<kVectors> * kPanel];
  const bool same = t.initial_stride == 0;
  for (int64_t i = 0; i < (same ? 1 : rows); ++i) {
    std::fill_n(initial + i * kPanel, kPanel, 0.0f);
    for (int64_t j = 0; j < columns; ++j)
      initial[i * kPanel + j] = t.initial[i * t.initial_stride + j];
  }
  float* const c = std::exchange(t.c, whole);
  const int64_t c_stride = std::exchange(t.c_stride, kPanel);
  t.initial = initial;
  t.initial_stride = same ? 0 : kPanel;
  ComputeTileOf<kVectors>(t, rows);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) c[i * c_stride + j] = whole[i * kPanel + j];
}

// Rows in tiles of nearly the same height: a low last tile would run at a fraction of the speed.
template <int kVectors>
void ComputeRows(Tile t, int64_t rows, int64_t columns) {
  const bool whole = columns == kVectors * static_cast<int64_t>(hn::Lanes(D()));
  constexpr int64_t kMost = kHeight<kVectors>;
  for (int64_t tiles = (rows + kMost - 1) / kMost; tiles > 0; --tiles) {
    const int64_t height = (rows + tiles - 1) / tiles;
    if (whole) {
      ComputeTileOf<kVectors>(t, height);
    } else {
      ComputeNarrowTile<kVectors>(t, height, columns);
    }
    for (Run& run : t.runs) run.a += height * run.row_step;
    t.initial += height * t.initial_stride;
    t.c += height * t.c_stride;
    rows -= height;
  }
}

// All rows of one panel, strip by strip of up to two vectors; `t` is set for the first column.
void ComputePanel(Tile t, int64_t rows, int64_t width) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
  for (int64_t column = 0; column < width; column += 2 * lanes) {
    const int64_t left = width - column;
    if (left <= lanes) {
      ComputeRows<1>(t, rows, left);
    } else {
      ComputeRows<2>(t, rows, std::min(2 * lanes, left));
    }
    t.b += 2 * lanes;
    t.initial += 2 * lanes;
    t.c += 2 * lanes;
  }
}

alignas(64) constexpr float kZeros[kPanel] = {};

void Gemm(const ConstMatrix& first, const ConstMatrix& second, const PackedMatrix& b,
          const GemmOptions& options, const Matrix& c) {
  Tile t{.runs = {{first.data, first.cols, first.stride, 1},
                  {second.data, second.cols, second.stride, 1}},
         .b = nullptr,
         .initial = kZeros,
         .initial_stride = 0,
         .relu = options.relu,
         .c = nullptr,
         .c_stride = c.stride};
  for (int64_t p = 0; p < b.panels(); ++p) {
    const int64_t column = p * kPanel;
    t.b = b.panel(p);
    t.c = c.data + column;
    if (options.bias != nullptr) t.initial = options.bias + column;
    ComputePanel(t, c.rows, std::min(kPanel, b.cols() - column));
  }
}

void GemmTransposed(const ConstMatrix& x, const PackedMatrix& dy, const Matrix& dw) {
  Tile t{.runs = {},
         .b = nullptr,
         .initial = nullptr,
         .initial_stride = dw.stride,
         .relu = false,
         .c = nullptr,
         .c_stride = dw.stride};
  for (int64_t first = 0; first < dy.rows(); first += kDepthChunk) {
    t.runs[0] = {x.row(first), std::min(kDepthChunk, dy.rows() - first), 1, x.stride};
    for (int64_t p = 0; p < dy.panels(); ++p) {
      const int64_t column = p * kPanel;
      t.b = dy.panel(p) + first * kPanel;
      t.c = dw.data + column;
      t.initial = t.c;
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
  HWY_DYNAMIC_DISPATCH(Gemm)(a, {}, b, options, c);
}

void gemm(ConstMatrix left, ConstMatrix right, const PackedMatrix& b, const GemmOptions& options,
          Matrix c) {
  HWY_DYNAMIC_DISPATCH(Gemm)(left, right, b, options, c);
}

void gemm_transposed_accumulate(ConstMatrix x, const PackedMatrix& dy, Matrix dw) {
  HWY_DYNAMIC_DISPATCH(GemmTransposed)(x, dy, dw);
}

}  // namespace edgesage::kernels
#endif  // HWY_ONCE
