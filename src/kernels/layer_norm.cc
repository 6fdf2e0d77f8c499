#include "src/kernels/layer_norm.h"

#include <cmath>

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

// Writes z - mean to `centred` and returns the sum of its squares.
HWY_INLINE float Centre(const float* z, float mean, int64_t width, float* centred) {
  const Wide d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto squares = hn::Zero(d);
  int64_t j = 0;
  for (; j + lanes <= width; j += lanes) {
    const auto value = hn::Sub(hn::LoadU(d, z + j), hn::Set(d, mean));
    squares = hn::MulAdd(value, value, squares);
    hn::StoreU(value, d, centred + j);
  }
  float total = Total(d, squares);
  for (; j < width; ++j) {
    const float value = z[j] - mean;
    total += value * value;
    centred[j] = value;
  }
  return total;
}

template <class D>
HWY_INLINE void ScaleAndClip(D d, float scale, const float* gain, const float* bias, float* normal,
                             float* y) {
  const auto value = hn::Mul(hn::LoadU(d, normal), hn::Set(d, scale));
  hn::StoreU(value, d, normal);
  const auto affine = hn::MulAdd(value, hn::LoadU(d, gain), hn::LoadU(d, bias));
  hn::StoreU(hn::Max(affine, hn::Zero(d)), d, y);
}

void Forward(const ConstMatrix& z, const float* gain, const float* bias,
             const LayerNormState& state, const Matrix& y) {
  const Wide wide;
  const auto lanes = static_cast<int64_t>(hn::Lanes(wide));
  const int64_t width = z.cols;
  const float share = 1.0f / static_cast<float>(width);
  for (int64_t i = 0; i < z.rows; ++i) {
    float* normal = state.normal.row(i);
    const float mean = RowSum(z.row(i), width) * share;
    const float variance = Centre(z.row(i), mean, width, normal) * share;
    const float scale = 1.0f / std::sqrt(variance + kLayerNormEpsilon);
    state.inverse_deviation[i] = scale;
    float* out = y.row(i);
    int64_t j = 0;
    for (; j + lanes <= width; j += lanes)
      ScaleAndClip(wide, scale, gain + j, bias + j, normal + j, out + j);
    for (; j < width; ++j) ScaleAndClip(Narrow(), scale, gain + j, bias + j, normal + j, out + j);
  }
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
                     const LayerNormState& state, Matrix y) {
  HWY_DYNAMIC_DISPATCH(Forward)(z, gain, bias, state, y);
}

void layer_norm_relu_backward(ConstMatrix dy, const LayerNormState& state, const float* gain,
                              const float* bias, Matrix dz, float* dgain, float* dbias) {
  HWY_DYNAMIC_DISPATCH(Backward)(dy, state, gain, bias, dz, dgain, dbias);
}

}  // namespace edgesage::kernels
#endif  // HWY_ONCE
