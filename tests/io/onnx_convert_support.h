// ONNX bytes to a Graph, without a file.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "edgesage/result.h"
#include "src/graph/graph.h"
#include "src/io/onnx/shapes.h"
#include "tests/io/onnx_test_support.h"

namespace edgesage::test {

[[nodiscard]] Result<Graph> read_onnx_graph(const std::vector<std::byte>& bytes,
                                            const onnx::ShapeOptions& options = {});
[[nodiscard]] Result<Graph> read_onnx_graph(const OnnxModel& model,
                                            const onnx::ShapeOptions& options = {});

// "CONV_2D RELU 1,8,8,4 | SOFTMAX 1,4": of the main subgraph each operator, its fused activation
// and the shape of its first output; custom operators by their names.
[[nodiscard]] std::string summary(const Graph& graph);

}  // namespace edgesage::test
