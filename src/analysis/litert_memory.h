// Where LiteRT's built-in kernels keep each tensor of the main subgraph: in the file, in one of the
// two arenas, or on the heap. Facts: what the kernels' Prepare functions of LiteRT 2.3.0 do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/graph/graph.h"

namespace edgesage {

enum class TensorMemory : uint8_t {
  kNowhere,       // nothing makes it
  kFile,          // a constant of the file
  kArena,         // planned; its bytes are used again after its last reader
  kPersistent,    // in the arena that lives as long as the interpreter
  kHeap,          // sized when its operator runs ("dynamic")
  kHeapConstant,  // computed once, before the first inference
};

struct TensorPlace {
  TensorMemory memory = TensorMemory::kNowhere;
  int64_t bytes = 0;  // 0 where the size is not known
};

// A buffer that a kernel asks for beside its inputs and outputs.
struct KernelScratch {
  int32_t op = -1;
  std::string_view purpose;  // "im2col"
  TensorMemory memory = TensorMemory::kArena;
  int64_t bytes = 0;
};

struct LiteRtMemory {
  std::vector<TensorPlace> tensors;
  std::vector<KernelScratch> scratch;  // in order of the operators, of one in the kernel's order
  // Operators after which the runtime plans anew, because their outputs' sizes are only known once
  // they have run. Ascending.
  std::vector<int32_t> plans_anew_after;
  std::vector<std::string> not_counted;  // one line each: what also needs memory, and why unknown
};

// For one thread. Sizes are those of the file's shapes.
[[nodiscard]] LiteRtMemory litert_memory(const Graph& graph);

// Appends what the kernel of operator `op` asks for; `memory` of the tensors must be known. False
// where the kernel's needs are not known.
[[nodiscard]] bool append_kernel_scratch(const Graph& graph, int32_t op,
                                         const std::vector<TensorPlace>& tensors,
                                         std::vector<KernelScratch>& out);

// Bytes of a tensor that can be planned; 0 if its size is unknown or absurd.
[[nodiscard]] int64_t planned_bytes(const Tensor& tensor);

}  // namespace edgesage
