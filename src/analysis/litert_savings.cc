#include "src/analysis/litert_savings.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace edgesage {
namespace {

bool in_arena(const LiteRtBlock& block) {
  return block.memory == TensorMemory::kArena && block.shares == kNoTensor && block.bytes > 0;
}

// Operators one at a time: of those whose inputs are there, the one after which least is alive.
class GreedyOrder {
 public:
  explicit GreedyOrder(const Subgraph& subgraph, const LiteRtMemory& memory)
      : subgraph_(subgraph), memory_(memory), index_(subgraph) {}

  // Nothing where the order of operators is not free (state that several of them touch).
  std::optional<std::vector<int32_t>> run() {
    for (const Tensor& tensor : subgraph_.tensors)
      if (tensor.is_variable) return std::nullopt;
    const size_t count = subgraph_.operators.size();
    waits_for_.assign(count, 0);
    readers_.assign(subgraph_.tensors.size(), 0);
    for (size_t i = 0; i < count; ++i) count_inputs(static_cast<int32_t>(i));
    for (const int32_t tensor : subgraph_.outputs)
      if (tensor != kNoTensor) ++readers_[static_cast<size_t>(tensor)];
    std::set<Key> ready;
    for (size_t i = 0; i < count; ++i)
      if (waits_for_[i] == 0) ready.insert(key(static_cast<int32_t>(i)));
    std::vector<int32_t> order;
    while (!ready.empty()) {
      const int32_t op = std::get<1>(*ready.begin());
      ready.erase(ready.begin());
      order.push_back(op);
      run_operator(op, ready);
    }
    if (order.size() != count) return std::nullopt;
    return order;
  }

 private:
  using Key = std::tuple<int64_t, int32_t>;  // growth, operator

  void count_inputs(int32_t op) {
    const std::set<int32_t> inputs = inputs_of(op);
    for (const int32_t tensor : inputs) {
      ++readers_[static_cast<size_t>(tensor)];
      const int32_t producer = index_.producer[static_cast<size_t>(tensor)];
      if (producer >= 0 && producer != op) ++waits_for_[static_cast<size_t>(op)];
    }
  }

  [[nodiscard]] std::set<int32_t> inputs_of(int32_t op) const {
    std::set<int32_t> inputs;
    for (const int32_t tensor : subgraph_.operators[static_cast<size_t>(op)].inputs)
      if (tensor != kNoTensor) inputs.insert(tensor);
    return inputs;
  }

  [[nodiscard]] int64_t bytes(int32_t tensor) const {
    const TensorPlace& place = memory_.tensors[static_cast<size_t>(tensor)];
    return place.memory == TensorMemory::kArena ? place.bytes : 0;
  }

  // Bytes alive after the operator, less those before.
  [[nodiscard]] Key key(int32_t op) const {
    int64_t growth = 0;
    for (const int32_t tensor : subgraph_.operators[static_cast<size_t>(op)].outputs)
      if (tensor != kNoTensor) growth += bytes(tensor);
    for (const int32_t tensor : inputs_of(op))
      if (readers_[static_cast<size_t>(tensor)] == 1) growth -= bytes(tensor);
    return {growth, op};
  }

  void run_operator(int32_t op, std::set<Key>& ready) {
    for (const int32_t tensor : inputs_of(op)) {
      const auto t = static_cast<size_t>(tensor);
      if (readers_[t] == 2) {
        // The last reader now frees the tensor, which makes it more attractive.
        for (const int32_t other : index_.consumers[t])
          if (const auto found = ready.find(key(other)); found != ready.end()) {
            ready.erase(found);
            revalued_.push_back(other);
          }
      }
      --readers_[t];
      for (const int32_t other : revalued_) ready.insert(key(other));
      revalued_.clear();
    }
    for (const int32_t tensor : subgraph_.operators[static_cast<size_t>(op)].outputs) {
      if (tensor == kNoTensor) continue;
      for (const int32_t consumer : index_.consumers[static_cast<size_t>(tensor)])
        if (consumer != op && --waits_for_[static_cast<size_t>(consumer)] == 0)
          ready.insert(key(consumer));
    }
  }

  const Subgraph& subgraph_;
  const LiteRtMemory& memory_;
  GraphIndex index_;
  std::vector<int32_t> waits_for_, readers_;
  std::vector<int32_t> revalued_;
};

void try_without(const LiteRtPlanner& planner, const LiteRtArena& arena, const LiteRtBlock& block,
                 std::vector<LiteRtSaving>& out) {
  LiteRtChange change;
  if (block.tensor != kNoTensor)
    change.without_tensor = block.tensor;
  else
    change.without_scratch_of = block.op;
  const LiteRtArena without = planner.plan(change);
  if (without.missing.empty() && without.arena_bytes < arena.arena_bytes)
    out.push_back({block, {}, without.arena_bytes});
}

}  // namespace

ArenaPeak arena_peak(const LiteRtArena& arena, size_t steps) {
  std::vector<int64_t> live(steps + 1, 0);
  std::vector<int32_t> at_end(steps + 1, 0);
  for (const LiteRtBlock& block : arena.blocks) {
    if (!in_arena(block)) continue;
    const auto first = static_cast<size_t>(block.first);
    const size_t behind = std::min(static_cast<size_t>(block.last) + 1, steps);
    live[first] += block.bytes;
    live[behind] -= block.bytes;
    if (block.offset + block.bytes != arena.arena_bytes) continue;
    ++at_end[first];
    --at_end[behind];
  }
  ArenaPeak peak;
  int64_t now = 0, ends = 0;
  for (size_t step = 0; step < steps; ++step) {
    now += live[step];
    ends += at_end[step];
    if (ends > 0 && now > peak.live_bytes) peak = {static_cast<int32_t>(step), now};
  }
  return peak;
}

std::vector<LiteRtSaving> litert_savings(const Graph& graph, const LiteRtPlanner& planner,
                                         const LiteRtArena& arena) {
  constexpr size_t kMostOperators = 20'000, kMostBlocks = 8, kMostPresent = 1000;
  const size_t steps = graph.main().operators.size();
  std::vector<LiteRtSaving> out;
  if (steps > kMostOperators || !arena.missing.empty()) return out;
  const ArenaPeak peak = arena_peak(arena, steps);
  std::vector<LiteRtBlock> present;
  for (const LiteRtBlock& block : arena.blocks)
    if (in_arena(block) && block.first <= peak.step && peak.step <= block.last)
      present.push_back(block);
  if (present.size() > kMostPresent) return out;
  std::ranges::stable_sort(present, std::greater{}, &LiteRtBlock::bytes);
  if (present.size() > kMostBlocks) present.resize(kMostBlocks);
  bool tried_scratch = false;
  for (const LiteRtBlock& block : present) {
    // All buffers of a kernel go together.
    if (block.tensor == kNoTensor && std::exchange(tried_scratch, true)) continue;
    try_without(planner, arena, block, out);
  }
  // Where the runtime plans in several goes, the goes depend on the order.
  if (planner.memory().plans_anew_after.empty()) {
    if (auto order = GreedyOrder(graph.main(), planner.memory()).run()) {
      const LiteRtArena other = planner.plan({.order = *order});
      if (other.missing.empty() && other.arena_bytes < arena.arena_bytes)
        out.push_back({{}, std::move(*order), other.arena_bytes});
    }
  }
  std::ranges::stable_sort(out, {}, &LiteRtSaving::arena_bytes);
  return out;
}

}  // namespace edgesage
