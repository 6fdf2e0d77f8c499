#include "tests/io/onnx_convert_support.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "src/graph/op_registry.h"
#include "src/graph/validate.h"
#include "src/io/onnx/convert.h"
#include "src/io/onnx/read.h"

namespace edgesage::test {

Result<Graph> read_onnx_graph(const std::vector<std::byte>& bytes,
                              const onnx::ShapeOptions& options) {
  const auto kept = std::make_shared<const std::vector<std::byte>>(bytes);
  EDGESAGE_ASSIGN_OR_RETURN(onnx::Model read, onnx::read_onnx(*kept, kept, "test"));
  const auto model = std::make_shared<const onnx::Model>(std::move(read));
  EDGESAGE_ASSIGN_OR_RETURN(const onnx::Inferred inferred, onnx::infer_types(*model, options));
  return onnx::graph_of_onnx(model, inferred, "test");
}

Result<Graph> read_onnx_graph(const OnnxModel& model, const onnx::ShapeOptions& options) {
  return read_onnx_graph(model.bytes(), options);
}

std::string summary(const Graph& graph) {
  std::string text;
  constexpr const char* kActivations[] = {"", " RELU", " RELU_N1_TO_1", " RELU6", " TANH"};
  for (const Operator& op : graph.main().operators) {
    if (!text.empty()) text += " | ";
    text += op.kind == OpKind::kCustom ? op.custom_code : std::string(op_name(op.kind));
    const int64_t fused = op.attr_int("fused_activation_function", 0);
    if (fused > 0 && fused < 5) text += kActivations[fused];
    if (op.outputs.empty() || op.outputs[0] < 0) continue;
    text += fmt::format(
        " {}", fmt::join(graph.main().tensors[static_cast<size_t>(op.outputs[0])].shape, ","));
  }
  return text;
}

OnnxTensor weights(std::string_view name, const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return onnx_floats(name, dims, values);
}

Graph read(const OnnxGraph& graph, int64_t opset) {
  const Result<Graph> result = read_onnx_graph(OnnxModel(graph).opset("", opset));
  EXPECT_TRUE(result) << result.error().to_string();
  if (!result) return {};
  const Status valid = validate(*result);
  EXPECT_TRUE(valid) << valid.error().to_string();
  return *result;
}

OnnxGraph image(const OnnxDims& dims) {
  OnnxGraph graph;
  graph.input("x", onnx::ElementType::kFloat, dims);
  return graph;
}

}  // namespace edgesage::test
