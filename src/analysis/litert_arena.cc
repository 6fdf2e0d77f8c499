#include "src/analysis/litert_arena.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <tuple>

#include "src/analysis/arena_placement.h"
#include "src/graph/shape_inference.h"

namespace edgesage {
namespace {

constexpr int32_t kNever = std::numeric_limits<int32_t>::max();

// May the kernel write its output over an input? Bit i: over input i.
struct InPlace {
  uint32_t inputs = 0;
  bool keeps_bytes = false;  // the output is the input with another shape
};

InPlace in_place(OpKind kind) {
  switch (kind) {
    case OpKind::kReshape:
    case OpKind::kExpandDims:
    case OpKind::kSqueeze:
    case OpKind::kBitcast:
      return {.inputs = 1, .keeps_bytes = true};
    case OpKind::kAdd:
    case OpKind::kSub:
    case OpKind::kMul:
    case OpKind::kDiv:
      return {.inputs = 3};
    case OpKind::kSoftmax:
    case OpKind::kDynamicUpdateSlice:
      return {.inputs = 1};
    default:
      return {};
  }
}

// One planning: lifetimes and sharing by counting references, then offsets.
class Planning {
 public:
  Planning(const Subgraph& subgraph, const LiteRtMemory& memory, const LiteRtChange& change)
      : subgraph_(subgraph),
        memory_(memory),
        change_(change),
        steps_(static_cast<int32_t>(std::max<size_t>(subgraph.operators.size(), 1))) {
    const size_t tensors = subgraph.tensors.size();
    first_.assign(tensors, kNever);
    last_.assign(tensors, kNever);
    last_read_.assign(tensors, kNever);
    shares_.assign(tensors, kNoTensor);
    if (change.order.empty()) {
      order_.resize(subgraph.operators.size());
      std::iota(order_.begin(), order_.end(), 0);
    } else {
      order_.assign(change.order.begin(), change.order.end());
    }
  }

  LiteRtArena run() && {
    count_references();
    share_places();
    find_lifetimes();
    collect();
    order_blocks();
    place_arena();
    if (!out_.missing.empty()) return std::move(out_);
    place_persistent();
    return std::move(out_);
  }

 private:
  [[nodiscard]] const Operator& at(int32_t step) const {
    return subgraph_.operators[static_cast<size_t>(order_[static_cast<size_t>(step)])];
  }
  [[nodiscard]] int64_t bytes(int32_t tensor) const {
    return tensor == change_.without_tensor ? 0
                                            : memory_.tensors[static_cast<size_t>(tensor)].bytes;
  }
  [[nodiscard]] TensorMemory kind(int32_t tensor) const {
    return memory_.tensors[static_cast<size_t>(tensor)].memory;
  }
  // The tensor whose place this one has.
  [[nodiscard]] int32_t owner(int32_t tensor) const {
    const int32_t shared = shares_[static_cast<size_t>(tensor)];
    return shared == kNoTensor ? tensor : shared;
  }
  template <class Visit>
  static void for_each_tensor(std::span<const int32_t> list, Visit visit) {
    for (const int32_t tensor : list)
      if (tensor != kNoTensor) visit(tensor);
  }

  // Graph inputs, outputs and variables are held by the graph itself.
  void count_references() {
    held_.assign(subgraph_.tensors.size(), 0);
    is_input_.assign(subgraph_.tensors.size(), false);
    is_output_.assign(subgraph_.tensors.size(), false);
    const auto hold = [&](int32_t tensor) { ++held_[static_cast<size_t>(tensor)]; };
    for_each_tensor(subgraph_.outputs, [&](int32_t tensor) {
      hold(tensor);
      is_output_[static_cast<size_t>(tensor)] = true;
    });
    for_each_tensor(subgraph_.inputs, [&](int32_t tensor) {
      hold(tensor);
      is_input_[static_cast<size_t>(tensor)] = true;
    });
    for (size_t i = 0; i < subgraph_.tensors.size(); ++i)
      if (subgraph_.tensors[i].is_variable) hold(static_cast<int32_t>(i));
    readers_ = held_;
    for (const Operator& op : subgraph_.operators)
      for_each_tensor(op.inputs, [&](int32_t tensor) { ++readers_[static_cast<size_t>(tensor)]; });
  }

