// If, Loop, Scan and sequences: what goes into bodies and what comes out of them.
#include <gtest/gtest.h>

#include "tests/io/onnx_shapes_test_support.h"

namespace edgesage {
namespace {

using test::attr;
using test::infer;
using test::kBool;
using test::kFloat;
using test::kInt64;
using test::onnx_int64s;
using test::OnnxGraph;
using test::OnnxModel;
using test::Typed;

OnnxGraph branch(const char* op, const char* input, const char* output) {
  OnnxGraph graph(output);
  graph.node(op, {input}, {output}).output(output);
  return graph;
}

OnnxModel if_of(const OnnxGraph& then_branch, const OnnxGraph& else_branch) {
  OnnxGraph graph;
  graph.input("x", kFloat, {{2, 3}})
      .input("condition", kBool, {{}})
      .node("If", {"condition"}, {"y"},
            {attr("then_branch", then_branch), attr("else_branch", else_branch)})
      .output("y", kFloat, std::nullopt);
  return OnnxModel(graph);
}

TEST(OnnxShapesControl, BranchesSeeTheNamesAroundThem) {
  const Typed typed = infer(if_of(branch("Relu", "x", "a"), branch("Neg", "x", "b")));
  EXPECT_EQ(typed.type("y"), "float [2, 3]");
  EXPECT_EQ(typed.type("a", 1), "float [2, 3]");
  EXPECT_EQ(typed.type("x", 1), "float [2, 3]");
}

TEST(OnnxShapesControl, BranchesThatDifferKeepWhatTheyShare) {
  OnnxGraph other("else");
  other.initializer(onnx_int64s("target", {2}, {3, 2}))
      .node("Reshape", {"x", "target"}, {"b"})
      .output("b");
  EXPECT_EQ(infer(if_of(branch("Relu", "x", "a"), other)).type("y"), "float [?, ?]");
  EXPECT_EQ(infer(if_of(branch("Relu", "x", "a"), branch("Shape", "x", "b"))).type("y"), "float ?");
}

TEST(OnnxShapesControl, KnownConditionTakesItsBranch) {
  OnnxGraph graph;
  graph.input("x", kFloat, {{2, 3}})
      .initializer(onnx_int64s("two", {}, {2}))
      .node("Shape", {"x"}, {"shape"})
      .node("Size", {"shape"}, {"rank"})
      .node("Equal", {"rank", "two"}, {"flat"})
      .node("If", {"flat"}, {"y"},
            {attr("then_branch", branch("Shape", "x", "a")),
             attr("else_branch", branch("Size", "x", "b"))})
      .node("ConstantOfShape", {"y"}, {"z"})
      .output("z", kFloat, std::nullopt);
  EXPECT_EQ(infer(OnnxModel(graph)).type("z"), "float [2, 3]");
}

// Carries s, gives a slice of it; `grow` concatenates x to it on the way.
OnnxModel loop_of(bool grow, int64_t trips) {
  OnnxGraph body("body");
  body.input("i", kInt64, {{}}).input("go", kBool, {{}}).input("s", kFloat, std::nullopt);
  body.node("Identity", {"go"}, {"on"});
  if (grow) {
    body.node("Concat", {"s", "x"}, {"t"}, {attr("axis", 0)});
  } else {
    body.node("Add", {"s", "x"}, {"t"});
  }
  body.node("ReduceSum", {"t"}, {"sum"}, {attr("keepdims", 0)});
  body.output("on").output("t").output("sum");
  OnnxGraph graph;
  graph.input("x", kFloat, {{2, 3}})
      .initializer(onnx_int64s("trips", {}, {trips}))
      .node("Loop", {"trips", "", "x"}, {"last", "sums"}, {attr("body", body)})
      .output("last", kFloat, std::nullopt);
  return OnnxModel(graph);
}

TEST(OnnxShapesControl, LoopKeepsTheShapesThatItsBodyKeeps) {
  const Typed typed = infer(loop_of(false, 5));
  EXPECT_EQ(typed.type("last"), "float [2, 3]");
  EXPECT_EQ(typed.type("s", 1), "float [2, 3]");
  EXPECT_EQ(typed.type("sums"), "float [5]");
}

TEST(OnnxShapesControl, LoopThatGrowsKeepsTheRestOfTheShape) {
  const Typed typed = infer(loop_of(true, 5));
  EXPECT_EQ(typed.type("last"), "float [?, 3]");
  EXPECT_EQ(typed.type("s", 1), "float [?, 3]");
}

// O08: a trip count beyond all memory is a number like another.
TEST(OnnxShapesControl, EnormousTripCountIsNoTrouble) {
  EXPECT_EQ(infer(loop_of(false, INT64_MAX)).type("sums"), "float [9223372036854775807]");
  EXPECT_EQ(infer(loop_of(false, -1)).type("sums"), "float [0]");
}

// Two carried values, the second of which takes the rank of the first one step later.
TEST(OnnxShapesControl, ChangesThatTakeStepsToArriveAreSeen) {
  OnnxGraph body("body");
  body.input("i", kInt64, {{}}).input("go", kBool, {{}});
  body.input("a", kFloat, std::nullopt).input("b", kFloat, std::nullopt);
  body.input("c", kFloat, std::nullopt);
  body.initializer(onnx_int64s("front", {1}, {0}))
      .node("Unsqueeze", {"a", "front"}, {"a2"})
      .node("Identity", {"a"}, {"b2"})
      .node("Identity", {"b"}, {"c2"})
      .output("go")
      .output("a2")
      .output("b2")
      .output("c2");
  OnnxGraph graph;
  graph.input("x", kFloat, {{2, 3}})
      .input("n", kInt64, {{}})
      .node("Loop", {"n", "", "x", "x", "x"}, {"a_", "b_", "c_"}, {attr("body", body)})
      .output("a_", kFloat, std::nullopt);
  const Typed typed = infer(OnnxModel(graph));
  EXPECT_EQ(typed.type("a_"), "float ?");
  EXPECT_EQ(typed.type("b_"), "float ?");
  EXPECT_EQ(typed.type("c_"), "float ?");
}

TEST(OnnxShapesControl, ScanSlicesItsInputsAndStacksItsOutputs) {
  OnnxGraph body("body");
  body.input("s", kFloat, std::nullopt).input("e", kFloat, std::nullopt);
  body.node("Add", {"s", "e"}, {"s2"}).node("Relu", {"e"}, {"out"});
  body.output("s2").output("out");
  OnnxGraph graph;
  graph.input("state", kFloat, {{4}})
      .input("x", kFloat, {{4, 100}})
      .node("Scan", {"state", "x"}, {"last", "all"},
            {attr("body", body), attr("num_scan_inputs", 1), attr("scan_input_axes", {1}),
             attr("scan_output_axes", {0})})
      .output("all", kFloat, std::nullopt);
  const Typed typed = infer(OnnxModel(graph));
  EXPECT_EQ(typed.type("last"), "float [4]");
  EXPECT_EQ(typed.type("all"), "float [100, 4]");
  EXPECT_EQ(typed.type("e", 1), "float [4]");
}

TEST(OnnxShapesControl, SequencesHoldWhatTheirElementsShare) {
  OnnxGraph graph;
  graph.input("x", kFloat, {{2, 3}})
      .input("y", kFloat, {{2, 5}})
      .initializer(onnx_int64s("zero", {}, {0}))
      .node("SequenceConstruct", {"x", "y"}, {"both"})
      .node("SequenceAt", {"both", "zero"}, {"first"})
      .node("ConcatFromSequence", {"both"}, {"joined"}, {attr("axis", 1)})
      .node("Optional", {"both"}, {"perhaps"})
      .node("OptionalGetElement", {"perhaps"}, {"again"})
      .output("first", kFloat, std::nullopt);
  const Typed typed = infer(OnnxModel(graph));
  EXPECT_EQ(typed.type("both"), "sequence of float [2, ?]");
  EXPECT_EQ(typed.type("first"), "float [2, ?]");
  EXPECT_EQ(typed.type("joined"), "float [2, ?]");
  EXPECT_EQ(typed.type("perhaps"), "optional of sequence of float [2, ?]");
  EXPECT_EQ(typed.type("again"), "sequence of float [2, ?]");
}

// A body of an operator that is not known is gone through as it declares its inputs.
TEST(OnnxShapesControl, BodiesOfUnknownOperatorsAreGoneThrough) {
  OnnxGraph body("body");
  body.input("e", kFloat, {{7}}).node("Shape", {"e"}, {"out"}).output("out");
  OnnxGraph graph;
  graph.input("x", kFloat, {{2}})
      .node("Each", {"x"}, {"y"}, {attr("body", body)},
            {.name = "", .domain = "com.example", .overload = ""})
      .output("y", kFloat, std::nullopt);
  const Typed typed = infer(OnnxModel(graph));
  EXPECT_EQ(typed.constant("out", 1), "[7]");
  EXPECT_EQ(typed.type("y"), "float ?");
  EXPECT_TRUE(typed.warns("com.example.Each is not known"));
}

}  // namespace
}  // namespace edgesage
