// What a runtime's memory planner does with a network, to the byte: how much working memory it
// takes, which tensor lies where and when, and what would lower the peak.
//
// Plain data. Units are in the names; what is not known is empty, with its reason.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace edgesage {

// Working memory of one network under one runtime. Weights are not in it where the runtime reads
// them from the file.
struct ArenaSize {
  std::optional<int64_t> activations_bytes;  // tensors of the network, as planned
  std::optional<int64_t> scratch_bytes;      // what buffers of kernels add to that
  std::optional<int64_t> runtime_bytes;      // what stays allocated beside: state, tables
  std::optional<int64_t> total_bytes;        // the sum
  // An arena of this size is enough at any moment, preparing the model included; a bound. Empty
  // where the runtime makes its arena itself.
  std::optional<int64_t> sufficient_bytes;
  std::string abi;     // "64", "32"
  std::string reason;  // why there are no figures, or what they leave out
};

// A tensor, or a buffer of a kernel, in an arena.
struct ArenaEntry {
  int32_t tensor = -1;  // of the main subgraph; -1: a kernel's buffer
  int32_t op = -1;      // the kernel's operator; -1 for tensors
  std::string name;     // of the tensor; of a buffer what it is for: "im2col"
  std::string role;     // "input", "output", "activation", "variable", "constant", "scratch"
  std::string memory;   // "arena", "persistent", "heap"
  std::string type;     // of a tensor
  std::vector<int64_t> shape;
  int64_t bytes = 0;
  std::optional<int64_t> offset;  // in its arena; none on the heap
  int32_t first = 0, last = 0;    // operators during which it must exist
  int32_t shares = -1;            // it lies in the place of this tensor
};

// One change, and where the arena would end with it: planned again, not estimated.
struct ArenaSaving {
  std::string what;  // "without tensor 12 (conv_1)", "with its operators in another order"
  int64_t arena_bytes = 0;
  std::vector<int32_t> order;  // the other order of the operators; empty for other changes
};

// What one kind of structure of the runtime takes of `runtime_bytes`.
struct ArenaAllocation {
  std::string name;
  int64_t used_bytes = 0;  // with what alignment adds
  int64_t requested_bytes = 0;
  int64_t count = 0;
};

struct ArenaPlan {
  std::string runtime;  // whose planner: "LiteRT 2.3.0, built-in kernels, one thread"
  ArenaSize size;
  std::optional<int64_t> arena_bytes;       // tensors and buffers that share bytes over time
  std::optional<int64_t> persistent_bytes;  // allocated once, never given back
  std::optional<int64_t> heap_bytes;        // allocated outside both
  std::vector<ArenaEntry> entries;
  std::vector<ArenaAllocation> allocations;  // where the runtime's are known one by one
  int32_t peak_operator = -1;                // where most of the arena is in use
  int64_t peak_live_bytes = 0;           // in use there; less than arena_bytes where gaps remain
  std::vector<ArenaSaving> savings;      // largest saving first
  std::vector<std::string> not_counted;  // what else needs memory, and why it is not in the figures
};

// What LiteRT and XNNPACK allocate together. The arena that is left to LiteRT is planned to the
// byte; the delegate's own memory is estimated. On 100 networks that nothing was fitted to, the
// total was within 1.3 % of the growth of the heap for half of them, within 5 % for nine in ten,
// and within 15 % for all (x86-64; docs/memory.md).
struct DelegatedMemory {
  std::optional<int64_t> arena_bytes;           // planned: with each partition as one operator
  std::optional<int64_t> runtime_bytes;         // planned: allocated beside the arena
  std::optional<int64_t> workspace_bytes;       // values inside partitions
  std::optional<int64_t> packed_weights_bytes;  // weights, copied in the order of the kernels
  std::optional<int64_t> indirection_bytes;     // pointers to the inputs of windows
  std::optional<int64_t> tables_bytes;          // structures of both
  std::optional<int64_t> total_bytes;
};

}  // namespace edgesage
