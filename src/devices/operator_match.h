// Finding the operators that a device timed in the Graph of the same file.
#pragma once

#include "src/base/json.h"
#include "src/graph/graph.h"
#include "src/store/measurement.h"

namespace edgesage {

// Where the entries of `answer`["operators"] name `outputs`, rewrites `measurement`.operators,
// which were read from them, so that `index` counts operators of the Graph's main subgraph: a file
// that is converted when it is read (ONNX) has other ones than its runtime executes. An entry goes
// to the operator that makes the first of its `outputs` that the Graph has; costs of several add
// up, and placement and reason are those of the costliest. What has a cost and no counterpart is
// numbered behind the operators, so that the sum stays what the device measured. Without `outputs`
// nothing changes. Linear in the operators and the names.
void match_operators(const Json& answer, const Graph& graph, Measurement& measurement);

}  // namespace edgesage
