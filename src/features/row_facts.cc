#include "src/features/row_facts.h"

#include <algorithm>

#include "src/analysis/cpu_nanoseconds.h"
#include "src/analysis/liveness.h"

namespace edgesage {
namespace {

constexpr int64_t kBrickChannels = 16;  // NHCWB16, the feature-map layout between Ethos-U operators

bool is_npu(const Target& target) { return target.kind != TargetKind::kLitertXnnpack; }

double sum_stored_bytes(const Subgraph& subgraph, const std::vector<int32_t>& tensors,
                        const Target& target) {
  double bytes = 0;
  for (const int32_t tensor : tensors)
    if (tensor >= 0) bytes += stored_bytes(subgraph.tensors[static_cast<size_t>(tensor)], target);
  return bytes;
}

void add_live_bytes(const Graph& graph, const Lowering& lowering, LoweringFacts& facts) {
  const Liveness live = liveness(graph, lowering);
  facts.peak_activation_bytes = live.peak_bytes;
  for (const LiveRange& range : live.ranges) {
    const Tensor& tensor = graph.main().tensors[static_cast<size_t>(range.tensor)];
    const double bytes = stored_bytes(tensor, lowering.target);
    const int32_t last = std::min(range.last, static_cast<int32_t>(facts.rows.size()) - 1);
    for (int32_t row = std::max(range.first, 0); row <= last; ++row)
      facts.rows[static_cast<size_t>(row)].live_bytes += bytes;
  }
  for (const RowFacts& row : facts.rows)
    facts.peak_live_bytes = std::max(facts.peak_live_bytes, row.live_bytes);
}

}  // namespace

double stored_bytes(const Tensor& tensor, const Target& target) {
  const double bytes = static_cast<double>(tensor.byte_size().value_or(0));
  if (!is_npu(target) || tensor.shape.size() < 4 || tensor.shape.back() <= 0) return bytes;
  const int64_t channels = tensor.shape.back();
  const int64_t rounded = (channels + kBrickChannels - 1) / kBrickChannels * kBrickChannels;
  return bytes * static_cast<double>(rounded) / static_cast<double>(channels);
}

LoweringFacts gather_facts(const Graph& graph, const Lowering& lowering) {
  LoweringFacts facts;
  const size_t count = lowering.rows.size();
  facts.rows.resize(count);
  if (count == 0) return facts;

  const std::vector<RowCost> costs = row_costs(graph, lowering);
  std::vector<RowCycles> cycles;
  std::vector<double> nanoseconds;
  if (is_npu(lowering.target)) {
    cycles = ethos_row_cycles(graph, lowering);
  } else {
    nanoseconds = cpu_row_ns(graph, lowering);
  }
  const Subgraph& subgraph = graph.main();
  for (size_t i = 0; i < count; ++i) {
    const Row& row = lowering.rows[i];
    RowFacts& fact = facts.rows[i];
    fact.cost = costs[i];
    if (!cycles.empty()) fact.cycles = cycles[i];
    if (!nanoseconds.empty()) fact.cpu_ns = nanoseconds[i];
    if (row.weights >= 0) {
      const Tensor& weights = subgraph.tensors[static_cast<size_t>(row.weights)];
      fact.weights = weight_stats(graph, weights);
      fact.encoded_weights_bytes =
          fact.weights.encoded_bits_estimate * static_cast<double>(weights.element_count()) / 8.0;
    }
    fact.ifm_stored_bytes = sum_stored_bytes(subgraph, row.ifm_tensors, lowering.target);
    fact.ofm_stored_bytes = sum_stored_bytes(subgraph, row.ofm_tensors, lowering.target);
    fact.producers = static_cast<int32_t>(row.inputs.size());
    for (const int32_t producer : row.inputs) ++facts.rows[static_cast<size_t>(producer)].consumers;
    fact.starts_partition = i == 0 || lowering.rows[i - 1].placement != row.placement ||
                            lowering.rows[i - 1].partition != row.partition;
  }
  add_live_bytes(graph, lowering, facts);
  return facts;
}

}  // namespace edgesage
