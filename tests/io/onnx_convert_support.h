// ONNX bytes to a Graph, without a file.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
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

// Converted and valid, or else a failed test.
[[nodiscard]] Graph read(const OnnxGraph& graph, int64_t opset = 17);

// A graph that reads an image x, and weights 0, 1, 2, ...
[[nodiscard]] OnnxGraph image(const OnnxDims& dims = {1, 3, 8, 8});
[[nodiscard]] OnnxTensor weights(std::string_view name, const std::vector<int64_t>& dims);

// "CONV_2D RELU 1,8,8,4 | SOFTMAX 1,4": of the main subgraph each operator, its fused activation
// and the shape of its first output; custom operators by their names.
[[nodiscard]] std::string summary(const Graph& graph);

}  // namespace edgesage::test
