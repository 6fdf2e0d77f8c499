// Random graphs and configurations for the tests of the network.
#pragma once

#include <cstdint>

#include "src/base/rng.h"
#include "src/nn/batch.h"
#include "src/nn/config.h"

namespace edgesage::nn {

// Small odd widths and three quantities, one of each read-out; the first has node labels.
ModelConfig small_config();

struct RandomBatchOptions {
  int32_t graphs = 3;
  int32_t max_nodes = 9;  // of a graph
  int32_t min_nodes = 1;
  double free_share = 0.1;   // nodes whose priors are minus infinity
  double label_share = 0.8;  // of totals and of operators; the rest is NaN
};

// Directed acyclic graphs whose nodes read earlier ones; operators of one or two nodes, not in the
// order of the nodes, some without a node. Labels are near the priors.
Batch random_batch(const ModelConfig& config, const RandomBatchOptions& options, Rng& rng);

}  // namespace edgesage::nn
