#include "src/app/arena_plans.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>

#include "src/analysis/litert_arena.h"
#include "src/analysis/litert_savings.h"
#include "src/analysis/tflm_arena.h"
#include "src/analysis/xnnpack_memory.h"

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

// What the file says of a tensor in an arena.
class TensorFacts {
 public:
  explicit TensorFacts(const Subgraph& subgraph)
      : subgraph_(subgraph),
        inputs_(subgraph.inputs.begin(), subgraph.inputs.end()),
        outputs_(subgraph.outputs.begin(), subgraph.outputs.end()) {}

  void fill(ArenaEntry& entry) const {
    const Tensor& tensor = subgraph_.tensors[static_cast<size_t>(entry.tensor)];
    entry.name = tensor.name;
    entry.type = type_name(tensor.type);
    entry.shape = tensor.shape;
    entry.role = tensor.is_variable                ? "variable"
                 : inputs_.contains(entry.tensor)  ? "input"
                 : outputs_.contains(entry.tensor) ? "output"
                                                   : "activation";
  }

 private:
  const Subgraph& subgraph_;
  std::unordered_set<int32_t> inputs_, outputs_;
};

std::vector<ArenaEntry> entries_of(const Subgraph& subgraph, const LiteRtArena& arena) {
  const TensorFacts facts(subgraph);
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
    facts.fill(entry);
    if (block.memory == TensorMemory::kHeapConstant && entry.role != "variable")
      entry.role = "constant";
  }
  return entries;
}

// Steps count from the entry into the subgraph, operators from 0.
int32_t operator_of_step(int32_t step) { return std::max(step - 1, 0); }

std::vector<ArenaEntry> entries_of(const Subgraph& subgraph, const TflmArena& arena) {
  const TensorFacts facts(subgraph);
  std::vector<ArenaEntry> entries;
  entries.reserve(arena.buffers.size());
  for (const TflmBuffer& buffer : arena.buffers) {
    ArenaEntry& entry = entries.emplace_back();
    entry.tensor = buffer.tensor;
    entry.op = buffer.op;
    entry.memory = "arena";
    entry.bytes = buffer.bytes;
    entry.offset = buffer.offset;
    entry.first = operator_of_step(buffer.first_step);
    entry.last = operator_of_step(buffer.last_step);
    if (buffer.tensor != kNoTensor) {
      facts.fill(entry);
    } else {
      entry.name = "scratch";
      entry.role = "scratch";
    }
  }
  return entries;
}

// Where most of the entries' bytes are in use at once.
void find_peak(size_t operators, ArenaPlan& plan) {
  std::vector<int64_t> change(operators + 1, 0);
  for (const ArenaEntry& entry : plan.entries) {
    if (static_cast<size_t>(entry.last) >= operators) return;
    change[static_cast<size_t>(entry.first)] += entry.bytes;
    change[static_cast<size_t>(entry.last) + 1] -= entry.bytes;
  }
  int64_t live = 0;
  for (size_t i = 0; i < operators; ++i) {
    live += change[i];
    if (live <= plan.peak_live_bytes) continue;
    plan.peak_live_bytes = live;
    plan.peak_operator = static_cast<int32_t>(i);
  }
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

bool runs_on_litert(const Graph& graph) {
  return !graph.subgraphs.empty() && graph.format != "ncnn" && graph.format != "onnx";
}

// LiteRT's runtime is built for 64 bits.
constexpr const char* kLiteRtAbi = "64";

// Why LiteRT has no plan for what it does not run.
ArenaSize unplanned(const Graph& graph) {
  ArenaSize size;
  size.abi = kLiteRtAbi;
  size.reason = graph.subgraphs.empty() ? "the model has no subgraphs"
                                        : fmt::format("LiteRT does not run {} files", graph.format);
  return size;
}

ArenaSize size_of(const LiteRtArena& arena) {
  ArenaSize size;
  size.abi = kLiteRtAbi;
  size.reason = arena.missing;
  if (!arena.missing.empty()) return size;
  size.activations_bytes = arena.activations_bytes;
  size.scratch_bytes = arena.arena_bytes - arena.activations_bytes;
  size.runtime_bytes = arena.persistent_bytes + arena.heap_bytes;
  size.total_bytes = arena.total_bytes();
  return size;
}

struct KernelName {
  std::string_view name;
  TflmKernels kernels;
  std::string_view words;
};
constexpr std::array kKernelNames{
    KernelName{"reference", TflmKernels::kReference, "reference kernels"},
    KernelName{"cmsis-nn", TflmKernels::kCmsisNnDsp, "CMSIS-NN for DSP instructions"},
    KernelName{"cmsis-nn-mve", TflmKernels::kCmsisNnMve, "CMSIS-NN for Helium"},
    KernelName{"cmsis-nn-plain", TflmKernels::kCmsisNnPlain, "CMSIS-NN without either"},
};

}  // namespace

ArenaSize litert_arena_size(const Graph& graph) {
  if (!runs_on_litert(graph)) return unplanned(graph);
  return size_of(LiteRtPlanner(graph).plan());
}

