// A Graph and a target to GraphTensors.
#pragma once

#include <span>
#include <string>

#include "src/analysis/liveness.h"
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
// And who has the facts: gather_facts(graph, lowering, ...).
[[nodiscard]] GraphTensors extract_features(const Lowering& lowering, const LoweringFacts& facts,
                                            std::span<const Quantity> quantities);

}  // namespace edgesage
