#include "src/features/row_facts.h"

#include <algorithm>
#include <cmath>

#include "src/analysis/cpu_nanoseconds.h"
#include "src/analysis/generic_units.h"

namespace edgesage {
namespace {

constexpr int64_t kBrickChannels = 16;  // NHCWB16, the feature-map layout between Ethos-U operators

double sum_of(const std::vector<double>& bytes, const std::vector<int32_t>& tensors) {
  double sum = 0;
  for (const int32_t tensor : tensors)
    if (tensor >= 0) sum += bytes[static_cast<size_t>(tensor)];
  return sum;
}

// Operators that read or write tensors as one run of bytes, so that these cannot be bricks.
bool needs_linear(OpKind kind) {
  return kind == OpKind::kReshape || kind == OpKind::kFullyConnected || kind == OpKind::kSoftmax ||
         kind == OpKind::kSqueeze || kind == OpKind::kExpandDims;
}

// Tensors that Vela keeps in bricks: inside the network, of several channels, between operators
// that work on them.
std::vector<char> bricked(const Subgraph& subgraph) {
  std::vector<char> bricks(subgraph.tensors.size(), 0);
  for (size_t i = 0; i < bricks.size(); ++i) {
    const Tensor& tensor = subgraph.tensors[i];
    bricks[i] = tensor.shape.size() >= 4 && tensor.shape.back() > 1 ? 1 : 0;
  }
  const auto make_linear = [&](const std::vector<int32_t>& tensors) {
    for (const int32_t tensor : tensors)
      if (tensor >= 0) bricks[static_cast<size_t>(tensor)] = 0;
  };
  make_linear(subgraph.inputs);
  make_linear(subgraph.outputs);
  for (const Operator& op : subgraph.operators) {
    if (!needs_linear(op.kind)) continue;
    make_linear(op.inputs);
    make_linear(op.outputs);
  }
  return bricks;
}

// Sums of whole numbers, so adding and taking away again is exact.
void add_live_bytes(const Liveness& live, const std::vector<double>& stored, LoweringFacts& facts) {
  std::vector<double> change(facts.rows.size() + 1, 0.0);
  const auto rows = static_cast<int32_t>(facts.rows.size());
  for (const LiveRange& range : live.ranges) {
    const double bytes = stored[static_cast<size_t>(range.tensor)];
    change[static_cast<size_t>(std::clamp(range.first, 0, rows))] += bytes;
    change[static_cast<size_t>(std::clamp(range.last + 1, 0, rows))] -= bytes;
  }
  double now = 0;
  for (size_t i = 0; i < facts.rows.size(); ++i) {
    now += change[i];
    facts.rows[i].live_bytes = now;
    facts.peak_live_bytes = std::max(facts.peak_live_bytes, now);
  }
}

}  // namespace

std::vector<double> stored_bytes(const Graph& graph, const Target& target) {
  const Subgraph& subgraph = graph.main();
  const std::vector<char> bricks =
      target.is_ethos() ? bricked(subgraph) : std::vector<char>(subgraph.tensors.size(), 0);
  std::vector<double> stored;
  for (size_t i = 0; i < subgraph.tensors.size(); ++i) {
    const Tensor& tensor = subgraph.tensors[i];
    double bytes = static_cast<double>(tensor.byte_size().value_or(0));
    if (bricks[i] != 0) {
      const int64_t channels = tensor.shape.back();
      const int64_t rounded = (channels + kBrickChannels - 1) / kBrickChannels * kBrickChannels;
      bytes = std::round(bytes * static_cast<double>(rounded) / static_cast<double>(channels));
    }
    stored.push_back(bytes);
  }
  return stored;
}

LoweringFacts gather_facts(const Graph& graph, const Lowering& lowering) {
  return gather_facts(graph, lowering, liveness(graph, lowering));
}

LoweringFacts gather_facts(const Graph& graph, const Lowering& lowering, const Liveness& live) {
  EthosBlockMemo memo;
  return gather_facts(graph, lowering, live, row_weight_stats(graph, lowering), memo);
}

LoweringFacts gather_facts(const Graph& graph, const Lowering& lowering, const Liveness& live,
                           std::span<const WeightStats> weight_stats, EthosBlockMemo& memo) {
  LoweringFacts facts;
  const size_t count = lowering.rows.size();
  facts.rows.resize(count);
  if (count == 0) return facts;

  const std::vector<RowCost> costs = row_costs(graph, lowering);
  std::vector<RowCycles> cycles;
  std::vector<EdgeTpuCost> edge_tpu;
  std::vector<double> nanoseconds;
  if (lowering.target.is_ethos()) {
    cycles = ethos_row_cycles(graph, lowering, weight_stats, memo);
  } else if (lowering.target.kind == TargetKind::kEdgeTpuLike) {
    edge_tpu = edge_tpu_row_costs(graph, lowering);
  } else if (lowering.target.kind == TargetKind::kGeneric) {
    nanoseconds = generic_row_units(graph, lowering);
  } else {
    nanoseconds = cpu_row_ns(lowering, costs);
  }
  const Subgraph& subgraph = graph.main();
  const std::vector<double> stored = stored_bytes(graph, lowering.target);
  for (size_t i = 0; i < count; ++i) {
    const Row& row = lowering.rows[i];
    RowFacts& fact = facts.rows[i];
    fact.cost = costs[i];
    if (!cycles.empty()) fact.cycles = cycles[i];
    if (!edge_tpu.empty()) {
      fact.edge_tpu = edge_tpu[i];
      fact.cycles.npu = edge_tpu[i].array_cycles;
      fact.cycles.dram = edge_tpu[i].dram_cycles;
    }
    facts.peak_sram_live_bytes = std::max(facts.peak_sram_live_bytes, fact.cycles.sram_live_bytes);
    if (!nanoseconds.empty()) fact.cpu_ns = nanoseconds[i];
    if (row.weights >= 0) {
      const Tensor& weights = subgraph.tensors[static_cast<size_t>(row.weights)];
      fact.weights = weight_stats[i];
      fact.encoded_weights_bytes =
          fact.weights.encoded_bits_estimate * static_cast<double>(weights.element_count()) / 8.0;
    }
    fact.ifm_stored_bytes = sum_of(stored, row.ifm_tensors);
    fact.ofm_stored_bytes = sum_of(stored, row.ofm_tensors);
    fact.producers = static_cast<int32_t>(row.inputs.size());
    for (const int32_t producer : row.inputs) ++facts.rows[static_cast<size_t>(producer)].consumers;
    fact.starts_partition = i == 0 || lowering.rows[i - 1].placement != row.placement ||
                            lowering.rows[i - 1].partition != row.partition;
  }
  add_live_bytes(live, stored, facts);
  return facts;
}

}  // namespace edgesage
