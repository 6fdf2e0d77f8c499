#include "src/kernels/segment.h"

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

// Columns [column, column + lanes) of one node's mean.
template <class D>
HWY_INLINE void MeanColumns(D d, const int32_t* first, const int32_t* last, float scale,
                            const ConstMatrix& h, int64_t column, float* out) {
  auto sum = hn::Zero(d);
  for (const int32_t* j = first; j != last; ++j)
    sum = hn::Add(sum, hn::LoadU(d, h.row(*j) + column));
  hn::StoreU(hn::Mul(sum, hn::Set(d, scale)), d, out + column);
}

template <class D>
HWY_INLINE void SpreadColumns(D d, const int32_t* first, const int32_t* last, float scale,
                              const float* dout, int64_t column, const Matrix& dh) {
  const auto value = hn::Mul(hn::LoadU(d, dout + column), hn::Set(d, scale));
  for (const int32_t* j = first; j != last; ++j) {
    float* to = dh.row(*j) + column;
    hn::StoreU(hn::Add(hn::LoadU(d, to), value), d, to);
  }
}

HWY_INLINE float Scale(const int32_t* first, const int32_t* last) {
  return first == last ? 0.0f : 1.0f / static_cast<float>(last - first);
}

void SegmentMean(const Segments& segments, const ConstMatrix& h, const Matrix& out) {
  const Wide wide;
  const auto lanes = static_cast<int64_t>(hn::Lanes(wide));
  for (int64_t i = 0; i < out.rows; ++i) {
    const int32_t* first = segments.index + segments.offset[i];
    const int32_t* last = segments.index + segments.offset[i + 1];
    const float scale = Scale(first, last);
    int64_t column = 0;
    for (; column + lanes <= out.cols; column += lanes)
      MeanColumns(wide, first, last, scale, h, column, out.row(i));
    for (; column < out.cols; ++column)
      MeanColumns(Narrow(), first, last, scale, h, column, out.row(i));
  }
}

void SegmentMeanBackward(const Segments& segments, const ConstMatrix& dout, const Matrix& dh) {
  const Wide wide;
  const auto lanes = static_cast<int64_t>(hn::Lanes(wide));
  for (int64_t i = 0; i < dout.rows; ++i) {
    const int32_t* first = segments.index + segments.offset[i];
    const int32_t* last = segments.index + segments.offset[i + 1];
    const float scale = Scale(first, last);
    int64_t column = 0;
    for (; column + lanes <= dout.cols; column += lanes)
      SpreadColumns(wide, first, last, scale, dout.row(i), column, dh);
    for (; column < dout.cols; ++column)
      SpreadColumns(Narrow(), first, last, scale, dout.row(i), column, dh);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace edgesage::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgesage::kernels {

HWY_EXPORT(SegmentMean);
HWY_EXPORT(SegmentMeanBackward);

void segment_mean(const Segments& segments, ConstMatrix h, Matrix out) {
  HWY_DYNAMIC_DISPATCH(SegmentMean)(segments, h, out);
}

void segment_mean_backward(const Segments& segments, ConstMatrix dout, Matrix dh) {
  HWY_DYNAMIC_DISPATCH(SegmentMeanBackward)(segments, dout, dh);
}

}  // namespace edgesage::kernels
#endif  // HWY_ONCE
