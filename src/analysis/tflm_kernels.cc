#include "src/analysis/tflm_kernels.h"

#include <algorithm>
#include <array>

namespace edgesage {
namespace {

constexpr uint32_t bit(DataType type) { return uint32_t{1} << static_cast<unsigned>(type); }

constexpr uint32_t kF = bit(DataType::kFloat32);
constexpr uint32_t k8 = bit(DataType::kInt8);
constexpr uint32_t k16 = bit(DataType::kInt16);
constexpr uint32_t k32 = bit(DataType::kInt32);
constexpr uint32_t k64 = bit(DataType::kInt64);
constexpr uint32_t kB = bit(DataType::kBool);
constexpr uint32_t kU8 = bit(DataType::kUInt8);
constexpr uint32_t kAny = 0;

constexpr TflmStructs kNone = {{0, 1}, {0, 1}};
constexpr TflmStructs kEnum = {{4, 4}, {1, 1}};
constexpr TflmStructs kEnumAndBool = {{8, 4}, {2, 1}};
constexpr TflmStructs kPoolOptions = tflm_plain(40, 4);
constexpr TflmStructs kConvOptions = tflm_plain(28, 4);
constexpr TflmStructs kConvData = {{80, 8}, {56, 4}};
constexpr TflmStructs kReducer = tflm_plain(1, 1);
constexpr TflmStructs kInt = tflm_plain(4, 4);
constexpr TflmStructs kTwoInts = tflm_plain(8, 4);
constexpr TflmStructs kComparison = tflm_plain(32, 4);
constexpr TflmStructs kQuantizer = tflm_plain(32, 8);

constexpr auto kKernels = std::to_array<TflmKernel>({
    {OpKind::kAbs, kNone, tflm_plain(28, 4), TflmPrepare::kNothing, kF | k8 | k16},
    {OpKind::kAdd, kEnumAndBool, tflm_plain(60, 4), TflmPrepare::kNothing, kF | k8 | k16 | k32},
    {OpKind::kAddN, kNone, kNone, TflmPrepare::kAddN, kF | k8},
    {OpKind::kArgMax, kEnum, kNone, TflmPrepare::kNothing, kF | k8},
    {OpKind::kArgMin, kEnum, kNone, TflmPrepare::kNothing, kF | k8},
    {OpKind::kAssignVariable, kNone, {{4, 4}, {0, 1}}, TflmPrepare::kAssignVariable, kAny},
    {OpKind::kAveragePool2D, kPoolOptions, kComparison, TflmPrepare::kAveragePool, kF | k8 | k16},
    {OpKind::kBatchMatmul,
     tflm_plain(3, 1),
     {{32, 8}, {16, 4}},
     TflmPrepare::kBatchMatMul,
     kF | k8 | k16},
    {OpKind::kBatchToSpaceNd, kNone, kNone, TflmPrepare::kNothing, kF | k8},
    {OpKind::kBroadcastArgs, kNone, kNone, TflmPrepare::kNothing, kAny},
    {OpKind::kBroadcastTo, kNone, kNone, TflmPrepare::kNothing, kAny},
    {OpKind::kCallOnce, kInt, kTwoInts, TflmPrepare::kNothing, kAny},
    {OpKind::kCast, kEnumAndBool, kNone, TflmPrepare::kNothing, kAny},
    {OpKind::kCeil, kNone, kNone, TflmPrepare::kNothing, kF},
    {OpKind::kConcatenation,
     kTwoInts,
     {{80, 8}, {24, 4}},
     TflmPrepare::kNothing,
     kF | k8 | k16 | k32 | k64 | kB},
    {OpKind::kConv2D, kConvOptions, kConvData, TflmPrepare::kConvolution, kF | k8 | k16},
    {OpKind::kCos, kNone, kNone, TflmPrepare::kNothing, kF},
    {OpKind::kCumsum, tflm_plain(2, 1), kNone, TflmPrepare::kCumSum, kF | k8},
    {OpKind::kDepthToSpace, kInt, kNone, TflmPrepare::kOwnOutputDims, kF | k8},
    {OpKind::kDepthwiseConv2D, kConvOptions, kConvData, TflmPrepare::kDepthwise, kF | k8 | k16},
    {OpKind::kDequantize, kNone, kQuantizer, TflmPrepare::kNothing, k8 | k16 | kU8},
    {OpKind::kDiv, kEnum, tflm_plain(28, 4), TflmPrepare::kNothing, kF | k8 | k32},
    {OpKind::kDynamicUpdateSlice, kNone, kNone, TflmPrepare::kNothing, kAny},
    {OpKind::kElu, kNone, tflm_plain(256, 1), TflmPrepare::kNothing, kF | k8},
    {OpKind::kEmbeddingLookup, kNone, kNone, TflmPrepare::kEmbeddingLookup, k32},
    {OpKind::kEqual, kNone, kComparison, TflmPrepare::kNothing, kF | k8 | k32 | k64 | kB},
    {OpKind::kExp, kNone, kNone, TflmPrepare::kNothing, kF},
    {OpKind::kExpandDims, kNone, kNone, TflmPrepare::kNothing, kF | k8 | k16},
    {OpKind::kFill, kNone, kNone, TflmPrepare::kNothing, kAny},
    {OpKind::kFloor, kNone, kNone, TflmPrepare::kNothing, kF},
    {OpKind::kFloorDiv, kNone, kNone, TflmPrepare::kNothing, kF},
    {OpKind::kFloorMod, kNone, kNone, TflmPrepare::kNothing, kF | k32},
    {OpKind::kFullyConnected,
     {{32, 8}, {5, 1}},
     {{72, 8}, {48, 4}},
     TflmPrepare::kFullyConnected,
     kF | k8 | k16},
    {OpKind::kGather, kTwoInts, kNone, TflmPrepare::kOwnOutputDims, kF | k8},
    {OpKind::kGatherNd, kNone, kNone, TflmPrepare::kOwnOutputDims, kF | k8},
    {OpKind::kGreater, kNone, kComparison, TflmPrepare::kNothing, kF | k8 | k16 | k32 | k64},
    {OpKind::kGreaterEqual, kNone, kComparison, TflmPrepare::kNothing, kF | k8 | k32 | k64},
    {OpKind::kHardSwish, kNone, tflm_plain(20, 4), TflmPrepare::kNothing, kF | k8},
    {OpKind::kIf, kTwoInts, kTwoInts, TflmPrepare::kNothing, kB},
    {OpKind::kL2Normalization, kEnum, kInt, TflmPrepare::kNothing, kF | k8},
    {OpKind::kL2Pool2D, kPoolOptions, kNone, TflmPrepare::kOwnOutputDims, kF},
    {OpKind::kLeakyRelu, kInt, tflm_plain(24, 4), TflmPrepare::kNothing, kF | k8 | k16},
    {OpKind::kLess, kNone, kComparison, TflmPrepare::kNothing, kF | k8 | k32 | k64},
    {OpKind::kLessEqual, kNone, kComparison, TflmPrepare::kNothing, kF | k8 | k32 | k64},
    {OpKind::kLog, kNone, kNone, TflmPrepare::kNothing, kF},
    {OpKind::kLogSoftmax, kNone, kNone, TflmPrepare::kLogSoftmax, kF | k8},
    {OpKind::kLogicalAnd, kNone, kNone, TflmPrepare::kNothing, kB},
    {OpKind::kLogicalNot, kNone, kNone, TflmPrepare::kNothing, kB},
    {OpKind::kLogicalOr, kNone, kNone, TflmPrepare::kNothing, kB},
    {OpKind::kLogistic, kNone, tflm_plain(16, 4), TflmPrepare::kNothing, kF | k8 | k16},
    {OpKind::kMaxPool2D, kPoolOptions, kComparison, TflmPrepare::kNothing, kF | k8 | k16},
    {OpKind::kMaximum, kNone, kNone, TflmPrepare::kNothing, kF | k8 | k16 | k32 | k64},
    {OpKind::kMean, kReducer, tflm_plain(44, 4), TflmPrepare::kMeanOrSum, kF | k8 | k16},
    {OpKind::kMinimum, kNone, kNone, TflmPrepare::kNothing, kF | k8 | k16 | k32 | k64},
    {OpKind::kMirrorPad, kEnum, tflm_plain(20, 4), TflmPrepare::kMirrorPad, kF | k8},
    {OpKind::kMul, kEnum, tflm_plain(36, 4), TflmPrepare::kNothing, kF | k8 | k16 | k32},
    {OpKind::kNeg, kNone, kNone, TflmPrepare::kNothing, kF | k8},
    {OpKind::kNotEqual, kNone, kComparison, TflmPrepare::kNothing, kF | k8 | k32 | k64 | kB},
    {OpKind::kPack, kTwoInts, kNone, TflmPrepare::kNothing, kF | k8 | k16 | k32 | k64},
    {OpKind::kPad, kNone, tflm_plain(56, 4), TflmPrepare::kNothing, kF | k8 | k16 | k32},
    {OpKind::kPadv2, kNone, tflm_plain(56, 4), TflmPrepare::kNothing, kF | k8 | k16 | k32},
    {OpKind::kPrelu, kNone, tflm_plain(28, 4), TflmPrepare::kNothing, kF | k8 | k16},
    {OpKind::kQuantize, kNone, kQuantizer, TflmPrepare::kNothing, kF | k8 | k16 | k32 | kU8},
    {OpKind::kReadVariable, kNone, kNone, TflmPrepare::kNothing, kAny},
    {OpKind::kReduceAll, kReducer, tflm_plain(44, 4), TflmPrepare::kReduce, kB},
    {OpKind::kReduceMax, kReducer, tflm_plain(44, 4), TflmPrepare::kReduce, kF | k8},
    {OpKind::kReduceMin, kReducer, tflm_plain(44, 4), TflmPrepare::kReduce, kF | k8},
    {OpKind::kRelu, kNone, tflm_plain(28, 4), TflmPrepare::kNothing, kF | k8 | k16},
    {OpKind::kRelu6, kNone, tflm_plain(8, 4), TflmPrepare::kNothing, kF | k8 | k16},
    {OpKind::kReshape, tflm_plain(36, 4), kNone, TflmPrepare::kReshape, kAny},
    {OpKind::kResizeBilinear, tflm_plain(2, 1), kNone, TflmPrepare::kNothing, kF | k8},
    {OpKind::kResizeNearestNeighbor, tflm_plain(2, 1), kNone, TflmPrepare::kNothing, kF | k8 | k16},
    {OpKind::kReverseV2, kNone, kNone, TflmPrepare::kNothing, kAny},
    {OpKind::kRound, kNone, kNone, TflmPrepare::kNothing, kF},
    {OpKind::kRsqrt, kNone, tflm_plain(28, 4), TflmPrepare::kNothing, kF | k8 | k16},
    {OpKind::kSelectV2, kNone, tflm_plain(1, 1), TflmPrepare::kNothing, kB},
    {OpKind::kShape, kEnum, kNone, TflmPrepare::kNothing, kAny},
    {OpKind::kSin, kNone, kNone, TflmPrepare::kNothing, kF},
    {OpKind::kSlice, kNone, kNone, TflmPrepare::kNothing, kF | k8 | k16 | k32 | kB},
    {OpKind::kSoftmax, kInt, {{80, 8}, {56, 8}}, TflmPrepare::kSoftmax, kF | k8 | k16},
    {OpKind::kSpaceToBatchNd, kNone, kInt, TflmPrepare::kNothing, kF | k8},
    {OpKind::kSpaceToDepth, kInt, kNone, TflmPrepare::kOwnOutputDims, kF | k8},
    {OpKind::kSplit, kInt, kNone, TflmPrepare::kNothing, kAny},
    {OpKind::kSplitV, kInt, kNone, TflmPrepare::kNothing, kF | k8 | k16 | k32},
    {OpKind::kSqrt, kNone, kNone, TflmPrepare::kNothing, kF},
    {OpKind::kSquare, kNone, kNone, TflmPrepare::kNothing, kF},
    {OpKind::kSquaredDifference, kNone, tflm_plain(112, 8), TflmPrepare::kNothing,
     kF | k8 | k16 | k32},
    {OpKind::kSqueeze, tflm_plain(36, 4), kNone, TflmPrepare::kNothing, kAny},
    {OpKind::kStridedSlice, tflm_plain(24, 4), tflm_plain(84, 4), TflmPrepare::kNothing,
     kF | k8 | k16 | k32 | kB},
    {OpKind::kSub, kEnumAndBool, tflm_plain(52, 4), TflmPrepare::kNothing, kF | k8 | k16 | k32},
    {OpKind::kSum, kReducer, tflm_plain(44, 4), TflmPrepare::kMeanOrSum, kF | k8 | k16},
    {OpKind::kSvdf, {{12, 4}, {8, 4}}, tflm_plain(36, 4), TflmPrepare::kSvdf, kF | k8},
    {OpKind::kTanh, kNone, tflm_plain(16, 4), TflmPrepare::kNothing, kF | k8 | k16},
    {OpKind::kTranspose, kNone, kNone, TflmPrepare::kNothing, kF | k8 | k16},
    {OpKind::kTransposeConv,
     {{20, 4}, {16, 4}},
     {{88, 8}, {72, 4}},
     TflmPrepare::kTransposeConvolution,
     kAny},
    {OpKind::kUnidirectionalSequenceLstm, tflm_plain(16, 4), tflm_plain(688, 8), TflmPrepare::kLstm,
     kF | k8 | k16},
    {OpKind::kUnpack, kTwoInts, kNone, TflmPrepare::kNothing, kF | k8 | k16 | k32},
    {OpKind::kVarHandle, {{16, 8}, {8, 4}}, kInt, TflmPrepare::kNothing, kAny},
    {OpKind::kWhile, kTwoInts, kTwoInts, TflmPrepare::kNothing, kAny},
    {OpKind::kZerosLike, kNone, kNone, TflmPrepare::kNothing, kF | k8 | k32 | k64},
});

}  // namespace

const TflmKernel* tflm_kernel(OpKind kind) {
  const auto found = std::ranges::find(kKernels, kind, &TflmKernel::kind);
  return found == kKernels.end() ? nullptr : &*found;
}

// Kernels that call CMSIS-NN keep what the reference kernels keep, and more: numbers of buffers,
// shapes, of an LSTM its parameters once more.
int64_t tflm_kernel_data(const TflmKernel& kernel, TflmBuild build) {
  const int64_t bytes = kernel.data.of(build.abi).size;
  if (build.kernels == TflmKernels::kReference) return bytes;
  switch (kernel.kind) {
    case OpKind::kAveragePool2D:
    case OpKind::kConv2D:
    case OpKind::kDepthwiseConv2D:
    case OpKind::kMaxPool2D:
    case OpKind::kSvdf:
    case OpKind::kTransposeConv:
      return bytes + 4;
    case OpKind::kSoftmax:
      return bytes + 8;
    case OpKind::kBatchMatmul:
      return bytes + 20;
    case OpKind::kFullyConnected:
      return bytes + 24;
    case OpKind::kUnidirectionalSequenceLstm:
      // 15 numbers and four gates of ten; the whole is a multiple of its alignment, 8.
      return (bytes + 15 * 4 + 4 * 40 + 7) / 8 * 8;
    default:
      return bytes;
  }
}

std::optional<int64_t> tflm_tensor_bytes(const Tensor& tensor) {
  int64_t bytes = bits_per_element(tensor.type) / 8;
  if (tensor.type == DataType::kInt4) bytes = 1;
  if (tensor.type == DataType::kResource) bytes = 4;
  const bool unknown = tensor.type == DataType::kInt2 || tensor.type == DataType::kUInt4 ||
                       tensor.type == DataType::kFloat8E4M3FN ||
                       tensor.type == DataType::kFloat8E5M2;
  if (unknown || bytes == 0) return std::nullopt;
  int64_t result = 0;
  if (__builtin_mul_overflow(tensor.element_count(), bytes, &result)) return std::nullopt;
  return result;
}

}  // namespace edgesage
