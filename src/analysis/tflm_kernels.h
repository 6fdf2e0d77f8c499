// What the kernels of TensorFlow Lite Micro allocate: the reference kernels of its interpreter, by
// operator.
//
// A kernel's memory has four parts: its parsed options and its own data, of fixed size, both made
// before anything else; and, once shapes are known, persistent buffers (multipliers of a
// convolution's channels, say) and scratch buffers that live while the operator runs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "edgesage/result.h"
#include "src/analysis/tflm_abi.h"
#include "src/graph/graph.h"

namespace edgesage {

// What a kernel does when it is prepared, beyond its fixed structures.
enum class TflmPrepare : uint8_t {
  kNothing,
  kAddN,
  kAssignVariable,
  kBatchMatMul,
  kConvolution,
  kCumSum,
  kDepthwise,
  kEmbeddingLookup,
  kFullyConnected,
  kLogSoftmax,
  kLstm,
  kMeanOrSum,
  kMirrorPad,
  kOwnOutputDims,
  kReduce,
  kReshape,
  kSoftmax,
  kSvdf,
  kTransposeConvolution,
};

struct TflmKernel {
  OpKind kind = OpKind::kUnknown;
  TflmStructs options;  // size 0: none
  TflmStructs data;     // size 0: none
  TflmPrepare prepare = TflmPrepare::kNothing;
  uint32_t types = 0;  // bit i: takes a first input of DataType i; 0: not checked
};

// The kernel of an operator; nullptr where the runtime has none (custom operators included).
[[nodiscard]] const TflmKernel* tflm_kernel(OpKind kind);

// Bytes of a tensor as the runtime counts them: four-bit values take a byte each. nullopt for
// types whose size it does not know (strings, variants, two-bit values).
[[nodiscard]] std::optional<int64_t> tflm_tensor_bytes(const Tensor& tensor);

struct TflmOperatorMemory {
  std::vector<int64_t> persistent;  // bytes of each buffer, in the order of allocation
  std::vector<int64_t> scratch;     // bytes of each request, in order
};

// What preparing `op` of `subgraph` takes. kUnsupported, with the operator in `where`, for an
// operator without a kernel and for operands that the kernel refuses. Resource variables are the
// caller's business.
[[nodiscard]] Result<TflmOperatorMemory> tflm_operator_memory(const Subgraph& subgraph,
                                                              size_t op_index, TflmAbi abi);

}  // namespace edgesage
