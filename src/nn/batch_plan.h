// How an epoch is cut into mini-batches.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/nn/graph_source.h"

namespace edgesage::nn {

// A mini-batch: places [first, last) in the order of the epoch.
struct BatchRange {
  size_t first = 0;
  size_t last = 0;
  bool operator==(const BatchRange&) const = default;
};

// Cuts `order`, from its beginning: `batch_graphs` graphs each or, where batch_nodes is not 0, as
// many as have no more than batch_nodes nodes together. A graph that is larger is a batch of its
// own. No batch is empty. `plan` is overwritten.
void plan_batches(const GraphSource& source, std::span<const int32_t> order, int32_t batch_graphs,
                  int64_t batch_nodes, std::vector<BatchRange>& plan);

}  // namespace edgesage::nn
