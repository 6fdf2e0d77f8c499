#include "src/app/inspect.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "src/graph/builder.h"
#include "src/graph/input_shapes.h"

namespace edgesage::app {
namespace {

Graph small_network() {
  GraphBuilder net({.name = "tiny", .fill = {}});
  auto x = net.input("image", {1, 8, 8, 3});
  x = net.conv_2d(x, {.channels = 4, .kernel_h = 3, .kernel_w = 3});
  auto graph = net.finish(std::vector{net.relu(x)});
  EXPECT_TRUE(graph.has_value());
  return std::move(*graph);
}

Inspection inspected(const Graph& graph, const std::string& target = {}) {
  auto inspection = inspect_graph(graph, target);
  EXPECT_TRUE(inspection.has_value());
  return inspection ? std::move(*inspection) : Inspection{};
}

bool mentions(const std::vector<std::string>& texts, std::string_view word) {
  return std::ranges::any_of(
      texts, [&](const std::string& text) { return text.find(word) != std::string::npos; });
}

TEST(Inspect, CountsAConvolutionByHand) {
  const Inspection model = inspected(small_network());
  EXPECT_EQ(model.macs, 8 * 8 * 4 * 3 * 3 * 3);
  EXPECT_EQ(model.parameters, 4 * 3 * 3 * 3 + 4);
  EXPECT_EQ(model.weights_bytes, 4 * 3 * 3 * 3 + 4 * 4);
  EXPECT_EQ(model.dtype, "int8");
  ASSERT_EQ(model.operators.size(), 2u);
  EXPECT_EQ(model.operators[0].live_bytes, 8 * 8 * 3 + 8 * 8 * 4);
  EXPECT_EQ(model.memory.activations_bytes, 8 * 8 * 4 * 2);
  EXPECT_EQ(model.memory.peak_operator, 1);
  EXPECT_TRUE(model.warnings.empty());
}

TEST(Inspect, UnknownOperatorsAddNothingAndAreNamed) {
  Graph graph = small_network();
  graph.main().operators[1].kind = OpKind::kCustom;
  graph.main().operators[1].custom_code = "edgetpu-custom-op";
  const Inspection model = inspected(graph);
  EXPECT_EQ(model.operators[1].macs, std::nullopt);
  EXPECT_EQ(model.macs, model.operators[0].macs);
  EXPECT_TRUE(mentions(model.unsupported, "edgetpu-custom-op"));
  EXPECT_TRUE(mentions(model.warnings, "edgetpu-custom-op"));
}

TEST(Inspect, SharedConstantsCountOnceInBytesAndTwiceInMacs) {
  GraphBuilder net({.name = "twice", .fill = {}});
  auto x = net.input("image", {1, 8, 8, 4});
  x = net.conv_2d(x, {.channels = 4, .kernel_h = 3, .kernel_w = 3});
  x = net.conv_2d(x, {.channels = 4, .kernel_h = 3, .kernel_w = 3});
  auto graph = net.finish(std::vector{x});
  ASSERT_TRUE(graph.has_value());
  const Inspection apart = inspected(*graph);
  auto& operators = graph->main().operators;
  for (size_t input : {size_t{1}, size_t{2}}) {
    auto& tensors = graph->main().tensors;
    tensors[static_cast<size_t>(operators[1].inputs[input])].buffer =
        tensors[static_cast<size_t>(operators[0].inputs[input])].buffer;
  }
  const Inspection shared = inspected(*graph);
  EXPECT_EQ(shared.macs, apart.macs);
  EXPECT_EQ(shared.weights_bytes * 2, apart.weights_bytes);
  EXPECT_EQ(shared.parameters * 2, apart.parameters);
}

TEST(Inspect, WarnsOfOpenShapesStringsAndUnknownTypes) {
  Graph graph = small_network();
  auto& tensors = graph.main().tensors;
  tensors[static_cast<size_t>(graph.main().inputs[0])].shape_signature = {-1, 8, 8, 3};
  warn_of_open_inputs(graph);  // as read_model does
  EXPECT_TRUE(mentions(inspected(graph).warnings, "the size of input image is open"));
  EXPECT_TRUE(inspected(graph).unsupported.empty());

  tensors[static_cast<size_t>(graph.main().outputs[0])].type = DataType::kString;
  const Inspection strings = inspected(graph);
  EXPECT_TRUE(mentions(strings.warnings, "no fixed size"));
  ASSERT_EQ(strings.memory.unknown.size(), 1u);
  EXPECT_EQ(strings.memory.unknown[0].bytes, std::nullopt);

  tensors[static_cast<size_t>(graph.main().outputs[0])].type = DataType::kUnknown;
  EXPECT_TRUE(mentions(inspected(graph).unsupported, "element type"));
}

TEST(Inspect, OptionalOperandsThatAreLeftOutAreNoTensors) {
  Graph graph = small_network();
  graph.main().operators[0].inputs[2] = kNoTensor;
  const Inspection model = inspected(graph);
  EXPECT_EQ(model.operators[0].inputs[2].index, -1);
  EXPECT_EQ(model.parameters, 4 * 3 * 3 * 3);
}

TEST(Inspect, ModelsWithoutOperatorsOrSubgraphsAreAnswered) {
  Graph graph = small_network();
  graph.main().operators.clear();
  Inspection model = inspected(graph, "ethos-u55-256");
  EXPECT_EQ(model.macs, 0);
  EXPECT_TRUE(mentions(model.warnings, "no operators"));

  model = inspected(Graph{});
  EXPECT_TRUE(model.subgraphs.empty());
  EXPECT_TRUE(mentions(model.warnings, "no subgraphs"));
}

TEST(Inspect, PlacesEveryOperatorAndGivesTheRuleForTheCpu) {
  Graph graph = small_network();
  graph.main().operators[1].kind = OpKind::kCustom;
  const Inspection model = inspected(graph, "ethos-u55-128");
  ASSERT_TRUE(model.target.has_value());
  EXPECT_EQ(model.operators[0].placement, "npu");
  EXPECT_EQ(model.operators[1].placement, "cpu");
  EXPECT_FALSE(model.operators[1].placement_reason.empty());
  EXPECT_EQ(inspect_graph(graph, "ethos-u55-129").error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace edgesage::app
