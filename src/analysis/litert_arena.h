// The memory plan of LiteRT (TensorFlow Lite) with its built-in kernels on one thread: which tensor
// lies where in the arena, and for how long. Repeats ArenaPlanner and SimpleMemoryArena of LiteRT
// 2.3.0; tests compare every address with the runtime's.
//
//   LiteRtPlanner planner(graph);
//   LiteRtArena arena = planner.plan();
//   use(arena.arena_bytes, arena.total_bytes());
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/analysis/litert_memory.h"
#include "src/graph/graph.h"

namespace edgesage {

// One tensor of the main subgraph, or one buffer of a kernel.
struct LiteRtBlock {
  int32_t tensor = kNoTensor;  // kNoTensor: a kernel's buffer
  int32_t op = -1;             // the kernel's operator; -1 for tensors
  std::string_view purpose;    // of a kernel's buffer: "im2col"
  TensorMemory memory = TensorMemory::kArena;
  int64_t bytes = 0;
  int64_t offset = 0;           // in its arena
  int32_t first = 0, last = 0;  // steps at which its bytes are its own
  int32_t shares = kNoTensor;   // it lies in the place of this tensor, which an operator overwrites
};

struct LiteRtArena {
  std::string missing;  // why there is no plan; empty: there is one
  // Everything with bytes of its own or shared, tensors first. Where kernels ask for memory on the
  // heap, offsets mean nothing.
  std::vector<LiteRtBlock> blocks;
  int64_t arena_bytes = 0;        // how far the arena reaches
  int64_t activations_bytes = 0;  // how far it would without the kernels' buffers, if that is less
  int64_t persistent_bytes = 0;   // the arena that lives as long as the interpreter
  int64_t heap_bytes = 0;         // tensors and buffers outside both arenas, at the file's shapes

  [[nodiscard]] int64_t total_bytes() const { return arena_bytes + persistent_bytes + heap_bytes; }
};

// What to change before planning.
struct LiteRtChange {
  // Operators in another order (a permutation that respects dependencies); empty: the file's.
  std::span<const int32_t> order;
  int32_t without_tensor = kNoTensor;  // as if this tensor had no bytes
  int32_t without_scratch_of = -1;     // as if this operator's kernel asked for nothing
  bool without_scratch = false;        // as if no kernel asked for anything
};

// Concurrent const use is safe. The graph must outlive the planner.
class LiteRtPlanner {
 public:
  explicit LiteRtPlanner(const Graph& graph);
  LiteRtPlanner(const LiteRtPlanner&) = delete;
  LiteRtPlanner& operator=(const LiteRtPlanner&) = delete;

  // Milliseconds for thousands of operators.
  [[nodiscard]] LiteRtArena plan(const LiteRtChange& change = {}) const;

  [[nodiscard]] const LiteRtMemory& memory() const { return memory_; }

 private:
  std::optional<Graph> completed_;  // set where the file leaves out shapes
  const Graph& graph_;
  LiteRtMemory memory_;
};

}  // namespace edgesage
