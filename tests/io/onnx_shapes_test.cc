// Folding, partly known values, the caller's sizes, value_info, and operators that are not known.
#include "src/io/onnx/shapes.h"

#include <gtest/gtest.h>

#include "tests/io/onnx_shapes_test_support.h"

namespace edgesage {
namespace {

using test::attr;
using test::infer;
using test::infer_error;
using test::kBool;
using test::kFloat;
using test::kInt64;
using test::onnx_int64s;
using test::OnnxGraph;
using test::OnnxModel;
using test::Typed;

onnx::ShapeOptions open() { return {.open_batch_is_one = false}; }

// The exporter's flatten: Shape, Gather, Unsqueeze, Concat, Reshape.
OnnxModel exported_flatten() {
  OnnxGraph graph;
  graph.input("x", kFloat, {{"N", 16, 4, 4}})
      .initializer(onnx_int64s("zero", {}, {0}))
      .initializer(onnx_int64s("front", {1}, {0}))
      .initializer(onnx_int64s("rest", {1}, {-1}))
      .node("Shape", {"x"}, {"shape"})
      .node("Gather", {"shape", "zero"}, {"batch"})
      .node("Unsqueeze", {"batch", "front"}, {"batch1"})
      .node("Concat", {"batch1", "rest"}, {"target"}, {attr("axis", 0)})
      .node("Reshape", {"x", "target"}, {"y"})
      .output("y", kFloat, std::nullopt);
  return OnnxModel(graph);
}

TEST(OnnxShapes, FoldsTheShapesThatExportersCompute) {
  const Typed typed = infer(exported_flatten(), {.batch = 2});
  EXPECT_EQ(typed.type("y"), "float [2, 256]");
  EXPECT_EQ(typed.constant("shape"), "[2, 16, 4, 4]");
  EXPECT_EQ(typed.constant("target"), "[2, -1]");
}

TEST(OnnxShapes, KnowsWhatIsLeftWhereTheBatchIsASymbol) {
  const Typed typed = infer(exported_flatten(), open());
  EXPECT_EQ(typed.type("y"), "float [N, 256]");
  EXPECT_EQ(typed.constant("target"), "none");
}

TEST(OnnxShapes, ArithmeticOnPartlyKnownShapesKeepsWhatIsCertain) {
  OnnxGraph graph;
  graph.input("x", kFloat, {{"", 3, "H", 8}})
      .initializer(onnx_int64s("two", {4}, {2, 2, 1, 4}))
      .initializer(onnx_int64s("one", {1}, {1}))
      .initializer(onnx_int64s("three", {1}, {3}))
      .initializer(onnx_int64s("many", {1}, {100}))
      .node("Shape", {"x"}, {"shape"})
      .node("Div", {"shape", "two"}, {"less"})
      .node("ConstantOfShape", {"less"}, {"zeros"})
      .node("Slice", {"shape", "one", "many"}, {"tail"})
      .node("ConstantOfShape", {"tail"}, {"tailed"})
      .node("Slice", {"shape", "three", "many"}, {"last"})
      .node("Mul", {"last", "last"}, {"square"})
      .output("zeros", kFloat, std::nullopt);
  const Typed typed = infer(OnnxModel(graph), open());
  EXPECT_EQ(typed.type("zeros"), "float [?, 1, H, 2]");
  EXPECT_EQ(typed.type("tailed"), "float [3, H, 8]");
  EXPECT_EQ(typed.constant("square"), "[64]");
}

TEST(OnnxShapes, SymbolsUnifyAcrossInputs) {
  OnnxGraph graph;
  graph.input("a", kFloat, {{"N", "T"}})
      .input("b", kFloat, {{"N", "T"}})
      .node("Add", {"a", "b"}, {"y"})
      .output("y", kFloat, std::nullopt);
  EXPECT_EQ(infer(OnnxModel(graph), open()).type("y"), "float [N, T]");
  onnx::ShapeOptions options;
  options.inputs["a"] = {4, 7};
  const Typed typed = infer(OnnxModel(graph), options);
  EXPECT_EQ(typed.type("b"), "float [4, 7]");
  EXPECT_EQ(typed.type("y"), "float [4, 7]");
  EXPECT_TRUE(typed.inferred.unknown_dimensions.empty());
  EXPECT_TRUE(typed.inferred.warnings.empty());
}

// Exporters write "?" for every dimension that they do not know: it is no name.
TEST(OnnxShapes, QuestionMarksAreNoNames) {
  OnnxGraph graph;
  graph.input("x", kFloat, {{"?", 3, "?", "-1"}})
      .node("Relu", {"x"}, {"y"})
      .output("y", kFloat, std::nullopt);
  EXPECT_EQ(infer(OnnxModel(graph)).type("y"), "float [1, 3, ?, ?]");
  onnx::ShapeOptions options;
  options.inputs["x"] = {2, 3, 48, 192};
  EXPECT_EQ(infer(OnnxModel(graph), options).type("y"), "float [2, 3, 48, 192]");
}

// O01: an open first dimension is a batch of 1, and said; others are named, not guessed.
TEST(OnnxShapes, OpenBatchIsOneAndSaid) {
  OnnxGraph graph;
  graph.input("x", kFloat, {{"N", 3, "H", ""}})
      .input("y", kFloat, {{"", 5}})
      .input("z", kFloat, std::nullopt)
      .node("Relu", {"x"}, {"r"})
      .output("r", kFloat, std::nullopt);
  const Typed typed = infer(OnnxModel(graph));
  EXPECT_EQ(typed.type("r"), "float [1, 3, H, ?]");
  EXPECT_EQ(typed.type("y"), "float [1, 5]");
  EXPECT_TRUE(typed.warns("input 'x': dimension 0 ('N')"));
  EXPECT_TRUE(typed.warns("input 'y': dimension 0"));
  const auto& unknown = typed.inferred.unknown_dimensions;
  ASSERT_EQ(unknown.size(), 3U);
  EXPECT_EQ(unknown[0].input, "x");
  EXPECT_EQ(unknown[0].axis, 2);
  EXPECT_EQ(unknown[0].symbol, "H");
  EXPECT_EQ(unknown[1].axis, 3);
  EXPECT_EQ(unknown[1].symbol, "");
  EXPECT_EQ(unknown[2].input, "z");
  EXPECT_EQ(unknown[2].axis, -1);
}

// A batch changes open first dimensions, not a table that happens to be an input.
TEST(OnnxShapes, O03_BatchLeavesFixedDimensionsAlone) {
  OnnxGraph graph;
  graph.input("x", kFloat, {{"N", 3}})
      .input("anchors", kFloat, {{4}})
      .node("Relu", {"x"}, {"y"})
      .output("y", kFloat, std::nullopt);
  const Typed typed = infer(OnnxModel(graph), {.batch = 8});
  EXPECT_EQ(typed.type("y"), "float [8, 3]");
  EXPECT_EQ(typed.type("anchors"), "float [4]");
  EXPECT_TRUE(typed.inferred.warnings.empty());
}

// Sizes that are accepted are used; names that do not exist are errors that name what does.
TEST(OnnxShapes, O02_UnknownNamesAreErrorsThatListTheKnownOnes) {
  OnnxGraph graph;
  graph.input("image", kFloat, {{"N", 3, "H", "W"}})
      .input("w", kFloat, {{3}})
      .initializer(test::onnx_floats("w", {3}, {1, 2, 3}))
      .node("Relu", {"image"}, {"y"})
      .output("y", kFloat, std::nullopt);
  const OnnxModel model(graph);
  onnx::ShapeOptions options;
  options.inputs["imag"] = {1, 3, 8, 8};
  EXPECT_EQ(infer_error(model, options),
            "input 'imag': the model has no such input; it has 'image'");
  options.inputs = {{"w", {3}}};
  EXPECT_NE(infer_error(model, options), "");
  options.inputs = {{"image", {1, 3, 8}}};
  EXPECT_NE(infer_error(model, options).find("[N, 3, H, W]"), std::string::npos);
  options.inputs = {{"image", {1, 3, 8, -8}}};
  EXPECT_NE(infer_error(model, options).find("-8"), std::string::npos);
  options.inputs.clear();
  options.dimensions = {{"width", 8}};
  EXPECT_EQ(infer_error(model, options),
            "dimension 'width': the model has no such dimension; it has 'N', 'H', 'W'");
  options.dimensions = {{"H", 8}};
  options.inputs = {{"image", {1, 3, 9, 9}}};
  EXPECT_NE(infer_error(model, options).find("'H'"), std::string::npos);
  options.dimensions = {{"H", 16}, {"W", 32}};
  options.inputs.clear();
  EXPECT_EQ(infer(model, options).type("y"), "float [1, 3, 16, 32]");
}

TEST(OnnxShapes, ReplacedShapesOutrankWhatTheFileSaysBehindThem) {
  OnnxGraph graph;
  graph.input("x", kFloat, {{1, 3, 224, 224}})
      .input("other", kFloat, {{1, 7}})
      .node("Relu", {"x"}, {"r"})
      .node("Mystery", {"r"}, {"m"}, {}, {.name = "m", .domain = "com.example", .overload = ""})
      .node("Mystery", {"other"}, {"o"}, {}, {.name = "o", .domain = "com.example", .overload = ""})
      .node("Relu", {"m"}, {"y"})
      .value_info("r", kFloat, {{1, 3, 224, 224}})
      .value_info("m", kFloat, {{1, 8, 112, 112}})
      .value_info("o", kFloat, {{1, 9}})
      .output("y", kFloat, {{1, 8, 112, 112}});
  onnx::ShapeOptions options;
  options.inputs["x"] = {1, 3, 320, 320};
  const Typed typed = infer(OnnxModel(graph), options);
  EXPECT_EQ(typed.type("r"), "float [1, 3, 320, 320]");
  EXPECT_EQ(typed.type("m"), "float [?, ?, ?, ?]");
  EXPECT_EQ(typed.type("y"), "float [?, ?, ?, ?]");
  EXPECT_EQ(typed.type("o"), "float [1, 9]");
  EXPECT_EQ(infer(OnnxModel(graph)).type("y"), "float [1, 8, 112, 112]");
}

// Inference goes on behind an operator that is not known.
TEST(OnnxShapes, O11_ValueInfoCarriesPastUnknownOperators) {
  OnnxGraph graph;
  graph.input("x", kFloat, {{1, 3}})
      .node("Mystery", {"x"}, {"m"}, {}, {.name = "", .domain = "com.example", .overload = ""})
      .node("Mystery", {"x"}, {"n"}, {}, {.name = "", .domain = "com.example", .overload = ""})
      .node("Relu", {"m"}, {"y"})
      .node("Relu", {"n"}, {"z"})
      .node("Add", {"x", "x"}, {"after"})
      .value_info("m", kFloat, {{1, 5}})
      .output("y", kFloat, std::nullopt);
  const Typed typed = infer(OnnxModel(graph));
  EXPECT_EQ(typed.type("y"), "float [1, 5]");
  EXPECT_EQ(typed.type("z"), "unknown");
  EXPECT_EQ(typed.type("after"), "float [1, 3]");
  ASSERT_EQ(typed.inferred.warnings.size(), 1U);
  EXPECT_TRUE(typed.warns("com.example.Mystery is not known (2 of them)"));
}

TEST(OnnxShapes, WhatIsComputedOutranksValueInfo) {
  OnnxGraph graph;
  graph.input("x", kFloat, {{1, 3}})
      .node("Relu", {"x"}, {"y"})
      .value_info("y", kFloat, {{1, 4}})
      .output("y", kFloat, {{1, 4}});
  const Typed typed = infer(OnnxModel(graph));
  EXPECT_EQ(typed.type("y"), "float [1, 3]");
  EXPECT_TRUE(typed.warns("value 'y': the file says [1, 4], computed is [1, 3]"));
}

TEST(OnnxShapes, DoesNotFoldBeyondItsLimit) {
  OnnxGraph graph;
  graph.initializer(onnx_int64s("large", {2}, {64, 65}))
      .initializer(onnx_int64s("small", {2}, {64, 64}))
      .node("ConstantOfShape", {"large"}, {"a"})
      .node("ConstantOfShape", {"small"}, {"b"})
      .output("a", kFloat, std::nullopt);
  const Typed typed = infer(OnnxModel(graph));
  EXPECT_EQ(typed.type("a"), "float [64, 65]");
  EXPECT_EQ(typed.constant("a"), "none");
  EXPECT_NE(typed.constant("b"), "none");
}

}  // namespace
}  // namespace edgesage
