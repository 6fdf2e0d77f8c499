// A Graph and a target to GraphTensors.
#pragma once

#include <span>
#include <string>

#include "src/analysis/ethos_block_memo.h"
#include "src/analysis/liveness.h"
#include "src/features/feature_memo.h"
#include "src/features/graph_tensors.h"
#include "src/features/priors.h"
#include "src/graph/graph.h"
#include "src/lower/rows.h"

namespace edgesage {

// Nodes are the rows of the lowering, in order. Cost: linear in rows, edges and tensors, plus a
// bounded sample of each weight tensor. Safe to call from several threads.
[[nodiscard]] GraphTensors extract_features(const Graph& graph, const Lowering& lowering,
                                            std::span<const Quantity> quantities);
// The same for a caller who has liveness(graph, lowering).
[[nodiscard]] GraphTensors extract_features(const Graph& graph, const Lowering& lowering,
                                            const Liveness& live,
                                            std::span<const Quantity> quantities);
// And who asks of many networks with one memo.
[[nodiscard]] GraphTensors extract_features(const Graph& graph, const Lowering& lowering,
                                            const Liveness& live,
                                            std::span<const Quantity> quantities,
                                            EthosBlockMemo& memo);
// And who has the facts (gather_facts), and may ask of many networks that share layers: the same
// to the bit with a memo and without.
[[nodiscard]] GraphTensors extract_features(const Lowering& lowering, const LoweringFacts& facts,
                                            std::span<const Quantity> quantities,
                                            FeatureMemo* memo = nullptr);

}  // namespace edgesage
