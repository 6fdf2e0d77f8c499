#include "src/learn/channel_multiple.h"

#include <algorithm>

namespace edgesage {

bool has_channel_multiple(const Graph& graph, int64_t multiple) {
  if (graph.subgraphs.empty()) return true;
  const Subgraph& subgraph = graph.main();
  return std::all_of(subgraph.operators.begin(), subgraph.operators.end(), [&](const Operator& op) {
    if (op.kind != OpKind::kConv2D && op.kind != OpKind::kDepthwiseConv2D) return true;
    return std::all_of(op.outputs.begin(), op.outputs.end(), [&](int32_t index) {
      const auto& outputs = subgraph.outputs;
      if (index < 0 || std::find(outputs.begin(), outputs.end(), index) != outputs.end())
        return true;
      const Tensor& tensor = subgraph.tensors[static_cast<size_t>(index)];
      return tensor.shape.empty() || tensor.shape.back() % multiple == 0;
    });
  });
}

}  // namespace edgesage
