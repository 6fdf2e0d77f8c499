// Kinds of work that virtual devices price differently. Finer than RowKind where machines have
// kernels of their own (1x1 convolutions, large depthwise filters), each with its own launch,
// work, traffic and luck on every device.
#pragma once

#include <cstdint>
#include <string_view>

#include "src/lower/rows.h"

namespace edgesage::simulate {

// The order is part of what a seed means: new variants go to the end.
enum class Variant : uint8_t {
  kConv1x1,
  kConvKxK,
  kConv1D,  // filters of one row or one column
  kConvDilated,
  kConvFirst,  // at most four input channels; depthwise ones of one channel too
  kConvGrouped,
  kDepthwise9,   // up to 9 taps
  kDepthwise25,  // up to 25
  kDepthwiseLarge,
  kDepthwise1D,
  kDepthwiseDilated,
  kFullyConnected,
  kTransposeConv2,  // strides up to 2
  kTransposeConvLarge,
  kMatMul,
  kRecurrent,
  kAdd,
  kMul,
  kMulBroadcast,
  kElementwise,
  kConcat,  // up to four inputs
  kConcatMany,
  kSlice,
  kAveragePool,
  kGlobalPool,
  kMaxPool,
  kReduce,
  kReshape,
  kSoftmax,
  kRelu,
  kLogistic,
  kHardSwish,
  kLeakyRelu,
  kOtherActivation,
  kLut,
  kResizeBilinear,
  kResizeNearest,
  kDepthToSpace,
  kPad,
  kTranspose,
  kQuantize,
  kGather,
  kArgMax,
  kShift,
  kControl,
  kOther,
  kCount,
};
inline constexpr int kVariants = static_cast<int>(Variant::kCount);

// Formula that a variant's work follows.
enum class Formula : uint8_t {
  kConvolution,
  kDepthwise,
  kTransposeConv,
  kMatrix,   // multiply-accumulates without a map: fully connected, recurrent
  kElement,  // so much an element
};

[[nodiscard]] Variant variant_of(const Row& row);
[[nodiscard]] Formula formula_of(Variant variant);
[[nodiscard]] std::string_view variant_name(Variant variant);

}  // namespace edgesage::simulate
