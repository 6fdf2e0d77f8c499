// `edgesage inspect`: the public functions are in edgesage/inspect.h.
#pragma once

#include <string>
#include <vector>

#include "edgesage/answer.h"
#include "edgesage/inspect.h"
#include "src/graph/graph.h"
#include "src/io/model_file.h"

namespace edgesage::app {

struct InspectOptions {
  std::vector<std::string> models;    // paths; "-" is standard input
  std::string target;                 // empty: no target
  ReadOptions read;                   // shapes of inputs
  bool strict = false;                // kUnsupported for models with something unsupported
  int32_t abi = 32;                   // of TensorFlow Lite Micro: 32 or 64
  std::string kernels = "reference";  // of it
};

// One answer a model, in order.
[[nodiscard]] Answers<Inspection> inspect(const InspectOptions& options);

// Describes a graph; `target`, `abi` and `kernels` as in inspect_file. kInvalidArgument for unknown
// ones.
[[nodiscard]] Result<Inspection> inspect_graph(const Graph& graph, const std::string& target,
                                               int32_t abi = 32,
                                               const std::string& kernels = "reference");

}  // namespace edgesage::app
