#include "src/kernels/elementwise.h"

#include "src/kernels/targets_inl.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/elementwise.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace edgesage::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct AddOp {
  template <class D>
  HWY_INLINE static hn::Vec<D> Apply(D, hn::Vec<D> from, hn::Vec<D> to) {
    return hn::Add(to, from);
  }
};

struct MultiplyOp {
  template <class D>
  HWY_INLINE static hn::Vec<D> Apply(D, hn::Vec<D> from, hn::Vec<D> to) {
    return hn::Mul(to, from);
  }
};

struct ReluBackwardOp {
  template <class D>
  HWY_INLINE static hn::Vec<D> Apply(D d, hn::Vec<D> from, hn::Vec<D> to) {
    return hn::IfThenElseZero(hn::Gt(from, hn::Zero(d)), to);
  }
};

template <class Op, class D>
HWY_INLINE void Apply(D d, const float* from, float* to) {
  hn::StoreU(Op::Apply(d, hn::LoadU(d, from), hn::LoadU(d, to)), d, to);
}

// to[j] = Op(from[j], to[j]) over one row.
template <class Op>
HWY_INLINE void ApplyRow(int64_t count, const float* from, float* to) {
  const hn::ScalableTag<float> wide;
  const auto lanes = static_cast<int64_t>(hn::Lanes(wide));
  int64_t j = 0;
  for (; j + lanes <= count; j += lanes) Apply<Op>(wide, from + j, to + j);
  for (; j < count; ++j) Apply<Op>(hn::CappedTag<float, 1>(), from + j, to + j);
}

template <class Op>
HWY_INLINE void ApplyAll(const ConstMatrix& from, const Matrix& to) {
  for (int64_t i = 0; i < to.rows; ++i) ApplyRow<Op>(to.cols, from.row(i), to.row(i));
}

void AddAll(const ConstMatrix& from, const Matrix& to) { ApplyAll<AddOp>(from, to); }
void MultiplyAll(const ConstMatrix& from, const Matrix& to) { ApplyAll<MultiplyOp>(from, to); }
void ReluBackward(const ConstMatrix& y, const Matrix& dy) { ApplyAll<ReluBackwardOp>(y, dy); }

void AddColumnSums(const ConstMatrix& values, float* sums) {
  for (int64_t i = 0; i < values.rows; ++i) ApplyRow<AddOp>(values.cols, values.row(i), sums);
}

template <class D>
HWY_INLINE void MoveOne(D d, const float* values, float rate, float* average) {
  const auto old = hn::LoadU(d, average);
  const auto step = hn::Sub(hn::LoadU(d, values), old);
  hn::StoreU(hn::MulAdd(step, hn::Set(d, rate), old), d, average);
}

void MoveAverage(int64_t count, const float* values, float rate, float* average) {
  const hn::ScalableTag<float> wide;
  const auto lanes = static_cast<int64_t>(hn::Lanes(wide));
  int64_t j = 0;
  for (; j + lanes <= count; j += lanes) MoveOne(wide, values + j, rate, average + j);
  for (; j < count; ++j) MoveOne(hn::CappedTag<float, 1>(), values + j, rate, average + j);
}

}  // namespace HWY_NAMESPACE
}  // namespace edgesage::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgesage::kernels {

HWY_EXPORT(AddAll);
HWY_EXPORT(MultiplyAll);
HWY_EXPORT(ReluBackward);
HWY_EXPORT(AddColumnSums);
HWY_EXPORT(MoveAverage);

void add(ConstMatrix from, Matrix to) { HWY_DYNAMIC_DISPATCH(AddAll)(from, to); }

void multiply(ConstMatrix from, Matrix to) { HWY_DYNAMIC_DISPATCH(MultiplyAll)(from, to); }

void relu_backward(ConstMatrix y, Matrix dy) { HWY_DYNAMIC_DISPATCH(ReluBackward)(y, dy); }

void add_column_sums(ConstMatrix values, float* sums) {
  HWY_DYNAMIC_DISPATCH(AddColumnSums)(values, sums);
}

void move_average(int64_t count, const float* values, float rate, float* average) {
  HWY_DYNAMIC_DISPATCH(MoveAverage)(count, values, rate, average);
}

}  // namespace edgesage::kernels
#endif  // HWY_ONCE