ArenaPlan litert_arena_plan(const Graph& graph) {
  ArenaPlan plan;
  plan.runtime = "LiteRT 2.3.0, built-in kernels, one thread";
  if (!runs_on_litert(graph)) {
    plan.size = unplanned(graph);
    return plan;
  }
  const LiteRtPlanner planner(graph);
  const LiteRtArena arena = planner.plan();
  plan.not_counted = planner.memory().not_counted;
  plan.size = size_of(arena);
  if (!plan.size.total_bytes) return plan;
  plan.arena_bytes = arena.arena_bytes;
  plan.persistent_bytes = arena.persistent_bytes;
  plan.heap_bytes = arena.heap_bytes;
  plan.entries = entries_of(graph.main(), arena);
  const ArenaPeak peak = arena_peak(arena, graph.main().operators.size());
  plan.peak_operator = peak.step;
  plan.peak_live_bytes = peak.live_bytes;
  for (const LiteRtSaving& saving : litert_savings(graph, planner, arena))
    plan.savings.push_back({saving_text(graph.main(), saving), saving.arena_bytes, saving.order});
  return plan;
}

Result<TflmBuild> tflm_build(int32_t abi, const std::string& kernels) {
  if (abi != 32 && abi != 64)
    return make_error(ErrorCode::kInvalidArgument, "abi",
                      fmt::format("is {}; 32 and 64 are allowed", abi));
  const auto known = std::ranges::find(kKernelNames, kernels, &KernelName::name);
  if (known == kKernelNames.end())
    return make_error(ErrorCode::kInvalidArgument, "kernels",
                      fmt::format("is '{}'; allowed: reference, cmsis-nn, cmsis-nn-mve, "
                                  "cmsis-nn-plain",
                                  kernels));
  if (abi == 64 && known->kernels != TflmKernels::kReference)
    return make_error(ErrorCode::kInvalidArgument, "kernels",
                      "CMSIS-NN is for microcontrollers: take --abi 32, or reference");
  return TflmBuild{abi == 64 ? TflmAbi::k64 : TflmAbi::k32, known->kernels};
}

ArenaPlan tflm_arena_plan(const Graph& graph, TflmBuild build) {
  const bool is_package = build.abi == TflmAbi::k64;
  ArenaPlan plan;
  const auto kernels = std::ranges::find(kKernelNames, build.kernels, &KernelName::kernels);
  plan.runtime = fmt::format("TensorFlow Lite Micro, {}, {}",
                             is_package ? "Python package" : "Cortex-M", kernels->words);
  plan.size.abi = is_package ? "64" : "32";
  if (graph.format == "ncnn" || graph.format == "onnx") {
    plan.size.reason = fmt::format("TensorFlow Lite Micro does not run {} files", graph.format);
    return plan;
  }
  const auto arena = tflm_arena(graph, build);
  if (!arena) {
    plan.size.reason = arena.error().to_string();
    return plan;
  }
  plan.size.activations_bytes = arena->activations_bytes;
  plan.size.scratch_bytes = arena->scratch_bytes;
  plan.size.runtime_bytes = arena->runtime_bytes;
  plan.size.total_bytes = arena->total_bytes;
  plan.size.sufficient_bytes = arena->sufficient_bytes;
  plan.arena_bytes = arena->activations_bytes + arena->scratch_bytes;
  plan.persistent_bytes = arena->runtime_bytes;
  plan.heap_bytes = 0;
  plan.not_counted = arena->not_counted;
  if (!plan.not_counted.empty()) plan.size.reason = "without " + plan.not_counted.front();
  for (const TflmAllocation& entry : arena->allocations)
    plan.allocations.push_back(
        {std::string(entry.name), entry.used_bytes, entry.requested_bytes, entry.count});
  if (graph.subgraphs.size() > 1) return plan;
  plan.entries = entries_of(graph.main(), *arena);
  find_peak(graph.main().operators.size(), plan);
  return plan;
}

DelegatedMemory litert_xnnpack_memory(const Graph& graph, const Lowering& lowering) {
  // Fitted to the growth of the heap beyond all else, on x86-64.
  constexpr int64_t kTables = 97'000, kTablesAnOperator = 5'600;
  DelegatedMemory memory;
  if (!runs_on_litert(graph)) return memory;
  const Graph delegated = with_partitions(graph, lowering);
  const LiteRtArena arena = LiteRtPlanner(delegated).plan();
  if (!arena.missing.empty()) return memory;
  const XnnpackMemory delegate = xnnpack_memory(graph, lowering);
  memory.arena_bytes = arena.arena_bytes;
  memory.runtime_bytes = arena.persistent_bytes + arena.heap_bytes;
  memory.workspace_bytes = delegate.workspace_bytes;
  memory.packed_weights_bytes = delegate.packed_weights_bytes;
  memory.indirection_bytes = delegate.indirection_bytes;
  const auto rows = std::ranges::count(lowering.rows, Placement::kDelegate, &Row::placement);
  memory.tables_bytes = kTables + kTablesAnOperator * static_cast<int64_t>(rows);
  memory.total_bytes = arena.total_bytes() + delegate.total_bytes() + *memory.tables_bytes;
  return memory;
}

double litert_xnnpack_half_width(double level) {
  if (level <= 0.5) return 0.02;
  if (level <= 0.8) return 0.04;
  return level <= 0.9 ? 0.06 : 0.09;
}

}  // namespace edgesage::app
