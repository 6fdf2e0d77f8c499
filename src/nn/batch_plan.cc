#include "src/nn/batch_plan.h"

#include <algorithm>

namespace edgesage::nn {

void plan_batches(const GraphSource& source, std::span<const int32_t> order, int32_t batch_graphs,
                  int64_t batch_nodes, std::vector<BatchRange>& plan) {
  plan.clear();
  const auto most = static_cast<size_t>(batch_graphs);
  for (size_t first = 0; first < order.size(); first = plan.back().last) {
    size_t last = first;
    if (batch_nodes == 0) {
      last = std::min(order.size(), first + most);
    } else {
      int64_t nodes = source.nodes_of(order[last++]);
      while (last < order.size() && nodes + source.nodes_of(order[last]) <= batch_nodes)
        nodes += source.nodes_of(order[last++]);
    }
    plan.push_back({first, last});
  }
}

}  // namespace edgesage::nn
