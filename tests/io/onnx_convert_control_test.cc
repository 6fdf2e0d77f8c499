// What If, Loop and Scan become.
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

TEST(OnnxConvert, O08_BodiesAreSubgraphsWithWhatTheyCapture) {
  OnnxGraph with("with"), without("without");
  with.initializer(weights("w", {4, 3, 3, 3}))
      .node("Conv", {"x", "w"}, {"a"}, {attr("pads", {1, 1, 1, 1})})
      .output("a", kFloat, {{1, 4, 8, 8}});
  without.initializer(weights("v", {4, 3, 1, 1}))
      .node("Conv", {"x", "v"}, {"b"})
      .output("b", kFloat, {{1, 4, 8, 8}});
  OnnxGraph net;
  net.input("x", kFloat, {{1, 3, 8, 8}})
      .input("c", ElementType::kBool, {test::OnnxDims{}})
      .node("If", {"c"}, {"y"}, {attr("then_branch", with), attr("else_branch", without)})
      .output("y", kFloat, {{1, 4, 8, 8}});
  const Graph graph = read(net);
  EXPECT_EQ(summary(graph), "IF 1,4,8,8");
  ASSERT_EQ(graph.subgraphs.size(), 3U);
  EXPECT_EQ(graph.main().operators[0].attr_int("then_subgraph_index", -1), 1);
  EXPECT_EQ(graph.main().operators[0].attr_int("else_subgraph_index", -1), 2);
  for (const size_t body : {size_t{1}, size_t{2}}) {
    EXPECT_EQ(graph.subgraphs[body].inputs.size(), 1U);
    EXPECT_EQ(graph.subgraphs[body].operators[0].kind == OpKind::kConv2D ||
                  graph.subgraphs[body].operators[0].kind == OpKind::kTranspose,
              true);
  }
}

OnnxGraph loop(bool constant_trips) {
  OnnxGraph body("body");
  body.input("i", ElementType::kInt64, {test::OnnxDims{}})
      .input("go", ElementType::kBool, {test::OnnxDims{}})
      .input("s", kFloat, {{1, 16}})
      .initializer(weights("w", {16, 16}))
      .node("MatMul", {"s", "w"}, {"t"})
      .node("Identity", {"go"}, {"again"})
      .output("again", ElementType::kBool, {test::OnnxDims{}})
      .output("t", kFloat, {{1, 16}});
  OnnxGraph net;
  net.input("x", kFloat, {{1, 16}});
  if (constant_trips)
    net.initializer(onnx_int64s("n", {}, {12}));
  else
    net.input("n", ElementType::kInt64, {test::OnnxDims{}});
  net.node("Loop", {"n", "", "x"}, {"y"}, {attr("body", body)}).output("y", kFloat, {{1, 16}});
  return net;
}

TEST(OnnxConvert, O08_AConstantTripCountIsKept) {
  const Graph known = read(loop(true));
  ASSERT_EQ(known.main().operators.size(), 1U);
  EXPECT_EQ(known.main().operators[0].kind, OpKind::kWhile);
  EXPECT_EQ(known.main().operators[0].attr_int("trip_count", -1), 12);
  EXPECT_EQ(known.main().operators[0].attr_int("body_subgraph_index", -1), 1);
  EXPECT_EQ(known.main().operators[0].inputs.size(), known.subgraphs[1].inputs.size());
  EXPECT_EQ(known.main().operators[0].outputs.size(), known.subgraphs[1].outputs.size());
  const Graph unknown = read(loop(false));
  EXPECT_EQ(unknown.main().operators[0].find("trip_count"), nullptr);
}

}  // namespace
}  // namespace edgesage
