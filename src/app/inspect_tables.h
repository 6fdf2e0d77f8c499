// Parts of an inspection that follow from the graph alone; used by inspect.cc.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "edgesage/inspect.h"
#include "src/graph/graph.h"

namespace edgesage::app {

// `index` may be kNoTensor.
[[nodiscard]] InspectedTensor inspect_tensor(const Subgraph& subgraph, int32_t index);

// Everything of the operator but what needs costs or a target.
[[nodiscard]] InspectedOperator inspect_operator(const Graph& graph, int32_t subgraph,
                                                 int32_t index);

[[nodiscard]] InspectedSubgraph inspect_subgraph(const Subgraph& subgraph);

// By code and custom code, most frequent first.
[[nodiscard]] std::vector<OperatorCount> count_operators(const Graph& graph);

[[nodiscard]] std::map<std::string, TypeCount> count_types(const Graph& graph);
[[nodiscard]] QuantizationCount count_quantization(const Graph& graph);

// The type of the operands with most elements among the weights, or among the activations where
// there are none; "mixed" where none has two thirds.
[[nodiscard]] std::string dominant_type(const Graph& graph);

// What a reader of the figures should know: unknown and custom operators, results that nothing
// reads, missing shapes, tensors without a fixed size. What --strict refuses goes to `unsupported`
// too, with what the reader found (Graph::unsupported).
void collect_warnings(const Graph& graph, std::vector<std::string>& warnings,
                      std::vector<std::string>& unsupported);

}  // namespace edgesage::app
