#include "src/graph/op_registry.h"

#include <array>

#include "src/graph/data_type.h"

namespace edgesage {
namespace {

constexpr std::array<OpInfo, 210> kOps{{
    {OpKind::kAdd, "ADD", 2, 2, 1},
    {OpKind::kAveragePool2D, "AVERAGE_POOL_2D", 1, 1, 1},
    {OpKind::kConcatenation, "CONCATENATION", 1, kAnyNumber, 1},
    {OpKind::kConv2D, "CONV_2D", 2, 3, 1},
    {OpKind::kDepthwiseConv2D, "DEPTHWISE_CONV_2D", 2, 3, 1},
    {OpKind::kDepthToSpace, "DEPTH_TO_SPACE"},
    {OpKind::kDequantize, "DEQUANTIZE", 1, 1, 1},
    {OpKind::kEmbeddingLookup, "EMBEDDING_LOOKUP"},
    {OpKind::kFloor, "FLOOR"},
    {OpKind::kFullyConnected, "FULLY_CONNECTED", 2, 3, kAnyNumber},
    {OpKind::kHashtableLookup, "HASHTABLE_LOOKUP"},
    {OpKind::kL2Normalization, "L2_NORMALIZATION"},
    {OpKind::kL2Pool2D, "L2_POOL_2D", 1, 1, 1},
    {OpKind::kLocalResponseNormalization, "LOCAL_RESPONSE_NORMALIZATION"},
    {OpKind::kLogistic, "LOGISTIC", 1, 1, 1},
    {OpKind::kLshProjection, "LSH_PROJECTION"},
    {OpKind::kLstm, "LSTM"},
    {OpKind::kMaxPool2D, "MAX_POOL_2D", 1, 1, 1},
    {OpKind::kMul, "MUL", 2, 2, 1},
    {OpKind::kRelu, "RELU", 1, 1, 1},
    {OpKind::kReluN1To1, "RELU_N1_TO_1", 1, 1, 1},
    {OpKind::kRelu6, "RELU6", 1, 1, 1},
    {OpKind::kReshape, "RESHAPE", 1, 2, 1, 0b10},
    {OpKind::kResizeBilinear, "RESIZE_BILINEAR", 2, 2, 1, 0b10},
    {OpKind::kRnn, "RNN"},
    {OpKind::kSoftmax, "SOFTMAX", 1, 1, 1},
    {OpKind::kSpaceToDepth, "SPACE_TO_DEPTH"},
    {OpKind::kSvdf, "SVDF"},
    {OpKind::kTanh, "TANH", 1, 1, 1},
    {OpKind::kConcatEmbeddings, "CONCAT_EMBEDDINGS"},
    {OpKind::kSkipGram, "SKIP_GRAM"},
    {OpKind::kCall, "CALL"},
    {OpKind::kCustom, "CUSTOM"},
    {OpKind::kEmbeddingLookupSparse, "EMBEDDING_LOOKUP_SPARSE"},
    {OpKind::kPad, "PAD", 2, 2, 1, 0b10},
    {OpKind::kUnidirectionalSequenceRnn, "UNIDIRECTIONAL_SEQUENCE_RNN"},
    {OpKind::kGather, "GATHER", 2, 2, 1},
    {OpKind::kBatchToSpaceNd, "BATCH_TO_SPACE_ND", 3, 3, 1, 0b110},
    {OpKind::kSpaceToBatchNd, "SPACE_TO_BATCH_ND", 3, 3, 1, 0b110},
    {OpKind::kTranspose, "TRANSPOSE", 2, 2, 1, 0b10},
    {OpKind::kMean, "MEAN", 2, 2, 1, 0b10},
    {OpKind::kSub, "SUB", 2, 2, 1},
    {OpKind::kDiv, "DIV", 2, 2, 1},
    {OpKind::kSqueeze, "SQUEEZE", 1, 1, 1},
    {OpKind::kUnidirectionalSequenceLstm, "UNIDIRECTIONAL_SEQUENCE_LSTM"},
    {OpKind::kStridedSlice, "STRIDED_SLICE", 4, 5, 1, 0b1110},
    {OpKind::kBidirectionalSequenceRnn, "BIDIRECTIONAL_SEQUENCE_RNN"},
    {OpKind::kExp, "EXP"},
    {OpKind::kTopkV2, "TOPK_V2", 2, 2, 2, 0b10},
    {OpKind::kSplit, "SPLIT", 2, 2, kAnyNumber, 0b1},
    {OpKind::kLogSoftmax, "LOG_SOFTMAX"},
    {OpKind::kDelegate, "DELEGATE"},
    {OpKind::kBidirectionalSequenceLstm, "BIDIRECTIONAL_SEQUENCE_LSTM"},
    {OpKind::kCast, "CAST"},
    {OpKind::kPrelu, "PRELU", 2, 2, 1},
    {OpKind::kMaximum, "MAXIMUM", 2, 2, 1},
    {OpKind::kArgMax, "ARG_MAX", 2, 2, 1, 0b10},
    {OpKind::kMinimum, "MINIMUM", 2, 2, 1},
    {OpKind::kLess, "LESS"},
    {OpKind::kNeg, "NEG"},
    {OpKind::kPadv2, "PADV2", 3, 3, 1, 0b10},
    {OpKind::kGreater, "GREATER"},
    {OpKind::kGreaterEqual, "GREATER_EQUAL"},
    {OpKind::kLessEqual, "LESS_EQUAL"},
    {OpKind::kSelect, "SELECT"},
    {OpKind::kSlice, "SLICE", 3, 3, 1, 0b110},
    {OpKind::kSin, "SIN"},
    {OpKind::kTransposeConv, "TRANSPOSE_CONV", 3, 4, 1, 0b1},
    {OpKind::kSparseToDense, "SPARSE_TO_DENSE", 4, 4, 1, 0b10},
    {OpKind::kTile, "TILE", 2, 2, 1, 0b10},
    {OpKind::kExpandDims, "EXPAND_DIMS", 2, 2, 1, 0b10},
    {OpKind::kEqual, "EQUAL"},
    {OpKind::kNotEqual, "NOT_EQUAL"},
    {OpKind::kLog, "LOG"},
    {OpKind::kSum, "SUM", 2, 2, 1, 0b10},
    {OpKind::kSqrt, "SQRT"},
    {OpKind::kRsqrt, "RSQRT"},
    {OpKind::kShape, "SHAPE"},
    {OpKind::kPow, "POW"},
    {OpKind::kArgMin, "ARG_MIN", 2, 2, 1, 0b10},
    {OpKind::kFakeQuant, "FAKE_QUANT"},
    {OpKind::kReduceProd, "REDUCE_PROD", 2, 2, 1, 0b10},
    {OpKind::kReduceMax, "REDUCE_MAX", 2, 2, 1, 0b10},
    {OpKind::kPack, "PACK"},
    {OpKind::kLogicalOr, "LOGICAL_OR"},
    {OpKind::kOneHot, "ONE_HOT", 4, 4, 1, 0b10},
    {OpKind::kLogicalAnd, "LOGICAL_AND"},
    {OpKind::kLogicalNot, "LOGICAL_NOT"},
    {OpKind::kUnpack, "UNPACK"},
    {OpKind::kReduceMin, "REDUCE_MIN", 2, 2, 1, 0b10},
    {OpKind::kFloorDiv, "FLOOR_DIV"},
    {OpKind::kReduceAny, "REDUCE_ANY", 2, 2, 1, 0b10},
    {OpKind::kSquare, "SQUARE"},
    {OpKind::kZerosLike, "ZEROS_LIKE"},
    {OpKind::kFill, "FILL", 2, 2, 1, 0b1},
    {OpKind::kFloorMod, "FLOOR_MOD"},
    {OpKind::kRange, "RANGE", 3, 3, 1, 0b111},
    {OpKind::kResizeNearestNeighbor, "RESIZE_NEAREST_NEIGHBOR", 2, 2, 1, 0b10},
    {OpKind::kLeakyRelu, "LEAKY_RELU", 1, 1, 1},
    {OpKind::kSquaredDifference, "SQUARED_DIFFERENCE", 2, 2, 1},
    {OpKind::kMirrorPad, "MIRROR_PAD", 2, 2, 1, 0b10},
    {OpKind::kAbs, "ABS"},
    {OpKind::kSplitV, "SPLIT_V", 3, 3, kAnyNumber, 0b110},
    {OpKind::kUnique, "UNIQUE"},
    {OpKind::kCeil, "CEIL"},
    {OpKind::kReverseV2, "REVERSE_V2", 2, 2, 1, 0b10},
    {OpKind::kAddN, "ADD_N"},
    {OpKind::kGatherNd, "GATHER_ND"},
    {OpKind::kCos, "COS"},
    {OpKind::kWhere, "WHERE"},
    {OpKind::kRank, "RANK"},
    {OpKind::kElu, "ELU"},
    {OpKind::kReverseSequence, "REVERSE_SEQUENCE"},
    {OpKind::kMatrixDiag, "MATRIX_DIAG"},
    {OpKind::kQuantize, "QUANTIZE", 1, 1, 1},
    {OpKind::kMatrixSetDiag, "MATRIX_SET_DIAG"},
    {OpKind::kRound, "ROUND"},
    {OpKind::kHardSwish, "HARD_SWISH", 1, 1, 1},
    {OpKind::kIf, "IF"},
    {OpKind::kWhile, "WHILE"},
    {OpKind::kNonMaxSuppressionV4, "NON_MAX_SUPPRESSION_V4"},
    {OpKind::kNonMaxSuppressionV5, "NON_MAX_SUPPRESSION_V5"},
    {OpKind::kScatterNd, "SCATTER_ND", 3, 3, 1, 0b100},
    {OpKind::kSelectV2, "SELECT_V2"},
    {OpKind::kDensify, "DENSIFY"},
    {OpKind::kSegmentSum, "SEGMENT_SUM"},
    {OpKind::kBatchMatmul, "BATCH_MATMUL", 2, 2, 1},
    {OpKind::kPlaceholderForGreaterOpCodes, "PLACEHOLDER_FOR_GREATER_OP_CODES"},
    {OpKind::kCumsum, "CUMSUM", 2, 2, 1, 0b10},
    {OpKind::kCallOnce, "CALL_ONCE"},
    {OpKind::kBroadcastTo, "BROADCAST_TO", 2, 2, 1, 0b10},
    {OpKind::kRfft2d, "RFFT2D"},
    {OpKind::kConv3D, "CONV_3D"},
    {OpKind::kImag, "IMAG"},
    {OpKind::kReal, "REAL"},
    {OpKind::kComplexAbs, "COMPLEX_ABS"},
    {OpKind::kHashtable, "HASHTABLE"},
    {OpKind::kHashtableFind, "HASHTABLE_FIND"},
    {OpKind::kHashtableImport, "HASHTABLE_IMPORT"},
    {OpKind::kHashtableSize, "HASHTABLE_SIZE"},
    {OpKind::kReduceAll, "REDUCE_ALL", 2, 2, 1, 0b10},
    {OpKind::kConv3DTranspose, "CONV_3D_TRANSPOSE", 3, 4, 1, 0b1},
    {OpKind::kVarHandle, "VAR_HANDLE"},
    {OpKind::kReadVariable, "READ_VARIABLE"},
    {OpKind::kAssignVariable, "ASSIGN_VARIABLE"},
    {OpKind::kBroadcastArgs, "BROADCAST_ARGS"},
    {OpKind::kRandomStandardNormal, "RANDOM_STANDARD_NORMAL", 1, 1, 1, 0b1},
    {OpKind::kBucketize, "BUCKETIZE"},
    {OpKind::kRandomUniform, "RANDOM_UNIFORM", 1, 1, 1, 0b1},
    {OpKind::kMultinomial, "MULTINOMIAL"},
    {OpKind::kGelu, "GELU"},
    {OpKind::kDynamicUpdateSlice, "DYNAMIC_UPDATE_SLICE"},
    {OpKind::kRelu0To1, "RELU_0_TO_1"},
    {OpKind::kUnsortedSegmentProd, "UNSORTED_SEGMENT_PROD"},
    {OpKind::kUnsortedSegmentMax, "UNSORTED_SEGMENT_MAX"},
    {OpKind::kUnsortedSegmentSum, "UNSORTED_SEGMENT_SUM"},
    {OpKind::kAtan2, "ATAN2"},
    {OpKind::kUnsortedSegmentMin, "UNSORTED_SEGMENT_MIN"},
    {OpKind::kSign, "SIGN"},
    {OpKind::kBitcast, "BITCAST"},
    {OpKind::kBitwiseXor, "BITWISE_XOR"},
    {OpKind::kRightShift, "RIGHT_SHIFT"},
    {OpKind::kStablehloLogistic, "STABLEHLO_LOGISTIC"},
    {OpKind::kStablehloAdd, "STABLEHLO_ADD"},
    {OpKind::kStablehloDivide, "STABLEHLO_DIVIDE"},
    {OpKind::kStablehloMultiply, "STABLEHLO_MULTIPLY"},
    {OpKind::kStablehloMaximum, "STABLEHLO_MAXIMUM"},
    {OpKind::kStablehloReshape, "STABLEHLO_RESHAPE"},
    {OpKind::kStablehloClamp, "STABLEHLO_CLAMP"},
    {OpKind::kStablehloConcatenate, "STABLEHLO_CONCATENATE"},
    {OpKind::kStablehloBroadcastInDim, "STABLEHLO_BROADCAST_IN_DIM"},
    {OpKind::kStablehloConvolution, "STABLEHLO_CONVOLUTION"},
    {OpKind::kStablehloSlice, "STABLEHLO_SLICE"},
    {OpKind::kStablehloCustomCall, "STABLEHLO_CUSTOM_CALL"},
    {OpKind::kStablehloReduce, "STABLEHLO_REDUCE"},
    {OpKind::kStablehloAbs, "STABLEHLO_ABS"},
    {OpKind::kStablehloAnd, "STABLEHLO_AND"},
    {OpKind::kStablehloCosine, "STABLEHLO_COSINE"},
    {OpKind::kStablehloExponential, "STABLEHLO_EXPONENTIAL"},
    {OpKind::kStablehloFloor, "STABLEHLO_FLOOR"},
    {OpKind::kStablehloLog, "STABLEHLO_LOG"},
    {OpKind::kStablehloMinimum, "STABLEHLO_MINIMUM"},
    {OpKind::kStablehloNegate, "STABLEHLO_NEGATE"},
    {OpKind::kStablehloOr, "STABLEHLO_OR"},
    {OpKind::kStablehloPower, "STABLEHLO_POWER"},
    {OpKind::kStablehloRemainder, "STABLEHLO_REMAINDER"},
    {OpKind::kStablehloRsqrt, "STABLEHLO_RSQRT"},
    {OpKind::kStablehloSelect, "STABLEHLO_SELECT"},
    {OpKind::kStablehloSubtract, "STABLEHLO_SUBTRACT"},
    {OpKind::kStablehloTanh, "STABLEHLO_TANH"},
    {OpKind::kStablehloScatter, "STABLEHLO_SCATTER"},
    {OpKind::kStablehloCompare, "STABLEHLO_COMPARE"},
    {OpKind::kStablehloConvert, "STABLEHLO_CONVERT"},
    {OpKind::kStablehloDynamicSlice, "STABLEHLO_DYNAMIC_SLICE"},
    {OpKind::kStablehloDynamicUpdateSlice, "STABLEHLO_DYNAMIC_UPDATE_SLICE"},
    {OpKind::kStablehloPad, "STABLEHLO_PAD"},
    {OpKind::kStablehloIota, "STABLEHLO_IOTA"},
    {OpKind::kStablehloDotGeneral, "STABLEHLO_DOT_GENERAL"},
    {OpKind::kStablehloReduceWindow, "STABLEHLO_REDUCE_WINDOW"},
    {OpKind::kStablehloSort, "STABLEHLO_SORT"},
    {OpKind::kStablehloWhile, "STABLEHLO_WHILE"},
    {OpKind::kStablehloGather, "STABLEHLO_GATHER"},
    {OpKind::kStablehloTranspose, "STABLEHLO_TRANSPOSE"},
    {OpKind::kDilate, "DILATE"},
    {OpKind::kStablehloRngBitGenerator, "STABLEHLO_RNG_BIT_GENERATOR"},
    {OpKind::kReduceWindow, "REDUCE_WINDOW"},
    {OpKind::kStablehloComposite, "STABLEHLO_COMPOSITE"},
    {OpKind::kStablehloShiftLeft, "STABLEHLO_SHIFT_LEFT"},
    {OpKind::kStablehloCbrt, "STABLEHLO_CBRT"},
    {OpKind::kStablehloCase, "STABLEHLO_CASE"},
}};

constexpr bool codes_are_dense() {
  for (size_t i = 0; i < kOps.size(); ++i)
    if (static_cast<size_t>(kOps[i].kind) != i) return false;
  return true;
}
static_assert(codes_are_dense(), "the table is indexed by the builtin code");

}  // namespace

std::span<const OpInfo> op_table() { return kOps; }

const OpInfo* op_info(OpKind kind) {
  const auto index = static_cast<size_t>(kind);
  return index < kOps.size() ? &kOps[index] : nullptr;
}

std::string_view op_name(OpKind kind) {
  const OpInfo* info = op_info(kind);
  return info != nullptr ? info->name : "UNKNOWN";
}

bool defines_shape(OpKind kind, size_t input) {
  const OpInfo* info = op_info(kind);
  return info != nullptr && input < 32 && (info->shape_inputs >> input & 1) != 0;
}

int64_t default_option(OpKind kind, std::string_view option) {
  if (option.starts_with("dilation_") && option.ends_with("_factor")) return 1;
  if (option == "pot_scale_int16") return 1;
  if (option == "time_major" && kind == OpKind::kBidirectionalSequenceLstm) return 1;
  if (option == "idx_out_type") return static_cast<int64_t>(DataType::kInt32);
  return 0;
}

OpKind op_kind_from_code(int32_t builtin_code) {
  const bool known = builtin_code >= 0 && static_cast<size_t>(builtin_code) < kOps.size();
  return known ? static_cast<OpKind>(builtin_code) : OpKind::kUnknown;
}

}  // namespace edgesage
