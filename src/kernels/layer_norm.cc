#include "src/kernels/layer_norm.h"

#include <algorithm>

#include "src/kernels/targets_inl.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/layer_norm.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace edgesage::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Wide = hn::ScalableTag<float>;
using Narrow = hn::CappedTag<float, 1>;  // the columns that fill no vector

template <class D>
HWY_INLINE float Total(D d, hn::Vec<D> value) {
  return hn::GetLane(hn::SumOfLanes(d, value));
}

HWY_INLINE float RowSum(const float* z, int64_t width) {
  const Wide d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto sum = hn::Zero(d);
  int64_t j = 0;
  for (; j + lanes <= width; j += lanes) sum = hn::Add(sum, hn::LoadU(d, z + j));
  float total = Total(d, sum);
  for (; j < width; ++j) total += z[j];
  return total;
}

// Sum of the squares of z - mean.
HWY_INLINE float SquareSum(const float* z, float mean, int64_t width) {
  const Wide d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto squares = hn::Zero(d);
  int64_t j = 0;
  for (; j + lanes <= width; j += lanes) {
    const auto value = hn::Sub(hn::LoadU(d, z + j), hn::Set(d, mean));
    squares = hn::MulAdd(value, value, squares);
  }
  float total = Total(d, squares);
  for (; j < width; ++j) total += (z[j] - mean) * (z[j] - mean);
  return total;
}

// One row of the forward pass; pointers that are null are left out.
struct Row {
  const float* z;
  float mean;
  float scale;
  const float* gain;
  const float* bias;
  const float* factor;
  const float* residual;
  float* normal;
  float* y;
};

template <bool kKeep, bool kFactor, bool kResidual, class D>
HWY_INLINE void WriteColumns(D d, const Row& row, int64_t j) {
  const auto centred = hn::Sub(hn::LoadU(d, row.z + j), hn::Set(d, row.mean));
  const auto normal = hn::Mul(centred, hn::Set(d, row.scale));
  if constexpr (kKeep) hn::StoreU(normal, d, row.normal + j);
  auto y = hn::MulAdd(normal, hn::LoadU(d, row.gain + j), hn::LoadU(d, row.bias + j));
  y = hn::Max(y, hn::Zero(d));
  if constexpr (kFactor) y = hn::Mul(y, hn::LoadU(d, row.factor + j));
  if constexpr (kResidual) y = hn::Add(y, hn::LoadU(d, row.residual + j));
  hn::StoreU(y, d, row.y + j);
}

template <bool kKeep, bool kFactor, bool kResidual>
HWY_INLINE void WriteRow(const Row& row, int64_t width) {
  const Wide wide;
  const auto lanes = static_cast<int64_t>(hn::Lanes(wide));
  int64_t j = 0;
  for (; j + lanes <= width; j += lanes) WriteColumns<kKeep, kFactor, kResidual>(wide, row, j);
  for (; j < width; ++j) WriteColumns<kKeep, kFactor, kResidual>(Narrow(), row, j);
}

constexpr int64_t kGroup = 16;  // rows; a multiple of the lanes

HWY_INLINE void InverseRoots(float* values) {
  const hn::CappedTag<float, kGroup> d;
  for (int64_t i = 0; i < kGroup; i += static_cast<int64_t>(hn::Lanes(d)))
    hn::Store(hn::Div(hn::Set(d, 1.0f), hn::Sqrt(hn::Load(d, values + i))), d, values + i);
}

// Step by step for a few rows at a time rather than row by row: a row is one long chain of
// dependent operations, and the rows' chains overlap only where they are near each other.
template <bool kKeep, bool kFactor, bool kResidual>
void ForwardRows(const ConstMatrix& z, const float* gain, const float* bias,
                 const LayerNormState& state, const LayerNormAfter& after, const Matrix& y) {
  const int64_t width = z.cols;
  const float share = 1.0f / static_cast<float>(width);
  HWY_ALIGN float mean[kGroup], scale[kGroup] = {};
  for (int64_t first = 0; first < z.rows; first += kGroup) {
    const int64_t count = std::min(kGroup, z.rows - first);
    for (int64_t i = 0; i < count; ++i) mean[i] = RowSum(z.row(first + i), width) * share;
    for (int64_t i = 0; i < count; ++i)
      scale[i] = SquareSum(z.row(first + i), mean[i], width) * share + kLayerNormEpsilon;
    InverseRoots(scale);
    if constexpr (kKeep) std::copy_n(scale, count, state.inverse_deviation + first);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = first + i;
      WriteRow<kKeep, kFactor, kResidual>({.z = z.row(at),
                                           .mean = mean[i],
                                           .scale = scale[i],
                                           .gain = gain,
                                           .bias = bias,
                                           .factor = after.factor.row(at),
                                           .residual = after.residual.row(at),
                                           .normal = state.normal.row(at),
                                           .y = y.row(at)},
                                          width);
    }
  }
}

