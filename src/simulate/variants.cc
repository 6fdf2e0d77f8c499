#include "src/simulate/variants.h"

#include <array>

namespace edgesage::simulate {
namespace {

constexpr std::array<std::string_view, kVariants> kNames = {
    "conv_1x1",
    "conv_kxk",
    "conv_1d",
    "conv_dilated",
    "conv_first",
    "conv_grouped",
    "depthwise_9",
    "depthwise_25",
    "depthwise_large",
    "depthwise_1d",
    "depthwise_dilated",
    "fully_connected",
    "transpose_conv_2",
    "transpose_conv_large",
    "mat_mul",
    "recurrent",
    "add",
    "mul",
    "mul_broadcast",
    "elementwise",
    "concat",
    "concat_many",
    "slice",
    "average_pool",
    "global_pool",
    "max_pool",
    "reduce",
    "reshape",
    "softmax",
    "relu",
    "logistic",
    "hard_swish",
    "leaky_relu",
    "other_activation",
    "lut",
    "resize_bilinear",
    "resize_nearest",
    "depth_to_space",
    "pad",
    "transpose",
    "quantize",
    "gather",
    "arg_max",
    "shift",
    "control",
    "other",
};

int64_t taps(const Row& row) { return int64_t{row.kernel_h} * row.kernel_w; }
bool is_dilated(const Row& row) {
  return taps(row) > 1 && (row.dilation_h > 1 || row.dilation_w > 1);
}
bool is_1d(const Row& row) { return (row.kernel_h == 1) != (row.kernel_w == 1); }

Variant depthwise_filter(const Row& row) {
  if (is_dilated(row)) return Variant::kDepthwiseDilated;
  if (is_1d(row)) return Variant::kDepthwise1D;
  if (taps(row) <= 9) return Variant::kDepthwise9;
  return taps(row) <= 25 ? Variant::kDepthwise25 : Variant::kDepthwiseLarge;
}

Variant convolution(const Row& row) {
  // As many groups as channels are a depthwise convolution, and runtimes take it so.
  if (row.groups > 1 && row.groups == row.ifm.c && row.groups == row.ofm.c)
    return depthwise_filter(row);
  if (row.groups > 1) return Variant::kConvGrouped;
  if (is_dilated(row)) return Variant::kConvDilated;
  if (taps(row) <= 1) return Variant::kConv1x1;
  if (row.ifm.c <= 4) return Variant::kConvFirst;
  return is_1d(row) ? Variant::kConv1D : Variant::kConvKxK;
}

Variant depthwise(const Row& row) {
  // With one input channel it is an ordinary convolution, and compiled as one.
  if (row.ifm.c == 1 && row.ofm.c > 1) return Variant::kConvFirst;
  // With one input channel both are the same computation, and runtimes take the convolution.
  if (row.ifm.c == 1) return convolution(row);
  return depthwise_filter(row);
}

Variant average_pool(const Row& row) {
  const bool whole = row.ofm.h == 1 && row.ofm.w == 1 && row.ifm.h * row.ifm.w > 1 &&
                     row.kernel_h >= row.ifm.h && row.kernel_w >= row.ifm.w;
  return whole ? Variant::kGlobalPool : Variant::kAveragePool;
}

Variant mul(const Row& row) {
  const int64_t elements = row.ofm.elements();
  const bool same =
      row.ifm.elements() == elements && (!row.has_ifm2 || row.ifm2.elements() == elements);
  return same ? Variant::kMul : Variant::kMulBroadcast;
}

Variant copy(const Row& row) {
  const bool joins = row.op_kind == OpKind::kConcatenation || row.op_kind == OpKind::kPack ||
                     row.op_kind == OpKind::kStablehloConcatenate;
  if (!joins) return Variant::kSlice;
  return row.ifm_tensors.size() > 4 ? Variant::kConcatMany : Variant::kConcat;
}

Variant activation(OpKind kind) {
  switch (kind) {
    case OpKind::kRelu:
    case OpKind::kRelu6:
    case OpKind::kReluN1To1:
    case OpKind::kRelu0To1:
      return Variant::kRelu;
    case OpKind::kLogistic:
    case OpKind::kTanh:
    case OpKind::kStablehloLogistic:
    case OpKind::kStablehloTanh:
      return Variant::kLogistic;
    case OpKind::kHardSwish:
      return Variant::kHardSwish;
    case OpKind::kLeakyRelu:
    case OpKind::kPrelu:
      return Variant::kLeakyRelu;
    default:
      return Variant::kOtherActivation;
  }
}

}  // namespace

Variant variant_of(const Row& row) {
  switch (row.kind) {
    case RowKind::kConv2D:
      return convolution(row);
    case RowKind::kDepthwiseConv2D:
      return depthwise(row);
    case RowKind::kTransposeConv:
      return row.stride_h <= 2 && row.stride_w <= 2 ? Variant::kTransposeConv2
                                                    : Variant::kTransposeConvLarge;
    case RowKind::kFullyConnected:
      return Variant::kFullyConnected;
    case RowKind::kMatMul:
      return Variant::kMatMul;
    case RowKind::kRecurrent:
      return Variant::kRecurrent;
    case RowKind::kAveragePool:
      return average_pool(row);
    case RowKind::kMaxPool:
      return Variant::kMaxPool;
    case RowKind::kReduce:
      return Variant::kReduce;
    case RowKind::kAdd:
    case RowKind::kSub:
      return Variant::kAdd;
    case RowKind::kMul:
      return mul(row);
    case RowKind::kMinMax:
    case RowKind::kElementwise:
      return Variant::kElementwise;
    case RowKind::kActivation:
      return activation(row.op_kind);
    case RowKind::kLut:
      return Variant::kLut;
    case RowKind::kSoftmax:
      return Variant::kSoftmax;
    case RowKind::kReshape:
      return Variant::kReshape;
    case RowKind::kCopy:
      return copy(row);
    case RowKind::kPad:
      return Variant::kPad;
    case RowKind::kResize:
      return row.op_kind == OpKind::kResizeNearestNeighbor ? Variant::kResizeNearest
                                                           : Variant::kResizeBilinear;
    case RowKind::kTranspose:
      return Variant::kTranspose;
    case RowKind::kDepthToSpace:
      return Variant::kDepthToSpace;
    case RowKind::kQuantize:
      return Variant::kQuantize;
    case RowKind::kGather:
      return Variant::kGather;
    case RowKind::kArgMax:
      return Variant::kArgMax;
    case RowKind::kShift:
      return Variant::kShift;
    case RowKind::kControl:
      return Variant::kControl;
    case RowKind::kOther:
    case RowKind::kCount:
      break;
  }
  return Variant::kOther;
}

Formula formula_of(Variant variant) {
  if (variant <= Variant::kConvGrouped) return Formula::kConvolution;
  if (variant <= Variant::kDepthwiseDilated) return Formula::kDepthwise;
  switch (variant) {
    case Variant::kTransposeConv2:
    case Variant::kTransposeConvLarge:
      return Formula::kTransposeConv;
    case Variant::kFullyConnected:
    case Variant::kMatMul:
    case Variant::kRecurrent:
    case Variant::kControl:
      return Formula::kMatrix;
    default:
      return Formula::kElement;
  }
}

std::string_view variant_name(Variant variant) { return kNames[static_cast<size_t>(variant)]; }

}  // namespace edgesage::simulate
