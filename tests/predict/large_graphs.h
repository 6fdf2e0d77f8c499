// Graphs of any number of operators, int8, with few and shared weights: what must stay linear.
#pragma once

#include <string_view>
#include <vector>

#include "src/graph/graph.h"

namespace edgesage::test {

enum class LargeGraph {
  kChain,      // convolutions, depthwise convolutions, activations and additions in a row
  kWide,       // half of the operators read the input, one concatenation reads all their results
  kBranches,   // blocks of a fork into four and a join by two additions
  kLongLived,  // half of the results are read in reverse order by the other half
  kSplit,      // one SPLIT into as many parts as there are operators
  kInputs,     // as many graph inputs as operators, concatenated
  kReshapes,   // views of one tensor, each read by an operator of its own
};

inline constexpr LargeGraph kLargeGraphs[] = {
    LargeGraph::kChain, LargeGraph::kWide,   LargeGraph::kBranches, LargeGraph::kLongLived,
    LargeGraph::kSplit, LargeGraph::kInputs, LargeGraph::kReshapes};

[[nodiscard]] std::string_view name_of(LargeGraph shape);

// About `operators` of them.
[[nodiscard]] Graph large_graph(LargeGraph shape, int32_t operators);

}  // namespace edgesage::test
