// What the kernels of TensorFlow Lite Micro allocate: the reference kernels of its interpreter, or
// those that call CMSIS-NN, by operator. Facts of the runtime at revision 90b983c2 (August 2026).
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

// Which kernels a build has. CMSIS-NN's are for 32 bits, for speed (the makefile's default), and by
// the instructions of the core (cmsis_nn.h).
enum class TflmKernels : uint8_t { kReference, kCmsisNnPlain, kCmsisNnDsp, kCmsisNnMve };

struct TflmBuild {
  TflmAbi abi = TflmAbi::k32;
  TflmKernels kernels = TflmKernels::kReference;
};

// What a kernel does when it is prepared, beyond its fixed structures.
enum class TflmPrepare : uint8_t {
  kNothing,
  kAddN,
  kAssignVariable,
  kAveragePool,
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

// Bytes of the kernel's own data, in the build.
[[nodiscard]] int64_t tflm_kernel_data(const TflmKernel& kernel, TflmBuild build);

// Bytes of a tensor as the runtime counts them: four-bit values take a byte each. nullopt for
// types whose size it does not know (strings, variants, two-bit values).
[[nodiscard]] std::optional<int64_t> tflm_tensor_bytes(const Tensor& tensor);

struct TflmOperatorMemory {
  std::vector<int64_t> persistent;  // bytes of each buffer, in the order of allocation
  std::vector<int64_t> scratch;     // bytes of each request, in order
};

// What preparing `op` of `subgraph` takes; nothing for a custom operator, whose kernel is the
// user's. kUnsupported, with the operator in `where`, for an operator without a kernel and for
// operands that the kernel refuses. Resource variables are the caller's business.
[[nodiscard]] Result<TflmOperatorMemory> tflm_operator_memory(const Subgraph& subgraph,
                                                              size_t op_index, TflmBuild build);

}  // namespace edgesage
