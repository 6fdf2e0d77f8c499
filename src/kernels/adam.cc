#include "src/kernels/adam.h"

#include <cmath>

#include "src/kernels/targets_inl.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/adam.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef EDGESAGE_KERNELS_ADAM_FACTORS
#define EDGESAGE_KERNELS_ADAM_FACTORS
namespace edgesage::kernels {

// The constants of a step, computed once in double.
struct AdamFactors {
  float gradient_scale, beta1, beta2, rest1, rest2;
  float rate;          // learning rate over the first moment's bias correction
  float root_inverse;  // 1 / sqrt of the second moment's bias correction
  float epsilon, keep;
};

}  // namespace edgesage::kernels
#endif  // EDGESAGE_KERNELS_ADAM_FACTORS

HWY_BEFORE_NAMESPACE();
namespace edgesage::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE void Update(D d, const AdamFactors& f, const float* gradient, float* first,
                       float* second, float* weights) {
  const auto g = hn::Mul(hn::LoadU(d, gradient), hn::Set(d, f.gradient_scale));
  const auto m =
      hn::MulAdd(hn::Set(d, f.beta1), hn::LoadU(d, first), hn::Mul(hn::Set(d, f.rest1), g));
  const auto v = hn::MulAdd(hn::Set(d, f.beta2), hn::LoadU(d, second),
                            hn::Mul(hn::Mul(hn::Set(d, f.rest2), g), g));
  hn::StoreU(m, d, first);
  hn::StoreU(v, d, second);
  const auto root = hn::MulAdd(hn::Sqrt(v), hn::Set(d, f.root_inverse), hn::Set(d, f.epsilon));
  const auto move = hn::Div(hn::Mul(hn::Set(d, f.rate), m), root);
  const auto kept = hn::Mul(hn::LoadU(d, weights), hn::Set(d, f.keep));
  hn::StoreU(hn::Sub(kept, move), d, weights);
}

void UpdateAll(const AdamFactors& factors, int64_t count, const float* gradient, float* first,
               float* second, float* weights) {
  const hn::ScalableTag<float> wide;
  const auto lanes = static_cast<int64_t>(hn::Lanes(wide));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    Update(wide, factors, gradient + i, first + i, second + i, weights + i);
  for (; i < count; ++i)
    Update(hn::CappedTag<float, 1>(), factors, gradient + i, first + i, second + i, weights + i);
}

}  // namespace HWY_NAMESPACE
}  // namespace edgesage::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgesage::kernels {

HWY_EXPORT(UpdateAll);

void adam(const AdamStep& options, int64_t count, const float* gradient, float* first,
          float* second, float* weights) {
  const double correction1 = 1.0 - std::pow(static_cast<double>(options.beta1), options.step);
  const double correction2 = 1.0 - std::pow(static_cast<double>(options.beta2), options.step);
  const AdamFactors factors{
      .gradient_scale = options.gradient_scale,
      .beta1 = options.beta1,
      .beta2 = options.beta2,
      .rest1 = 1.0f - options.beta1,
      .rest2 = 1.0f - options.beta2,
      .rate = static_cast<float>(options.learning_rate / correction1),
      .root_inverse = static_cast<float>(1.0 / std::sqrt(correction2)),
      .epsilon = options.epsilon,
      .keep = 1.0f - options.learning_rate * options.weight_decay,
  };
  HWY_DYNAMIC_DISPATCH(UpdateAll)(factors, count, gradient, first, second, weights);
}

}  // namespace edgesage::kernels
#endif  // HWY_ONCE
