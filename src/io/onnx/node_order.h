// Sorting the nodes of a graph by what they read.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace edgesage::onnx {

struct NodeOrder {
  std::vector<int32_t> order;  // of all nodes, each behind what it reads; where there is no cycle
  std::vector<int32_t> cycle;  // nodes that need each other, the first in the file first
};

// `edges`: (maker, reader), any number of times. Of the nodes that could be next, the one that is
// first in the file is. n log n.
[[nodiscard]] NodeOrder order_nodes(int32_t nodes,
                                    const std::vector<std::pair<int32_t, int32_t>>& edges);

}  // namespace edgesage::onnx