  [[nodiscard]] bool can_share(int32_t input, int32_t output, bool keeps_bytes) const {
    constexpr int64_t kScalarBytes = 4;
    if (!keeps_bytes && (bytes(input) != bytes(output) || bytes(input) <= kScalarBytes ||
                         readers_[static_cast<size_t>(input)] > 1))
      return false;
    if (is_input_[static_cast<size_t>(input)] || is_output_[static_cast<size_t>(output)])
      return false;
    return kind(input) == kind(output) || kind(input) == TensorMemory::kArena;
  }

  void share_places() {
    constexpr size_t kMostInputs = 3;
    for (int32_t step = 0; step < static_cast<int32_t>(order_.size()); ++step) {
      const Operator& op = at(step);
      const InPlace rule = in_place(op.kind);
      if (rule.inputs == 0 || op.outputs.empty() || op.outputs[0] == kNoTensor) continue;
      for (size_t i = 0; i < std::min(kMostInputs, op.inputs.size()); ++i) {
        const int32_t input = op.inputs[i];
        if (input == kNoTensor || ((rule.inputs >> i) & 1U) == 0) continue;
        if (!can_share(input, op.outputs[0], rule.keeps_bytes)) continue;
        // Only the first input that could be shared is tried.
        const int32_t place = owner(input);
        if (rule.keeps_bytes || readers_[static_cast<size_t>(place)] <= 1)
          shares_[static_cast<size_t>(op.outputs[0])] = place;
        break;
      }
    }
  }

  void find_lifetimes() {
    for (size_t i = 0; i < subgraph_.tensors.size(); ++i)
      if (subgraph_.tensors[i].is_variable) first_[i] = 0;
    for_each_tensor(subgraph_.inputs,
                    [&](int32_t tensor) { first_[static_cast<size_t>(tensor)] = 0; });
    std::vector<int32_t> waiting = held_;
    for (const Operator& op : subgraph_.operators)
      for_each_tensor(op.inputs,
                      [&](int32_t tensor) { ++waiting[static_cast<size_t>(owner(tensor))]; });
    for (int32_t step = 0; step < static_cast<int32_t>(order_.size()); ++step) {
      for_each_tensor(at(step).outputs, [&](int32_t tensor) {
        int32_t& first = first_[static_cast<size_t>(tensor)];
        first = std::min(first, step);
      });
      for_each_tensor(at(step).inputs, [&](int32_t tensor) {
        last_read_[static_cast<size_t>(tensor)] = step;
        const auto place = static_cast<size_t>(owner(tensor));
        if (--waiting[place] == 0 && first_[place] != kNever) last_[place] = step;
      });
    }
  }

  // Sharing holds only between tensors of the arena with the same bytes.
  [[nodiscard]] bool really_shares(int32_t tensor) const {
    const int32_t place = shares_[static_cast<size_t>(tensor)];
    return place != kNoTensor && kind(place) == TensorMemory::kArena &&
           kind(tensor) == TensorMemory::kArena && bytes(place) == bytes(tensor);
  }

  // When a tensor is asked for among those of its operator; the first operator gets variables and
  // graph inputs before its outputs.
  void find_positions() {
    position_.assign(subgraph_.tensors.size(), 0);
    int64_t next = 0;
    for (size_t i = 0; i < subgraph_.tensors.size(); ++i)
      if (subgraph_.tensors[i].is_variable) position_[i] = next++;
    for_each_tensor(subgraph_.inputs,
                    [&](int32_t tensor) { position_[static_cast<size_t>(tensor)] = next++; });
    for (const Operator& op : subgraph_.operators)
      for (size_t k = 0; k < op.outputs.size(); ++k)
        if (op.outputs[k] != kNoTensor && first_[static_cast<size_t>(op.outputs[k])] != 0)
          position_[static_cast<size_t>(op.outputs[k])] = static_cast<int64_t>(k);
    if (!order_.empty())
      for_each_tensor(at(0).outputs,
                      [&](int32_t tensor) { position_[static_cast<size_t>(tensor)] = next++; });
  }

