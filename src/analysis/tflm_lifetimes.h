// When each tensor of a model must exist under TensorFlow Lite Micro, all subgraphs in one row of
// steps.
//
// A step is an operator; entering a subgraph that control flow calls is a step too. A tensor lives
// from the operator that writes it (inputs: from the start of their subgraph) to the last that
// reads it (outputs: to the end of their subgraph). A subgraph that is called twice is walked
// twice, and its tensors live from the first to the last.
#pragma once

#include <cstdint>
#include <vector>

#include "edgesage/result.h"
#include "src/graph/graph.h"

namespace edgesage {

struct StepRange {
  int32_t first = -1;  // -1: never
  int32_t last = -1;
};

struct TflmLifetimes {
  std::vector<std::vector<StepRange>> tensors;    // of each subgraph
  std::vector<std::vector<StepRange>> operators;  // of each subgraph, calls included
  int32_t steps = 0;
};

// kUnsupported where control flow calls so much, or itself, that walking it has no end in sight
// (two million steps). Cost: linear in steps and operands.
[[nodiscard]] Result<TflmLifetimes> tflm_lifetimes(const Graph& graph);

}  // namespace edgesage
