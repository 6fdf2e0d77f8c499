// What quantised ONNX nodes become, however their file says it.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "src/analysis/row_costs.h"
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

// A convolution in float, by QDQ and by QLinearConv.
OnnxGraph quantised(bool qdq) {
  OnnxGraph net;
  net.input("x", ElementType::kInt8, {{1, 3, 8, 8}})
      .initializer(onnx_int32s("w", ElementType::kInt8, {4, 3, 3, 3}, std::vector<int32_t>(108)))
      .initializer(onnx_floats("xs", {}, {0.5F}))
      .initializer(onnx_int32s("xz", ElementType::kInt8, {}, {3}))
      .initializer(onnx_floats("ws", {4}, {0.1F, 0.2F, 0.3F, 0.4F}))
      .initializer(onnx_int32s("wz", ElementType::kInt8, {4}, {0, 0, 0, 0}))
      .initializer(onnx_floats("ys", {}, {0.25F}))
      .initializer(onnx_int32s("yz", ElementType::kInt8, {}, {-5}))
      .output("y", ElementType::kInt8, {{1, 4, 6, 6}});
  if (!qdq) return net.node("QLinearConv", {"x", "xs", "xz", "w", "ws", "wz", "ys", "yz"}, {"y"});
  return net.node("DequantizeLinear", {"x", "xs", "xz"}, {"xr"})
      .node("DequantizeLinear", {"w", "ws", "wz"}, {"wr"}, {attr("axis", 0)})
      .node("Conv", {"xr", "wr"}, {"c"})
      .node("Relu", {"c"}, {"r"})
      .node("QuantizeLinear", {"r", "ys", "yz"}, {"y"});
}

TEST(OnnxConvert, O10_QdqAndQLinearConvAreOneQuantisedConvolution) {
  for (const bool qdq : {true, false}) {
    const Graph graph = read(quantised(qdq));
    EXPECT_EQ(summary(graph), qdq ? "CONV_2D RELU 1,6,6,4" : "CONV_2D 1,6,6,4");
    const Operator& conv = graph.main().operators[0];
    const auto& tensors = graph.main().tensors;
    const Tensor& in = tensors[static_cast<size_t>(conv.inputs[0])];
    const Tensor& filter = tensors[static_cast<size_t>(conv.inputs[1])];
    const Tensor& out = tensors[static_cast<size_t>(conv.outputs[0])];
    EXPECT_EQ(in.type, DataType::kInt8);
    EXPECT_EQ(in.quantization.scale, std::vector<float>{0.5F});
    EXPECT_EQ(in.quantization.zero_point, std::vector<int64_t>{3});
    EXPECT_EQ(filter.type, DataType::kInt8);
    EXPECT_EQ(filter.quantization.scale.size(), 4U);
    EXPECT_EQ(filter.quantization.axis, 0);
    EXPECT_EQ(out.type, DataType::kInt8);
    EXPECT_EQ(out.quantization.scale, std::vector<float>{0.25F});
    EXPECT_EQ(graph_totals(graph).macs, 36 * 4 * 27);
  }
}

// One DequantizeLinear read by two nodes, and a Transpose between node and QuantizeLinear.
TEST(OnnxConvert, O10_SharedAndMovedQuantisationIsSeenThrough) {
  OnnxGraph net;
  net.input("x", ElementType::kInt8, {{1, 8, 8, 4}})
      .initializer(onnx_floats("s", {}, {0.5F}))
      .initializer(onnx_int32s("z", ElementType::kInt8, {}, {0}))
      .initializer(onnx_int32s("w", ElementType::kInt8, {4, 4, 1, 1}, std::vector<int32_t>(16)))
      .node("DequantizeLinear", {"x", "s", "z"}, {"xr"})
      .node("Transpose", {"xr"}, {"n"}, {attr("perm", {0, 3, 1, 2})})
      .node("DequantizeLinear", {"w", "s", "z"}, {"wr"})
      .node("Conv", {"n", "wr"}, {"c"})
      .node("Transpose", {"c"}, {"t"}, {attr("perm", {0, 2, 3, 1})})
      .node("QuantizeLinear", {"t", "s", "z"}, {"q"})
      .node("DequantizeLinear", {"q", "s", "z"}, {"d"})
      .node("Add", {"d", "xr"}, {"a"})
      .node("QuantizeLinear", {"a", "s", "z"}, {"y"})
      .output("y", ElementType::kInt8, {{1, 8, 8, 4}});
  EXPECT_EQ(summary(read(net)), "CONV_2D 1,8,8,4 | ADD 1,8,8,4");
}

TEST(OnnxConvert, O10_QuantisingOnTheFlyIsOneHybridLayer) {
  OnnxGraph net;
  net.input("x", kFloat, {{2, 16}})
      .initializer(onnx_int32s("w", ElementType::kInt8, {16, 8}, std::vector<int32_t>(128)))
      .initializer(onnx_int32s("wz", ElementType::kInt8, {}, {0}))
      .initializer(onnx_floats("ws", {}, {0.5F}))
      .initializer(weights("b", {8}))
      .node("DynamicQuantizeLinear", {"x"}, {"q", "s", "z"})
      .node("MatMulInteger", {"q", "w", "z", "wz"}, {"i"})
      .node("Cast", {"i"}, {"f"}, {attr("to", 1)})
      .node("Mul", {"s", "ws"}, {"m"})
      .node("Mul", {"f", "m"}, {"r"})
      .node("Add", {"r", "b"}, {"y"})
      .output("y", kFloat, {{2, 8}});
  const Graph graph = read(net);
  // The addition is the layer's bias.
  EXPECT_EQ(summary(graph), "FULLY_CONNECTED 2,8");
  EXPECT_EQ(graph_totals(graph).macs, 2 * 16 * 8);
}

TEST(OnnxConvert, WeightsOfFourBitsAreHalfAByteEach) {
  OnnxGraph net;
  net.input("x", kFloat, {{1, 64}})
      .initializer(test::onnx_raw("w", ElementType::kUint8, {32, 2, 16}, std::string(1024, '\1')))
      .initializer(weights("s", {64}))
      .node("MatMulNBits", {"x", "w", "s"}, {"y"},
            {attr("K", 64), attr("N", 32), attr("bits", 4), attr("block_size", 32)},
            {.name = "", .domain = "com.microsoft"})
      .output("y", kFloat, {{1, 32}});
  const auto graph = test::read_onnx_graph(OnnxModel(net).opset("", 17).opset("com.microsoft", 1));
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(summary(*graph), "FULLY_CONNECTED 1,32");
  EXPECT_EQ(graph_totals(*graph).macs, 64 * 32);
  EXPECT_EQ(graph_totals(*graph).weights_bytes, 64 * 32 / 2);
}

}  // namespace
}  // namespace edgesage
