#include "src/kernels/segment.h"

#include <algorithm>

#include "src/kernels/targets_inl.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/segment.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace edgesage::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Wide = hn::ScalableTag<float>;
using Narrow = hn::CappedTag<float, 1>;  // the columns that fill no vector

// The neighbours of one node.
struct Neighbours {
  Neighbours(const Segments& segments, int64_t node)
      : first(segments.offset[node]), last(segments.offset[node + 1]), index(segments.index) {}

  [[nodiscard]] int32_t count() const { return last - first; }
  [[nodiscard]] int32_t operator[](int32_t which) const {
    return index == nullptr ? first + which : index[first + which];
  }

  int32_t first, last;
  const int32_t* index;
};

// kVectors vectors of one node's sum from `column` on, times `scale`; there is a neighbour.
template <int kVectors, class D>
HWY_INLINE void SumColumns(D d, const Neighbours& neighbours, float scale, const ConstMatrix& h,
                           int64_t column, float* out) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<D> sum[kVectors];
  const float* from = h.row(neighbours[0]) + column;
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) sum[v] = hn::LoadU(d, from + v * lanes);
  for (int32_t j = 1; j < neighbours.count(); ++j) {
    from = h.row(neighbours[j]) + column;
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[v] = hn::Add(sum[v], hn::LoadU(d, from + v * lanes));
  }
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v)
    hn::StoreU(hn::Mul(sum[v], hn::Set(d, scale)), d, out + column + v * lanes);
}

HWY_INLINE void SumRow(const Neighbours& neighbours, float scale, const ConstMatrix& h,
                       int64_t width, float* out) {
  const Wide wide;
  const auto lanes = static_cast<int64_t>(hn::Lanes(wide));
  if (neighbours.count() == 0) {
    std::fill_n(out, width, 0.0f);
    return;
  }
  int64_t column = 0;
  for (; column + 4 * lanes <= width; column += 4 * lanes)
    SumColumns<4>(wide, neighbours, scale, h, column, out);
  for (; column + 2 * lanes <= width; column += 2 * lanes)
    SumColumns<2>(wide, neighbours, scale, h, column, out);
  for (; column + lanes <= width; column += lanes)
    SumColumns<1>(wide, neighbours, scale, h, column, out);
  for (; column < width; ++column) SumColumns<1>(Narrow(), neighbours, scale, h, column, out);
}

// kVectors vectors of one node's maximum, and which neighbour has it.
template <int kVectors, class D>
HWY_INLINE void MaximumColumns(D d, const Neighbours& neighbours, const ConstMatrix& h,
                               int64_t column, float* out, int32_t* first) {
  const hn::RebindToSigned<D> di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<D> best[kVectors];
  hn::Vec<decltype(di)> where[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    best[v] = hn::LoadU(d, h.row(neighbours[0]) + column + v * lanes);
    where[v] = hn::Set(di, neighbours[0]);
  }
  for (int32_t j = 1; j < neighbours.count(); ++j) {
    const int32_t neighbour = neighbours[j];
    const float* from = h.row(neighbour) + column;
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const auto value = hn::LoadU(d, from + v * lanes);
      const auto larger = hn::Gt(value, best[v]);
      best[v] = hn::IfThenElse(larger, value, best[v]);
      where[v] = hn::IfThenElse(hn::RebindMask(di, larger), hn::Set(di, neighbour), where[v]);
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    hn::StoreU(best[v], d, out + column + v * lanes);
    hn::StoreU(where[v], di, first + column + v * lanes);
  }
}

HWY_INLINE void MaximumRow(const Neighbours& neighbours, const ConstMatrix& h, int64_t width,
                           float* out, int32_t* first) {
  const Wide wide;
  const auto lanes = static_cast<int64_t>(hn::Lanes(wide));
  if (neighbours.count() == 0) {
    std::fill_n(out, width, 0.0f);
    std::fill_n(first, width, -1);
    return;
  }
  int64_t column = 0;
  for (; column + 4 * lanes <= width; column += 4 * lanes)
    MaximumColumns<4>(wide, neighbours, h, column, out, first);
  for (; column + lanes <= width; column += lanes)
    MaximumColumns<1>(wide, neighbours, h, column, out, first);
  for (; column < width; ++column) MaximumColumns<1>(Narrow(), neighbours, h, column, out, first);
}

template <class D>
HWY_INLINE void SpreadColumns(D d, const Neighbours& neighbours, float scale, const float* dout,
                              int64_t column, const Matrix& dh) {
  const auto value = hn::Mul(hn::LoadU(d, dout + column), hn::Set(d, scale));
  for (int32_t j = 0; j < neighbours.count(); ++j) {
    float* to = dh.row(neighbours[j]) + column;
    hn::StoreU(hn::Add(hn::LoadU(d, to), value), d, to);
  }
}

HWY_INLINE float Share(const Neighbours& neighbours) {
  return neighbours.count() == 0 ? 0.0f : 1.0f / static_cast<float>(neighbours.count());
}

void SegmentSum(const Segments& segments, const ConstMatrix& h, const Matrix& out) {
  for (int64_t i = 0; i < out.rows; ++i) SumRow({segments, i}, 1.0f, h, out.cols, out.row(i));
}

void SegmentMean(const Segments& segments, const ConstMatrix& h, const Matrix& out) {
  for (int64_t i = 0; i < out.rows; ++i) {
    const Neighbours neighbours(segments, i);
    SumRow(neighbours, Share(neighbours), h, out.cols, out.row(i));
  }
}

void SegmentMaximum(const Segments& segments, const ConstMatrix& h, const Matrix& out,
                    int32_t* first) {
  for (int64_t i = 0; i < out.rows; ++i)
    MaximumRow({segments, i}, h, out.cols, out.row(i), first + i * out.cols);
}

void SegmentMeanBackward(const Segments& segments, const ConstMatrix& dout, const Matrix& dh) {
  const Wide wide;
  const auto lanes = static_cast<int64_t>(hn::Lanes(wide));
  for (int64_t i = 0; i < dout.rows; ++i) {
    const Neighbours neighbours(segments, i);
    const float scale = Share(neighbours);
    int64_t column = 0;
    for (; column + lanes <= dout.cols; column += lanes)
      SpreadColumns(wide, neighbours, scale, dout.row(i), column, dh);
    for (; column < dout.cols; ++column)
      SpreadColumns(Narrow(), neighbours, scale, dout.row(i), column, dh);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace edgesage::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgesage::kernels {

HWY_EXPORT(SegmentSum);
HWY_EXPORT(SegmentMean);
HWY_EXPORT(SegmentMaximum);
HWY_EXPORT(SegmentMeanBackward);

void segment_sum(const Segments& segments, ConstMatrix h, Matrix out) {
  HWY_DYNAMIC_DISPATCH(SegmentSum)(segments, h, out);
}

void segment_mean(const Segments& segments, ConstMatrix h, Matrix out) {
  HWY_DYNAMIC_DISPATCH(SegmentMean)(segments, h, out);
}

void segment_maximum(const Segments& segments, ConstMatrix h, Matrix out, int32_t* first) {
  HWY_DYNAMIC_DISPATCH(SegmentMaximum)(segments, h, out, first);
}

void segment_mean_backward(const Segments& segments, ConstMatrix dout, Matrix dh) {
  HWY_DYNAMIC_DISPATCH(SegmentMeanBackward)(segments, dout, dh);
}

}  // namespace edgesage::kernels
#endif  // HWY_ONCE