void Forward(const ConstMatrix& z, const float* gain, const float* bias,
             const LayerNormState& state, const LayerNormAfter& after, const Matrix& y) {
  constexpr decltype(&Forward) kForms[] = {
      ForwardRows<false, false, false>, ForwardRows<false, false, true>,
      ForwardRows<false, true, false>,  ForwardRows<false, true, true>,
      ForwardRows<true, false, false>,  ForwardRows<true, false, true>,
      ForwardRows<true, true, false>,   ForwardRows<true, true, true>};
  const int form = (state.normal.data != nullptr ? 4 : 0) + (after.factor.data != nullptr ? 2 : 0) +
                   (after.residual.data != nullptr ? 1 : 0);
  kForms[form](z, gain, bias, state, after, y);
}

template <class D>
struct Sums {
  hn::Vec<D> plain;    // sum of d normal
  hn::Vec<D> product;  // sum of d normal * normal
};

// Columns of a row through ReLU and the affine part: writes d normal to dz.
template <class D>
HWY_INLINE void BackThroughAffine(D d, const float* dy, const float* normal, const float* gain,
                                  const float* bias, float* dz, float* dgain, float* dbias,
                                  Sums<D>& sums) {
  const auto n = hn::LoadU(d, normal);
  const auto g = hn::LoadU(d, gain);
  const auto active = hn::Gt(hn::MulAdd(n, g, hn::LoadU(d, bias)), hn::Zero(d));
  const auto passed = hn::IfThenElseZero(active, hn::LoadU(d, dy));
  hn::StoreU(hn::MulAdd(passed, n, hn::LoadU(d, dgain)), d, dgain);
  hn::StoreU(hn::Add(passed, hn::LoadU(d, dbias)), d, dbias);
  const auto dnormal = hn::Mul(passed, g);
  sums.plain = hn::Add(sums.plain, dnormal);
  sums.product = hn::MulAdd(dnormal, n, sums.product);
  hn::StoreU(dnormal, d, dz);
}

template <class D>
HWY_INLINE void BackThroughNormal(D d, const float* normal, float mean, float slope, float scale,
                                  float* dz) {
  const auto centred = hn::Sub(hn::LoadU(d, dz), hn::Set(d, mean));
  const auto value = hn::NegMulAdd(hn::LoadU(d, normal), hn::Set(d, slope), centred);
  hn::StoreU(hn::Mul(value, hn::Set(d, scale)), d, dz);
}

void BackwardRow(const float* dy, const float* normal, float inverse_deviation, const float* gain,
                 const float* bias, int64_t width, float* dz, float* dgain, float* dbias) {
  const Wide wide;
  const Narrow narrow;
  const auto lanes = static_cast<int64_t>(hn::Lanes(wide));
  Sums<Wide> sums{hn::Zero(wide), hn::Zero(wide)};
  Sums<Narrow> rest{hn::Zero(narrow), hn::Zero(narrow)};
  int64_t j = 0;
  for (; j + lanes <= width; j += lanes)
    BackThroughAffine(wide, dy + j, normal + j, gain + j, bias + j, dz + j, dgain + j, dbias + j,
                      sums);
  for (; j < width; ++j)
    BackThroughAffine(narrow, dy + j, normal + j, gain + j, bias + j, dz + j, dgain + j, dbias + j,
                      rest);
  const float share = 1.0f / static_cast<float>(width);
  const float mean = (Total(wide, sums.plain) + hn::GetLane(rest.plain)) * share;
  const float slope = (Total(wide, sums.product) + hn::GetLane(rest.product)) * share;
  for (j = 0; j + lanes <= width; j += lanes)
    BackThroughNormal(wide, normal + j, mean, slope, inverse_deviation, dz + j);
  for (; j < width; ++j)
    BackThroughNormal(narrow, normal + j, mean, slope, inverse_deviation, dz + j);
}

void Backward(const ConstMatrix& dy, const LayerNormState& state, const float* gain,
              const float* bias, const Matrix& dz, float* dgain, float* dbias) {
  for (int64_t i = 0; i < dy.rows; ++i)
    BackwardRow(dy.row(i), state.normal.row(i), state.inverse_deviation[i], gain, bias, dy.cols,
                dz.row(i), dgain, dbias);
}

}  // namespace HWY_NAMESPACE
}  // namespace edgesage::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgesage::kernels {

HWY_EXPORT(Forward);
HWY_EXPORT(Backward);

void layer_norm_relu(ConstMatrix z, const float* gain, const float* bias,
                     const LayerNormState& state, const LayerNormAfter& after, Matrix y) {
  HWY_DYNAMIC_DISPATCH(Forward)(z, gain, bias, state, after, y);
}

void layer_norm_relu_backward(ConstMatrix dy, const LayerNormState& state, const float* gain,
                              const float* bias, Matrix dz, float* dgain, float* dbias) {
  HWY_DYNAMIC_DISPATCH(Backward)(dy, state, gain, bias, dz, dgain, dbias);
}

}  // namespace edgesage::kernels
#endif  // HWY_ONCE