  void collect() {
    find_positions();
    for (size_t i = 0; i < subgraph_.tensors.size(); ++i) {
      const auto tensor = static_cast<int32_t>(i);
      const TensorMemory memory = kind(tensor);
      if (first_[i] == kNever || bytes(tensor) == 0 || memory == TensorMemory::kFile ||
          memory == TensorMemory::kNowhere)
        continue;
      out_.blocks.push_back({.tensor = tensor,
                             .memory = memory,
                             .bytes = bytes(tensor),
                             .first = first_[i],
                             .last = std::min(last_[i], steps_ - 1)});
      if (really_shares(tensor)) {
        // The place is kept for the tensor that owns it; this one needs it to its own last reader.
        out_.blocks.back().shares = shares_[i];
        out_.blocks.back().last = std::max(first_[i], std::min(last_read_[i], steps_ - 1));
      }
      asked_.push_back(position_[i]);
    }
    if (!change_.without_scratch) collect_scratch();
    for (const LiteRtBlock& block : out_.blocks)
      if (block.memory == TensorMemory::kHeap || block.memory == TensorMemory::kHeapConstant)
        out_.heap_bytes += block.bytes;
  }

  void collect_scratch() {
    std::vector<int32_t> step_of(order_.size());
    for (size_t step = 0; step < order_.size(); ++step)
      step_of[static_cast<size_t>(order_[step])] = static_cast<int32_t>(step);
    for (const KernelScratch& scratch : memory_.scratch) {
      if (scratch.bytes == 0 || scratch.op == change_.without_scratch_of) continue;
      const int32_t step = step_of[static_cast<size_t>(scratch.op)];
      out_.blocks.push_back({.op = scratch.op,
                             .purpose = scratch.purpose,
                             .memory = scratch.memory,
                             .bytes = scratch.bytes,
                             .first = step,
                             .last = step});
      // Buffers come after all outputs, in the kernel's order.
      asked_.push_back(std::numeric_limits<int32_t>::max() + static_cast<int64_t>(asked_.size()));
    }
  }

  // All blocks of both arenas in the order in which the runtime places them: plan by plan; in each,
  // what is needed throughout by tensor, the rest by falling size, then by time. What that leaves
  // open decides the runtime's own sort: of one operator's blocks, the latest that is asked for is
  // handed to it first (it comes out of a hash set), and std::sort of the same library does the
  // same with them.
  void order_blocks() {
    struct Key {
      size_t plan;
      int64_t bytes;
      int32_t first;
      bool throughout;
      int64_t asked;
      size_t block;
    };
    std::vector<Key> keys;
    for (size_t i = 0; i < out_.blocks.size(); ++i) {
      const LiteRtBlock& block = out_.blocks[i];
      if (block.memory != TensorMemory::kArena && block.memory != TensorMemory::kPersistent)
        continue;
      const bool throughout = block.tensor != kNoTensor && block.first == 0 &&
                              last_[static_cast<size_t>(block.tensor)] == kNever;
      const auto plan =
          static_cast<size_t>(std::ranges::lower_bound(memory_.plans_anew_after, block.first) -
                              memory_.plans_anew_after.begin());
      keys.push_back({plan, block.bytes, block.first, throughout, asked_[i], i});
    }
    std::ranges::sort(keys, [](const Key& a, const Key& b) {
      return std::tuple(a.plan, a.first, -a.asked, a.block) <
             std::tuple(b.plan, b.first, -b.asked, b.block);
    });
    const auto before = [&](const Key& a, const Key& b) {
      if (a.throughout || b.throughout)
        return std::tuple(!a.throughout, a.throughout ? out_.blocks[a.block].tensor : 0) <
               std::tuple(!b.throughout, b.throughout ? out_.blocks[b.block].tensor : 0);
      return std::tuple(-a.bytes, a.first) < std::tuple(-b.bytes, b.first);
    };
    for (auto from = keys.begin(); from != keys.end();) {
      const auto to =
          std::find_if(from, keys.end(), [&](const Key& key) { return key.plan != from->plan; });
      std::sort(from, to, before);
      from = to;
    }
    placing_order_.reserve(keys.size());
    for (const Key& key : keys) placing_order_.push_back(key.block);
  }

