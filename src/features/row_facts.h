// Everything that is known about the rows of one lowering before a feature is computed from it:
// gathered once, read by the feature tables and the priors.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/analysis/edge_tpu_cost.h"
#include "src/analysis/ethos_block_memo.h"
#include "src/analysis/ethos_cycles.h"
#include "src/analysis/liveness.h"
#include "src/analysis/row_costs.h"
#include "src/analysis/weight_stats.h"
#include "src/graph/graph.h"
#include "src/lower/rows.h"

namespace edgesage {

struct RowFacts {
  RowCost cost;
  WeightStats weights;               // of the row's constant weights; zeros if it has none
  double encoded_weights_bytes = 0;  // estimate of what an NPU compiler stores
  RowCycles cycles;                  // closed-form terms; zeros for CPU targets
  EdgeTpuCost edge_tpu;              // closed-form; zeros for other targets
  double cpu_ns = 0;  // closed-form; 0 for NPU targets; of a generic target in its arbitrary unit
  // Activations alive while the row runs, as stored on the target (Ethos-U: between operators that
  // can, channels rounded up to bricks of 16).
  double live_bytes = 0;
  double ifm_stored_bytes = 0;
  double ofm_stored_bytes = 0;
  int32_t producers = 0;
  int32_t consumers = 0;
  bool starts_partition = false;  // the row before it (in order) runs somewhere else
};

struct LoweringFacts {
  std::vector<RowFacts> rows;
  double peak_live_bytes = 0;
  double peak_sram_live_bytes = 0;  // of an Ethos-U, as its compiler places maps
};

// Cost: linear in rows, edges and tensors, plus a bounded sample of each weight tensor.
[[nodiscard]] LoweringFacts gather_facts(const Graph& graph, const Lowering& lowering);
// The same for a caller who has liveness(graph, lowering).
[[nodiscard]] LoweringFacts gather_facts(const Graph& graph, const Lowering& lowering,
                                         const Liveness& live);

// And who has the statistics of each row's weights (row_weight_stats, or better), and asks of many
// networks with one memo.
[[nodiscard]] LoweringFacts gather_facts(const Graph& graph, const Lowering& lowering,
                                         const Liveness& live, std::span<const WeightStats> weights,
                                         EthosBlockMemo& memo);

// Bytes of each tensor of the main subgraph as the target stores it; 0 where the size is not known.
[[nodiscard]] std::vector<double> stored_bytes(const Graph& graph, const Target& target);

}  // namespace edgesage
