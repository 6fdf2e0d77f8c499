// What ONNX nodes become: order of dimensions, fusion, odd shapes.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "src/analysis/row_costs.h"
#include "src/graph/shape_inference.h"
#include "src/graph/validate.h"
#include "tests/io/onnx_convert_support.h"

namespace edgesage {
namespace {

using onnx::ElementType;
using test::attr;
using test::image;
using test::onnx_floats;
using test::onnx_int32s;
using test::onnx_int64s;
using test::OnnxGraph;
using test::OnnxModel;
using test::read;
using test::summary;
using test::weights;

constexpr ElementType kFloat = ElementType::kFloat;

std::vector<float> floats_of(const Graph& graph, int32_t tensor) {
  const auto bytes = graph.constant(graph.main().tensors[static_cast<size_t>(tensor)]);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::copy_n(reinterpret_cast<const float*>(bytes.data()), values.size(), values.data());
  return values;
}

TEST(OnnxConvert, ImagesAreChannelsLastAndActivationsFused) {
  const Graph graph = read(image()
                               .initializer(weights("w", {4, 3, 3, 3}))
                               .node("Conv", {"x", "w"}, {"c"}, {attr("pads", {1, 1, 1, 1})})
                               .node("Relu", {"c"}, {"y"})
                               .output("y", kFloat, {{1, 4, 8, 8}}));
  EXPECT_EQ(summary(graph), "CONV_2D RELU 1,8,8,4");
  EXPECT_EQ(graph.main().tensors[0].shape, (Shape{1, 8, 8, 3}));
  const Operator& conv = graph.main().operators[0];
  EXPECT_EQ(conv.attr_int("padding", -1), 0);
  const Tensor& filter = graph.main().tensors[static_cast<size_t>(conv.inputs[1])];
  EXPECT_EQ(filter.shape, (Shape{4, 3, 3, 3}));
  // OIHW numbers as OHWI: the second element is the second channel's first.
  const auto values = floats_of(graph, conv.inputs[1]);
  EXPECT_EQ(values[1], 9);
  EXPECT_EQ(values[3], 1);
  EXPECT_EQ(graph_totals(graph).macs, 8 * 8 * 4 * 27);
}

TEST(OnnxConvert, DepthwiseFiltersAreOneByHeightByWidthByChannels) {
  const Graph graph =
      read(image()
               .initializer(weights("w", {6, 1, 3, 3}))
               .node("Conv", {"x", "w"}, {"y"},
                     {attr("group", 3), attr("strides", {2, 2}), attr("pads", {1, 1, 1, 1})})
               .output("y", kFloat, {{1, 6, 4, 4}}));
  // Stride 2 with a pad before is not SAME of an even side: PAD and VALID.
  EXPECT_EQ(summary(graph), "PAD 1,9,9,3 | DEPTHWISE_CONV_2D 1,4,4,6");
  const Operator& conv = graph.main().operators[1];
  EXPECT_EQ(graph.main().tensors[static_cast<size_t>(conv.inputs[1])].shape, (Shape{1, 3, 3, 6}));
  EXPECT_EQ(conv.attr_int("depth_multiplier", 0), 2);
}

TEST(OnnxConvert, SamePaddingIsSameHoweverItIsWritten) {
  for (const auto& pads : {test::attr("pads", {0, 0, 1, 1}), attr("auto_pad", "SAME_UPPER")}) {
    const Graph graph = read(image()
                                 .initializer(weights("w", {4, 3, 3, 3}))
                                 .node("Conv", {"x", "w"}, {"y"}, {attr("strides", {2, 2}), pads})
                                 .output("y", kFloat, {{1, 4, 4, 4}}));
    EXPECT_EQ(summary(graph), "CONV_2D 1,4,4,4");
    EXPECT_EQ(graph.main().operators[0].attr_int("padding", -1), 0);
  }
}

// A file whose input is NHWC and is transposed first, as converters from TensorFlow write it.
OnnxGraph channels_last(const test::OnnxDims& input) {
  OnnxGraph graph;
  graph.input("x", kFloat, input)
      .initializer(weights("w", {4, 3, 1, 1}))
      .node("Transpose", {"x"}, {"n"}, {attr("perm", {0, 3, 1, 2})})
      .node("Conv", {"n", "w"}, {"c"})
      .node("Transpose", {"c"}, {"y"}, {attr("perm", {0, 2, 3, 1})})
      .output("y", kFloat, std::nullopt);
  return graph;
}

TEST(OnnxConvert, TransposesAroundAnNhwcNetworkVanish) {
  EXPECT_EQ(summary(read(channels_last({1, 8, 8, 3}))), "CONV_2D 1,8,8,4");
}

TEST(OnnxConvert, T31AShapeInTheWrongOrderIsAClashNotZeroMacs) {
  const auto graph = test::read_onnx_graph(OnnxModel(channels_last({1, "h", "w", "c"})),
                                           {.inputs = {{"x", {1, 3, 8, 8}}}});
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().code, ErrorCode::kBadModel);
  EXPECT_NE(graph.error().message.find("8 channels"), std::string::npos)
      << graph.error().to_string();
}

TEST(OnnxConvert, AFlattenedImageMovesTheColumnsOfTheMatrixBehindIt) {
  const Graph graph = read(image({1, 2, 2, 2})
                               .initializer(weights("k", {2, 2, 1, 1}))
                               .initializer(weights("w", {3, 8}))
                               .initializer(weights("b", {3}))
                               .node("Conv", {"x", "k"}, {"c"})
                               .node("Flatten", {"c"}, {"f"})
                               .node("Gemm", {"f", "w", "b"}, {"y"}, {attr("transB", 1)})
                               .output("y", kFloat, {{1, 3}}));
  EXPECT_EQ(summary(graph), "CONV_2D 1,2,2,2 | RESHAPE 1,8 | FULLY_CONNECTED 1,3");
  // Column h * 4 + w * 2 + c of ours is column c * 4 + h * 2 + w of the file's.
  const auto values = floats_of(graph, graph.main().operators[2].inputs[1]);
  EXPECT_EQ(std::vector<float>(values.begin(), values.begin() + 8),
            (std::vector<float>{0, 4, 1, 5, 2, 6, 3, 7}));
}

TEST(OnnxConvert, AReshapeThatMixesChannelsAndPixelsIsTransposedFirst) {
  const Graph graph = read(image({1, 4, 2, 2})
                               .initializer(weights("k", {4, 4, 1, 1}))
                               .initializer(onnx_int64s("s", {2}, {2, 8}))
                               .node("Conv", {"x", "k"}, {"c"})
                               .node("Reshape", {"c", "s"}, {"r"})
                               .node("Softmax", {"r"}, {"y"})
                               .output("y", kFloat, {{2, 8}}));
  EXPECT_NE(summary(graph).find("TRANSPOSE"), std::string::npos) << summary(graph);
}

TEST(OnnxConvert, ShufflingChannelsIsReshapeTransposeReshape) {
  const Graph graph = read(image({1, 4, 6, 6})
                               .initializer(weights("k", {4, 4, 1, 1}))
                               .initializer(onnx_int64s("a", {5}, {1, 2, 2, 6, 6}))
                               .initializer(onnx_int64s("b", {4}, {1, 4, 6, 6}))
                               .node("Conv", {"x", "k"}, {"c"})
                               .node("Reshape", {"c", "a"}, {"r"})
                               .node("Transpose", {"r"}, {"t"}, {attr("perm", {0, 2, 1, 3, 4})})
                               .node("Reshape", {"t", "b"}, {"s"})
                               .node("Conv", {"s", "k"}, {"y"})
                               .output("y", kFloat, {{1, 4, 6, 6}}));
  EXPECT_EQ(summary(graph),
            "CONV_2D 1,6,6,4 | RESHAPE 1,6,6,2,2 | TRANSPOSE 1,6,6,2,2 | RESHAPE 1,6,6,4 | CONV_2D "
            "1,6,6,4");
  // Weights used twice count once, their products twice.
  EXPECT_EQ(graph_totals(graph).weights_bytes - 4 * (5 + 4 + 5), 64);
  EXPECT_EQ(graph_totals(graph).macs, 2 * 36 * 16);
}

TEST(OnnxConvert, BatchNormalisationIsFoldedIntoTheConvolutionBeforeIt) {
  OnnxGraph net = image();
  net.initializer(weights("w", {4, 3, 1, 1}));
  for (const char* name : {"s", "b", "m", "v"}) net.initializer(weights(name, {4}));
  net.node("Conv", {"x", "w"}, {"c"})
      .node("BatchNormalization", {"c", "s", "b", "m", "v"}, {"n"})
      .node("Relu", {"n"}, {"y"})
      .output("y", kFloat, {{1, 4, 8, 8}});
  const Graph graph = read(net);
  EXPECT_EQ(summary(graph), "CONV_2D RELU 1,8,8,4");
  EXPECT_EQ(graph_totals(graph).parameters, 16);
}

TEST(OnnxConvert, ABatchNormalisationAloneIsMulAndAdd) {
  OnnxGraph net = image();
  for (const char* name : {"s", "b", "m", "v"}) net.initializer(weights(name, {3}));
  net.node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"n"})
      .node("Clip", {"n", "lo", "hi"}, {"y"})
      .initializer(onnx_floats("lo", {}, {0}))
      .initializer(onnx_floats("hi", {}, {6}))
      .output("y", kFloat, {{1, 3, 8, 8}});
  EXPECT_EQ(summary(read(net)), "MUL 1,8,8,3 | ADD RELU6 1,8,8,3");
}

