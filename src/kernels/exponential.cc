#include "src/kernels/exponential.h"

#include <algorithm>

#include "src/kernels/targets_inl.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/exponential.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace edgesage::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::ScalableTag<double>;
using Floats = hn::Rebind<float, Doubles>;

// Highway converts to integers on the way, which is not defined for what is no number: 0 goes in
// its stead, and it comes out unchanged.
template <class Function>
HWY_INLINE hn::Vec<Doubles> OfNumbers(hn::Vec<Doubles> x, Function function) {
  const auto is_number = hn::Eq(x, x);
  return hn::IfThenElse(is_number, function(hn::IfThenElseZero(is_number, x)), x);
}

HWY_INLINE hn::Vec<Doubles> Exponential(hn::Vec<Doubles> x) {
  return OfNumbers(x, [](hn::Vec<Doubles> v) HWY_ATTR { return hn::Exp(Doubles(), v); });
}

void Exponentials(int64_t count, const double* x, double* y) {
  const Doubles d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(Exponential(hn::LoadU(d, x + i)), d, y + i);
  if (i == count) return;
  HWY_ALIGN double rest[hn::MaxLanes(d)] = {};
  std::copy_n(x + i, count - i, rest);
  hn::Store(Exponential(hn::Load(d, rest)), d, rest);
  std::copy_n(rest, count - i, y + i);
}

HWY_INLINE hn::Vec<Doubles> Bounded(hn::Vec<Floats> x, double bound, hn::Vec<Floats> base) {
  const Doubles d;
  const auto limit = hn::Set(d, bound);
  const auto tanh = OfNumbers(hn::Div(hn::PromoteTo(d, x), limit),
                              [](hn::Vec<Doubles> v) HWY_ATTR { return hn::Tanh(Doubles(), v); });
  return hn::MulAdd(limit, tanh, hn::PromoteTo(d, base));
}

void AddBounded(int64_t count, const float* x, double bound, const float* base, double* y) {
  const Doubles d;
  const Floats df;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(Bounded(hn::LoadU(df, x + i), bound, hn::LoadU(df, base + i)), d, y + i);
  if (i == count) return;
  HWY_ALIGN float rest_x[hn::MaxLanes(d)] = {}, rest_base[hn::MaxLanes(d)] = {};
  HWY_ALIGN double rest[hn::MaxLanes(d)];
  std::copy_n(x + i, count - i, rest_x);
  std::copy_n(base + i, count - i, rest_base);
  hn::Store(Bounded(hn::Load(df, rest_x), bound, hn::Load(df, rest_base)), d, rest);
  std::copy_n(rest, count - i, y + i);
}

}  // namespace HWY_NAMESPACE
}  // namespace edgesage::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgesage::kernels {

HWY_EXPORT(Exponentials);
HWY_EXPORT(AddBounded);

void exponentials(int64_t count, const double* x, double* y) {
  HWY_DYNAMIC_DISPATCH(Exponentials)(count, x, y);
}

void add_bounded(int64_t count, const float* x, double bound, const float* base, double* y) {
  HWY_DYNAMIC_DISPATCH(AddBounded)(count, x, bound, base, y);
}

}  // namespace edgesage::kernels
#endif  // HWY_ONCE
