// Random graphs as a predictor reads them: branches, joins, free operators, rows without a cost.
#pragma once

#include "src/base/rng.h"
#include "src/features/graph_tensors.h"

namespace edgesage::test {

// `nodes` rows of about as many operators; two quantities. Every row reads up to three earlier
// ones, mostly near ones. Features are of the size that extract_features gives.
[[nodiscard]] GraphTensors random_tensors(int32_t nodes, Rng& rng);

// Another row's worth of features and priors at `node`.
void redraw_node(GraphTensors& tensors, int32_t node, Rng& rng);

// The edges in both directions from the lists of producers.
void set_edges(GraphTensors& tensors, const std::vector<std::vector<int32_t>>& producers);
[[nodiscard]] std::vector<std::vector<int32_t>> producer_lists(const GraphTensors& tensors);

}  // namespace edgesage::test