TEST(OnnxConvert, O19OneAndThreeDimensionsAndMore) {
  const Graph row = read(image({1, 3, 20})
                             .initializer(weights("w", {4, 3, 5}))
                             .node("Conv", {"x", "w"}, {"c"})
                             .node("Relu", {"c"}, {"y"})
                             .output("y", kFloat, {{1, 4, 16}}));
  EXPECT_EQ(summary(row), "CONV_2D RELU 1,1,16,4");
  EXPECT_EQ(graph_totals(row).macs, 16 * 4 * 15);
  const Graph volume = read(image({1, 3, 6, 6, 6})
                                .initializer(weights("w", {4, 3, 3, 3, 3}))
                                .node("Conv", {"x", "w"}, {"y"})
                                .output("y", kFloat, {{1, 4, 4, 4, 4}}));
  EXPECT_EQ(summary(volume), "CONV_3D 1,4,4,4,4");
  EXPECT_EQ(graph_totals(volume).macs, 64 * 4 * 81);
  const Graph many =
      read(image({1, 2, 1, 3, 2, 1, 2, 2})
               .node("Transpose", {"x"}, {"t"}, {attr("perm", {7, 6, 5, 4, 3, 2, 1, 0})})
               .node("Relu", {"t"}, {"y"})
               .output("y", kFloat, {{2, 2, 1, 2, 3, 1, 2, 1}}));
  EXPECT_EQ(many.main().tensors[static_cast<size_t>(many.main().outputs[0])].shape,
            (Shape{2, 2, 1, 2, 3, 1, 2, 1}));
}

