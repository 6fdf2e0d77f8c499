// Graphs of random kinds, wired at random: cycles, repeated writers, constants anywhere.
#pragma once

#include "src/base/rng.h"
#include "src/graph/graph.h"
#include "src/graph/op_registry.h"

namespace edgesage::test {

inline Graph random_graph(Rng& rng) {
  constexpr int kTensors = 20, kConstants = 4, kOperators = 12;
  Graph graph;
  graph.buffers.push_back(make_buffer(std::vector<std::byte>(288, std::byte{1})));
  Subgraph& subgraph = graph.subgraphs.emplace_back();
  for (int i = 0; i < kTensors; ++i) {
    Tensor tensor;
    tensor.shape = {1, 6, 6, 8};
    tensor.type = DataType::kInt8;
    tensor.quantization.scale = {0.5F};
    tensor.quantization.zero_point = {0};
    if (i < kConstants) tensor.buffer = 0;
    subgraph.tensors.push_back(tensor);
  }
  const auto kinds = op_table();
  for (int i = 0; i < kOperators; ++i) {
    Operator op;
    op.kind =
        kinds[static_cast<size_t>(rng.integer(0, static_cast<int64_t>(kinds.size()) - 1))].kind;
    for (int64_t k = rng.integer(1, 4); k > 0; --k)
      op.inputs.push_back(static_cast<int32_t>(rng.integer(-1, kTensors - 1)));
    for (int64_t k = rng.integer(1, 2); k > 0; --k)
      op.outputs.push_back(static_cast<int32_t>(rng.integer(kConstants, kTensors - 1)));
    op.set("padding", rng.integer(0, 1));
    op.set("stride_h", rng.integer(-1, 5));
    op.set("filter_height", rng.integer(-1, 5));
    subgraph.operators.push_back(op);
  }
  subgraph.inputs = {static_cast<int32_t>(rng.integer(kConstants, kTensors - 1))};
  subgraph.outputs = {static_cast<int32_t>(rng.integer(kConstants, kTensors - 1))};
  return graph;
}

}  // namespace edgesage::test
