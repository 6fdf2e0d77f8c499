// A graph that runs another one in a loop.
#pragma once

#include <utility>

#include "src/graph/graph.h"

namespace edgesage {

// WHILE around `body`, a graph of one input and one output of the same shape. The condition is one
// LESS of the loop's state with itself.
inline Graph looped(Graph body) {
  const Tensor state = body.main().tensors[static_cast<size_t>(body.main().inputs[0])];
  Tensor go;
  go.type = DataType::kBool;
  go.shape = {1};
  Subgraph condition;
  condition.tensors = {state, go};
  condition.inputs = {0};
  condition.outputs = {1};
  Operator& less = condition.operators.emplace_back();
  less.kind = OpKind::kLess;
  less.inputs = {0, 0};
  less.outputs = {1};
  Subgraph main;
  main.tensors = {state, state};
  main.inputs = {0};
  main.outputs = {1};
  Operator& loop = main.operators.emplace_back();
  loop.kind = OpKind::kWhile;
  loop.inputs = {0};
  loop.outputs = {1};
  loop.attributes = {{"cond_subgraph_index", int64_t{1}}, {"body_subgraph_index", int64_t{2}}};
  Graph graph = std::move(body);
  graph.subgraphs = {std::move(main), std::move(condition), std::move(graph.subgraphs[0])};
  return graph;
}

}  // namespace edgesage