TEST(OnnxConvert, AttentionMultipliesMatricesThatLieTransposed) {
  OnnxGraph net;
  net.input("q", kFloat, {{1, 4, 10, 8}})
      .input("k", kFloat, {{1, 4, 10, 8}})
      .node("Transpose", {"k"}, {"t"}, {attr("perm", {0, 1, 3, 2})})
      .node("MatMul", {"q", "t"}, {"s"})
      .node("Softmax", {"s"}, {"p"}, {attr("axis", -1)})
      .node("MatMul", {"p", "k"}, {"y"})
      .output("y", kFloat, {{1, 4, 10, 8}});
  const Graph graph = read(net);
  EXPECT_EQ(summary(graph), "BATCH_MATMUL 1,4,10,10 | SOFTMAX 1,4,10,10 | BATCH_MATMUL 1,4,10,8");
  EXPECT_EQ(graph.main().operators[0].attr_int("adj_y", 0), 1);
  EXPECT_EQ(graph_totals(graph).macs, 2 * 4 * 10 * 10 * 8);
}

TEST(OnnxConvert, AnAdditionBehindAMatrixIsItsBias) {
  OnnxGraph net;
  net.input("x", kFloat, {{1, 10, 16}})
      .initializer(weights("w", {16, 8}))
      .initializer(weights("b", {8}))
      .node("MatMul", {"x", "w"}, {"m"})
      .node("Add", {"b", "m"}, {"y"})
      .output("y", kFloat, {{1, 10, 8}});
  const Graph graph = read(net);
  EXPECT_EQ(summary(graph), "FULLY_CONNECTED 1,10,8");
  EXPECT_NE(graph.main().operators[0].inputs[2], kNoTensor);
  EXPECT_EQ(graph_totals(graph).parameters, 16 * 8 + 8);
}