  // The blocks with bytes of their own in one arena, in that order.
  [[nodiscard]] std::vector<size_t> blocks_of(TensorMemory memory) const {
    std::vector<size_t> blocks;
    for (const size_t i : placing_order_)
      if (out_.blocks[i].memory == memory && out_.blocks[i].shares == kNoTensor)
        blocks.push_back(i);
    return blocks;
  }

  void place_arena() {
    const std::vector<size_t> order = blocks_of(TensorMemory::kArena);
    std::vector<ArenaBlock> placed;
    placed.reserve(order.size());
    for (const size_t i : order)
      placed.push_back({out_.blocks[i].bytes, out_.blocks[i].first, out_.blocks[i].last});
    const std::optional<int64_t> reach = place_blocks(placed, steps_);
    if (!reach) {
      out_.missing = "too many tensors are needed at once";
      return;
    }
    out_.arena_bytes = *reach;
    std::vector<int64_t> offset(subgraph_.tensors.size(), 0);
    for (size_t k = 0; k < order.size(); ++k) {
      LiteRtBlock& block = out_.blocks[order[k]];
      block.offset = placed[k].offset;
      if (block.tensor != kNoTensor) offset[static_cast<size_t>(block.tensor)] = block.offset;
    }
    for (LiteRtBlock& block : out_.blocks)
      if (block.shares != kNoTensor) block.offset = offset[static_cast<size_t>(block.shares)];
  }

  void place_persistent() {
    for (const size_t i : blocks_of(TensorMemory::kPersistent)) {
      LiteRtBlock& block = out_.blocks[i];
      block.offset =
          (out_.persistent_bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
      out_.persistent_bytes = block.offset + block.bytes;
    }
  }

  const Subgraph& subgraph_;
  const LiteRtMemory& memory_;
  const LiteRtChange& change_;
  int32_t steps_;
  std::vector<int32_t> order_;
  std::vector<int32_t> held_, readers_;  // references: by the graph; and by all operators
  std::vector<bool> is_input_, is_output_;
  std::vector<int32_t> first_, last_, last_read_, shares_;
  std::vector<int64_t> position_;  // of each tensor
  std::vector<int64_t> asked_;  // of each block: when it is asked for among those of its operator
  std::vector<size_t> placing_order_;
  LiteRtArena out_;
};

// The runtime works out shapes itself, also those that old files leave out (they say "scalar").
// Nothing where none is missing.
std::optional<Graph> with_all_shapes(const Graph& graph) {
  if (graph.subgraphs.empty()) return std::nullopt;
  std::optional<Graph> completed;
  for (const Operator& op : graph.main().operators) {
    const auto looks_scalar = [&](int32_t tensor) {
      return tensor != kNoTensor && graph.main().tensors[static_cast<size_t>(tensor)].shape.empty();
    };
    if (std::ranges::none_of(op.outputs, looks_scalar)) continue;
    const Graph& known = completed ? *completed : graph;
    const Result<std::vector<Shape>> shapes = infer_shapes(known, known.main(), op);
    if (!shapes) continue;
    for (size_t k = 0; k < std::min(shapes->size(), op.outputs.size()); ++k) {
      if (!looks_scalar(op.outputs[k]) || (*shapes)[k].empty()) continue;
      if (!completed) completed = graph;
      completed->main().tensors[static_cast<size_t>(op.outputs[k])].shape = (*shapes)[k];
    }
  }
  return completed;
}

}  // namespace

LiteRtPlanner::LiteRtPlanner(const Graph& graph)
    : completed_(with_all_shapes(graph)),
      graph_(completed_ ? *completed_ : graph),
      memory_(litert_memory(graph_)) {}

LiteRtArena LiteRtPlanner::plan(const LiteRtChange& change) const {
  if (graph_.subgraphs.empty()) return {};
  LiteRtArena arena = Planning(graph_.main(), memory_, change).run();
  arena.activations_bytes = arena.arena_bytes;
  if (change.without_scratch || !arena.missing.empty()) return arena;
  LiteRtChange bare = change;
  bare.without_scratch = true;
  const LiteRtArena activations = Planning(graph_.main(), memory_, bare).run();
  arena.activations_bytes = std::min(arena.arena_bytes, activations.arena_bytes);
  return arena;
}

}  // namespace edgesage
