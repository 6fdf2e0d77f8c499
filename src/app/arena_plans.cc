#include "src/app/arena_plans.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "src/analysis/litert_arena.h"
#include "src/analysis/litert_savings.h"

namespace edgesage::app {
namespace {

std::string_view memory_name(TensorMemory memory) {
  switch (memory) {
    case TensorMemory::kArena:
      return "arena";
    case TensorMemory::kPersistent:
      return "persistent";
    default:
      return "heap";
  }
}

std::vector<ArenaEntry> entries_of(const Subgraph& subgraph, const LiteRtArena& arena) {
  const std::unordered_set<int32_t> inputs(subgraph.inputs.begin(), subgraph.inputs.end());
  const std::unordered_set<int32_t> outputs(subgraph.outputs.begin(), subgraph.outputs.end());
  std::vector<ArenaEntry> entries;
  entries.reserve(arena.blocks.size());
  for (const LiteRtBlock& block : arena.blocks) {
    ArenaEntry& entry = entries.emplace_back();
    entry.tensor = block.tensor;
    entry.op = block.op;
    entry.memory = memory_name(block.memory);
    entry.bytes = block.bytes;
    if (block.memory == TensorMemory::kArena || block.memory == TensorMemory::kPersistent)
      entry.offset = block.offset;
    entry.first = block.first;
    entry.last = block.last;
    entry.shares = block.shares;
    if (block.tensor == kNoTensor) {
      entry.name = block.purpose;
      entry.role = "scratch";
      continue;
    }
    const Tensor& tensor = subgraph.tensors[static_cast<size_t>(block.tensor)];
    entry.name = tensor.name;
    entry.type = type_name(tensor.type);
    entry.shape = tensor.shape;
    entry.role = tensor.is_variable                            ? "variable"
                 : block.memory == TensorMemory::kHeapConstant ? "constant"
                 : inputs.contains(block.tensor)               ? "input"
                 : outputs.contains(block.tensor)              ? "output"
                                                               : "activation";
  }
  return entries;
}

std::string saving_text(const Subgraph& subgraph, const LiteRtSaving& saving) {
  if (!saving.order.empty()) return "with its operators in another order";
  const LiteRtBlock& block = saving.block;
  if (block.tensor == kNoTensor)
    return fmt::format("without the {} of operator {}", block.purpose, block.op);
  const std::string& name = subgraph.tensors[static_cast<size_t>(block.tensor)].name;
  return name.empty() ? fmt::format("without tensor {}", block.tensor)
                      : fmt::format("without tensor {} ({})", block.tensor, name);
}

}  // namespace

ArenaPlan litert_arena_plan(const Graph& graph) {
  ArenaPlan plan;
  plan.runtime = "LiteRT 2.3.0, built-in kernels, one thread";
  plan.size.abi = "64";
  if (graph.format == "ncnn" || graph.format == "onnx") {
    plan.size.reason = fmt::format("LiteRT does not run {} files", graph.format);
    return plan;
  }
  if (graph.subgraphs.empty()) {
    plan.size.reason = "the model has no subgraphs";
    return plan;
  }
  const LiteRtPlanner planner(graph);
  const LiteRtArena arena = planner.plan();
  plan.not_counted = planner.memory().not_counted;
  if (!arena.missing.empty()) {
    plan.size.reason = arena.missing;
    return plan;
  }
  plan.arena_bytes = arena.arena_bytes;
  plan.persistent_bytes = arena.persistent_bytes;
  plan.heap_bytes = arena.heap_bytes;
  plan.size.activations_bytes = arena.activations_bytes;
  plan.size.scratch_bytes = arena.arena_bytes - arena.activations_bytes;
  plan.size.runtime_bytes = arena.persistent_bytes + arena.heap_bytes;
  plan.size.total_bytes = arena.total_bytes();
  plan.entries = entries_of(graph.main(), arena);
  const ArenaPeak peak = arena_peak(arena, graph.main().operators.size());
  plan.peak_operator = peak.step;
  plan.peak_live_bytes = peak.live_bytes;
  for (const LiteRtSaving& saving : litert_savings(graph, planner, arena))
    plan.savings.push_back({saving_text(graph.main(), saving), saving.arena_bytes, saving.order});
  return plan;
}

}  // namespace edgesage::app