TEST(OnnxConvert, RecurrentLayersAreOneOperatorWithAllTheirProducts) {
  for (const auto& [op, gates] : {std::pair{"LSTM", 4}, std::pair{"GRU", 3}, std::pair{"RNN", 1}}) {
    OnnxGraph net;
    net.input("x", kFloat, {{7, 2, 5}})
        .initializer(weights("w", {1, gates * 6, 5}))
        .initializer(weights("r", {1, gates * 6, 6}))
        .node(op, {"x", "w", "r", "", ""}, {"y"}, {attr("hidden_size", 6)})
        .output("y", kFloat, {{7, 1, 2, 6}});
    const Graph graph = read(net);
    EXPECT_EQ(graph_totals(graph).macs, 7 * 2 * gates * 6 * (5 + 6)) << op;
    const size_t real =
        static_cast<size_t>(std::ranges::count_if(graph.main().operators, [](const Operator& made) {
          return made.kind == OpKind::kUnidirectionalSequenceLstm ||
                 made.kind == OpKind::kUnidirectionalSequenceRnn;
        }));
    EXPECT_EQ(real, 1U) << op;
  }
}

TEST(OnnxConvert, EinsumIsAProductOfMatrices) {
  OnnxGraph net;
  net.input("a", kFloat, {{2, 10, 4, 8}})
      .input("b", kFloat, {{2, 12, 4, 8}})
      .node("Einsum", {"a", "b"}, {"y"}, {attr("equation", "bqhd,bkhd->bhqk")})
      .output("y", kFloat, {{2, 4, 10, 12}});
  const Graph graph = read(net);
  EXPECT_NE(summary(graph).find("BATCH_MATMUL 2,4,10,12"), std::string::npos) << summary(graph);
  EXPECT_EQ(graph_totals(graph).macs, 2 * 4 * 10 * 12 * 8);
}

// Before operator set 13 softmax takes all dimensions from its axis on for one.
TEST(OnnxConvert, OldSoftmaxFlattensItsInput) {
  const auto net = [] {
    return image({1, 10, 1, 1})
        .node("Softmax", {"x"}, {"y"}, {attr("axis", 1)})
        .output("y", kFloat, {{1, 10, 1, 1}});
  };
  EXPECT_NE(summary(read(net(), 11)).find("SOFTMAX"), std::string::npos);
  const Graph wide = read(image({2, 3, 4, 4})
                              .node("Softmax", {"x"}, {"y"}, {attr("axis", 1)})
                              .output("y", kFloat, {{2, 3, 4, 4}}),
                          11);
  EXPECT_NE(summary(wide).find("SOFTMAX 2,48"), std::string::npos) << summary(wide);
}

TEST(OnnxConvert, O01OpenDimensionsAreNamedWithTheRemedy) {
  OnnxGraph net = image({"batch", 3, "height", 8});
  net.node("Relu", {"x"}, {"y"}).output("y", kFloat, std::nullopt);
  const auto open = test::read_onnx_graph(OnnxModel(net));
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(open.error().message.find("height"), std::string::npos);
  EXPECT_NE(open.error().message.find("-f height:"), std::string::npos) << open.error().message;
  const auto given = test::read_onnx_graph(OnnxModel(net), {.dimensions = {{"height", 4}}});
  ASSERT_TRUE(given) << given.error().to_string();
  EXPECT_EQ(given->main().tensors[0].shape, (Shape{1, 3, 4, 8}));
  EXPECT_FALSE(given->warnings.empty()) << "that the batch is taken for 1 is said";
}

TEST(OnnxConvert, UnknownOperatorsAreCustomAndKeepTheirShapes) {
  OnnxGraph net;
  net.input("x", kFloat, {{1, 3, 8, 8}})
      .node("Magic", {"x"}, {"m"}, {}, {.name = "odd", .domain = "example.org"})
      .value_info("m", kFloat, {{1, 3, 8, 8}})
      .node("Relu", {"m"}, {"y"})
      .output("y", kFloat, {{1, 3, 8, 8}});
  const Result<Graph> graph =
      test::read_onnx_graph(OnnxModel(net).opset("", 17).opset("example.org", 1));
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(summary(*graph), "Magic 1,3,8,8 | RELU 1,3,8,8");
  EXPECT_EQ(graph->main().operators[0].kind, OpKind::kCustom);
}

}  // namespace
}  // namespace edgesage
