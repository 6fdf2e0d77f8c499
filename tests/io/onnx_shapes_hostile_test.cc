// Nodes that cannot be, numbers beyond all memory, and sizes of files: a warning and an unknown
// shape where there is no answer, never a crash and never a wrong number; time that grows with the
// file and no faster.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ctime>

#include "src/io/onnx/shapes_values.h"
#include "tests/io/onnx_shapes_test_support.h"
#include "tests/support/allocations.h"

namespace edgesage {
namespace {

using test::attr;
using test::infer;
using test::kBool;
using test::kFloat;
using test::kInt64;
using test::onnx_int64s;
using test::OnnxAttribute;
using test::OnnxDims;
using test::OnnxGraph;
using test::OnnxModel;
using test::Typed;

constexpr int64_t kHuge = int64_t{1} << 62;

struct Refused {
  const char* op;
  std::vector<OnnxDims> inputs;
  std::vector<std::vector<int64_t>> lists;  // constant inputs behind them
  std::vector<OnnxAttribute> attributes;
  int64_t opset = 17;
};

// The first output after one node.
Typed one_node(const Refused& given) {
  OnnxGraph graph;
  test::OnnxNames names;
  for (size_t k = 0; k < given.inputs.size(); ++k) {
    names.push_back(fmt::format("x{}", k));
    graph.input(names.back(), kFloat, given.inputs[k]);
  }
  for (size_t k = 0; k < given.lists.size(); ++k) {
    names.push_back(fmt::format("c{}", k));
    graph.initializer(onnx_int64s(names.back(), {std::ssize(given.lists[k])}, given.lists[k]));
  }
  graph.node(given.op, names, {"y", "z"}, given.attributes).output("y");
  return infer(OnnxModel(graph).opset("", given.opset));
}

TEST(OnnxShapesHostile, NodesThatCannotBeAreWarnedOfAndUnknown) {
  const std::vector<Refused> cases = {
      {"Concat", {{2, 3}, {2, 3}}, {}, {attr("axis", 7)}},
      {"Concat", {{2, 3}, {2, 3, 4}}, {}, {attr("axis", 0)}},
      {"Concat", {{2, 3}, {2, 4}}, {}, {attr("axis", 0)}},
      {"Reshape", {{2, 3}}, {{-1, -1}}, {}},
      {"Reshape", {{2, 3}}, {{-2, 3}}, {}},
      {"Reshape", {{2, 3}}, {{4, 2}}, {}},
      {"Reshape", {{2, 3}}, {{4, -1}}, {}},
      {"Reshape", {{2, 3}}, {{1, 1, 0}}, {}},
      {"Add", {{2, 3}, {2, 4}}, {}, {}},
      {"PRelu", {{2, 1}, {4}}, {}, {}},
      {"Conv", {{1, 3, 4, 4}, {8, 3, 5, 5}}, {}, {}},
      {"Conv", {{1, 3, 4, 4}, {8, 3, 1}}, {}, {}},
      {"Conv", {{1, 3, 4, 4}, {8, 3, 1, 1}}, {}, {attr("strides", {0, 1})}},
      {"Conv", {{1, 3, 4, 4}, {8, 3, 1, 1}}, {}, {attr("strides", {1, 1, 1})}},
      {"Conv", {{1, 3, 4, 4}, {8, 3, 1, 1}}, {}, {attr("pads", {kHuge, kHuge, kHuge, kHuge})}},
      {"MaxPool", {{1, 3, 4, 4}}, {}, {attr("kernel_shape", {9, 9})}},
      {"MaxPool", {{3}}, {}, {attr("kernel_shape", {1})}},
      {"MatMul", {{2, 3}, {4, 5}}, {}, {}},
      {"Gemm", {{2, 3}, {4, 5}}, {}, {}},
      {"Gemm", {{2, 3, 4}, {4, 5}}, {}, {}},
      {"Transpose", {{2, 3}}, {}, {attr("perm", {0, 0})}},
      {"Transpose", {{2, 3}}, {}, {attr("perm", {0, 5})}},
      {"Squeeze", {{2, 3}}, {{0}}, {}},
      {"Unsqueeze", {{2, 3}}, {{9}}, {}},
      {"Unsqueeze", {{2, 3}}, {{0, 0}}, {}},
      {"Slice", {{2, 3}}, {{0}, {1}, {5}}, {}},
      {"Slice", {{2, 3}}, {{0}, {1}, {0}, {0}}, {}},
      {"Slice", {{2, 3}}, {{0, 0}, {1, 1}, {1, 1}}, {}},
      {"Slice", {{2, 3}}, {{0, 0}, {1}, {0}}, {}},
      {"Split", {{2, 7}}, {{3, 3}}, {attr("axis", 1)}},
      {"Gather", {{2, 3}}, {{0}}, {attr("axis", 3)}},
      {"Pad", {{2, 3}}, {{1, 2, 3}}, {}},
      {"Pad", {{2, 3}}, {{-9, 0, 0, 0}}, {}},
      {"Expand", {{2, 3}}, {{4, 3}}, {}},
      {"Tile", {{2, 3}}, {{4}}, {}},
      {"Flatten", {{2, 3}}, {}, {attr("axis", 5)}},
      {"ReduceMax", {{2, 3}}, {}, {attr("axes", {4})}},
      {"ArgMax", {{2, 3}}, {}, {attr("axis", -3)}},
      {"TopK", {{2, 3}}, {{9}}, {}},
      {"Einsum", {{2, 3}, {3, 4}}, {}, {attr("equation", "ij,jk,kl->il")}},
      {"Einsum", {{2, 3}, {4, 5}}, {}, {attr("equation", "ij,jk->ik")}},
      {"Einsum", {{2, 3}}, {}, {attr("equation", "ij->ijz")}},
      {"DepthToSpace", {{1, 4, 2, 2}}, {}, {attr("blocksize", 0)}},
      {"LSTM", {{1, 2}, {1, 8, 2}, {1, 8, 2}}, {}, {attr("hidden_size", 2)}},
      {"Resize", {{1, 2}}, {{}, {}, {1, 2, 3}}, {}},
  };
  for (const Refused& refused : cases) {
    SCOPED_TRACE(refused.op);
    const Typed typed = one_node(refused);
    const std::string type = typed.type("y");
    EXPECT_TRUE(type.ends_with(" ?")) << type;
    ASSERT_EQ(typed.inferred.warnings.size(), 1U);
    EXPECT_TRUE(typed.warns(std::string(refused.op) + " that makes 'y': "))
        << typed.inferred.warnings[0];
  }
}

TEST(OnnxShapesHostile, SizesBeyondSixtyFourBitsAreUnknown) {
  const OnnxDims huge = {kHuge, kHuge, 3};
  EXPECT_EQ(one_node({"Size", {huge}, {}, {}}).constant("y"), "none");
  EXPECT_EQ(one_node({"Flatten", {huge}, {}, {attr("axis", 2)}}).type("y"), "float [?, 3]");
  EXPECT_EQ(one_node({"Concat", {{kHuge}, {kHuge}}, {}, {attr("axis", 0)}}).type("y"), "float [?]");
  EXPECT_EQ(one_node({"Split", {{INT64_MAX}}, {}, {}}).type("y"), "float [4611686018427387904]");
  EXPECT_EQ(one_node({"Tile", {{kHuge}}, {{4}}, {}}).type("y"), "float [?]");
  EXPECT_EQ(one_node({"Pad", {{kHuge}}, {{kHuge, kHuge}}, {}}).type("y"), "float [?]");
  EXPECT_EQ(one_node({"Reshape", {huge}, {{-1, 3}}, {}}).type("y"), "float [?, 3]");
  EXPECT_EQ(
      one_node(
          {"ConvTranspose", {{1, 3, kHuge}, {3, 8, 1}}, {}, {attr("strides", {int64_t{1} << 40})}})
          .type("y"),
      "float [1, 8, ?]");
}

TEST(OnnxShapesHostile, DimensionsOfZeroStayZero) {
  EXPECT_EQ(one_node({"Relu", {{0, 3}}, {}, {}}).type("y"), "float [0, 3]");
  EXPECT_EQ(one_node({"Add", {{0, 3}, {1, 1}}, {}, {}}).type("y"), "float [0, 3]");
  EXPECT_EQ(one_node({"Reshape", {{0, 3}}, {{3, 0, -1}}, {}}).type("y"), "float [3, 3, 0]");
  EXPECT_EQ(one_node({"Reshape", {{0, 3}}, {{0, -1}}, {}}).type("y"), "float [0, ?]");
  EXPECT_EQ(one_node({"Flatten", {{0, kHuge, kHuge}}, {}, {}}).type("y"), "float [0, ?]");
  EXPECT_EQ(one_node({"Concat", {{0, 3}, {2, 3}}, {}, {attr("axis", 0)}}).type("y"),
            "float [2, 3]");
}

// Attributes that are 0 or 1 mean nothing else: no runtime takes 2 for 1.
TEST(OnnxShapesHostile, FlagsOfOtherNumbersAreNotSet) {
  EXPECT_EQ(one_node({"ReduceMax", {{2, 3}}, {}, {attr("keepdims", 2)}}).type("y"), "float []");
  EXPECT_EQ(one_node({"ArgMax", {{2, 3}}, {}, {attr("keepdims", -1)}}).type("y"), "int64 [3]");
}

TEST(OnnxShapesHostile, ConditionLongerThanTheAxisKeepsWhatIsThere) {
  OnnxGraph graph;
  graph.input("x", kFloat, {{3, 2}})
      .initializer(test::onnx_int32s("c", kBool, {4}, {1, 0, 1, 1}))
      .node("Compress", {"x", "c"}, {"y"}, {attr("axis", 0)})
      .node("Compress", {"x", "c"}, {"z"}, {attr("axis", 1)})
      .node("Compress", {"x", "c"}, {"flat"})
      .output("y", kFloat, std::nullopt);
  const Typed typed = infer(OnnxModel(graph));
  EXPECT_EQ(typed.type("y"), "float [2, 2]");
  EXPECT_EQ(typed.type("z"), "float [3, 1]");
  EXPECT_EQ(typed.type("flat"), "float [3]");
}

TEST(OnnxShapesHostile, RankOfSixtyFourIsARankLikeAnother) {
  const OnnxDims deep(64, 1);
  EXPECT_EQ(one_node({"Add", {deep, {5}}, {}, {}}).type("y").size(),
            one_node({"Relu", {deep}, {}, {}}).type("y").size());
  EXPECT_EQ(one_node({"Squeeze", {deep}, {}, {}}).type("y"), "float []");
  const OnnxDims deeper(static_cast<size_t>(onnx::kMaxRank) + 1, 1);
  EXPECT_EQ(one_node({"Relu", {deeper}, {}, {}}).type("y"), "float ?");
}

TEST(OnnxShapesHostile, NegativeDimensionsOfAFileAreOpen) {
  EXPECT_EQ(one_node({"Relu", {{-5, 3, -1}}, {}, {}}).type("y"), "float [1, 3, ?]");
}

TEST(OnnxShapesHostile, DivisionsThatHaveNoResultAreUnknown) {
  OnnxGraph graph;
  graph.initializer(onnx_int64s("a", {3}, {INT64_MIN, 5, 7}))
      .initializer(onnx_int64s("b", {3}, {-1, 0, 2}))
      .node("Div", {"a", "b"}, {"quotient"})
      .node("Mod", {"a", "b"}, {"rest"})
      .node("Neg", {"a"}, {"negative"})
      .node("Abs", {"a"}, {"size"})
      .node("Mul", {"a", "a"}, {"square"})
      .initializer(onnx_int64s("last", {1}, {2}))
      .node("Gather", {"quotient", "last"}, {"q"})
      .node("Gather", {"rest", "last"}, {"r"})
      .node("Gather", {"square", "last"}, {"s"})
      .output("q", kInt64, std::nullopt);
  const Typed typed = infer(OnnxModel(graph));
  EXPECT_EQ(typed.constant("quotient"), "none");
  EXPECT_EQ(typed.constant("negative"), "none");
  EXPECT_EQ(typed.constant("q"), "[3]");
  EXPECT_EQ(typed.constant("r"), "[1]");
  EXPECT_EQ(typed.constant("s"), "[49]");
}

TEST(OnnxShapesHostile, ElementsThatAreNotThereAreUnknown) {
  OnnxGraph graph;
  graph.input("x", kFloat, {{2, 3}})
      .initializer(test::onnx_external("target", kInt64, {2}, {{"location", "gone.bin"}}))
      .node("Reshape", {"x", "target"}, {"y"})
      .node("ConstantOfShape", {"target"}, {"z"})
      .output("y", kFloat, std::nullopt);
  const Typed typed = infer(OnnxModel(graph));
  EXPECT_EQ(typed.type("y"), "float [?, ?]");
  EXPECT_EQ(typed.type("z"), "float [?, ?]");
}

// Warnings of one kind are counted beyond the tenth.
TEST(OnnxShapesHostile, ManyFaultsMakeFewWarnings) {
  OnnxGraph graph;
  graph.input("x", kFloat, {{2, 3}}).input("y", kFloat, {{2, 4}});
  for (int k = 0; k < 1000; ++k) graph.node("Add", {"x", "y"}, {fmt::format("z{}", k)});
  graph.output("z0", kFloat, std::nullopt);
  const Typed typed = infer(OnnxModel(graph));
  EXPECT_EQ(typed.inferred.warnings.size(), 11U);
  EXPECT_TRUE(typed.warns("990 more"));
}

// A table that a reader would not make: a body that is its own parent, inputs that nothing defines.
TEST(OnnxShapesHostile, BodiesThatHoldThemselvesEnd) {
  onnx::Model model;
  model.graphs.resize(2);
  model.graphs[1].parent = 0;
  onnx::Node node;
  node.op_type = "If";
  node.since = 17;
  node.inputs = {"nothing"};
  node.outputs = {"y"};
  onnx::Attribute attribute;
  attribute.name = "then_branch";
  attribute.kind = onnx::Attribute::Kind::kGraph;
  attribute.graphs = {1};
  node.attributes = {attribute};
  attribute.name = "else_branch";
  attribute.graphs = {7};
  node.attributes.push_back(attribute);
  model.graphs[0].nodes.push_back(node);
  model.graphs[1].nodes.push_back(node);
  const auto inferred = onnx::infer_types(model, {});
  ASSERT_TRUE(inferred);
  EXPECT_EQ(inferred->find(0, "y")->type.kind, onnx::ValueType::Kind::kUnknown);
}

// Processor time: whatever else the machine does.
double seconds_of(const onnx::Model& model) {
  const std::clock_t begin = std::clock();
  const auto inferred = onnx::infer_types(model, {});
  EXPECT_TRUE(inferred);
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  fmt::print("{:.3f} s\n", seconds);
  return seconds;
}

onnx::Node make_node(onnx::Model& model, std::string_view op, std::vector<std::string> inputs,
                     std::string output) {
  onnx::Node node;
  node.op_type = op;
  node.since = 17;
  for (std::string& input : inputs) node.inputs.push_back(model.keep(std::move(input)));
  node.outputs = {model.keep(std::move(output))};
  return node;
}

onnx::Model start() {
  onnx::Model model;
  model.graphs.resize(1);
  onnx::Value input;
  input.name = "v0";
  input.type = onnx::tensor(kFloat, {onnx::number(1), onnx::number(8)});
  model.graphs[0].inputs.push_back(input);
  return model;
}

onnx::Model chain(int count) {
  onnx::Model model = start();
  for (int k = 0; k < count; ++k)
    model.graphs[0].nodes.push_back(make_node(model, k % 2 == 0 ? "Relu" : "Shape",
                                              {fmt::format("v{}", k % 2 == 0 ? k : k - 1)},
                                              fmt::format("v{}", k + 1)));
  // Shapes hang off the chain: the next Relu reads the one before.
  for (size_t k = 2; k < model.graphs[0].nodes.size(); k += 2)
    model.graphs[0].nodes[k].inputs[0] = model.graphs[0].nodes[k - 2].outputs[0];
  return model;
}

TEST(OnnxShapesHostile, HundredThousandNodesTakeLessThanASecond) {
  const onnx::Model model = chain(100'000);
  EXPECT_LT(seconds_of(model), 1.0);
}

// `depth` bodies, each in the one before; a Loop carries v0 through.
onnx::Model nested(int depth, bool loops) {
  onnx::Model model = start();
  model.graphs.resize(static_cast<size_t>(depth) + 1);
  for (int k = 0; k < depth; ++k) {
    const auto graph = static_cast<size_t>(k);
    onnx::Node node =
        make_node(model, loops ? "Loop" : "If",
                  loops ? std::vector<std::string>{"", "", "v0"} : std::vector<std::string>{"v0"},
                  fmt::format("out{}", k));
    onnx::Attribute body;
    body.kind = onnx::Attribute::Kind::kGraph;
    body.name = loops ? "body" : "then_branch";
    body.graphs = {k + 1};
    node.attributes = {body};
    model.graphs[graph].nodes.push_back(std::move(node));
    for (int n = 0; n < 20; ++n)
      model.graphs[graph].nodes.push_back(
          make_node(model, "Relu", {"v0"}, fmt::format("r{}_{}", k, n)));
    model.graphs[graph + 1].parent = k;
    onnx::Value output;
    output.name = model.keep(fmt::format("r{}_0", k + 1));
    model.graphs[graph + 1].outputs.push_back(output);
    if (loops) model.graphs[graph + 1].outputs.push_back(output);
  }
  model.graphs.back().nodes.push_back(
      make_node(model, "Relu", {"v0"}, fmt::format("r{}_0", depth)));
  return model;
}

int64_t peak_of(const onnx::Model& model) {
  test::Allocations& allocations = test::allocations();
  const int64_t before = allocations.live_bytes;
  allocations.peak_bytes = before;
  EXPECT_TRUE(onnx::infer_types(model, {}));
  return allocations.peak_bytes - before;
}

TEST(OnnxShapesHostile, MemoryGrowsWithTheFile) {
  const int64_t half = peak_of(chain(50'000));
  const int64_t whole = peak_of(chain(100'000));
  EXPECT_LT(static_cast<double>(whole), 2.3 * static_cast<double>(half));
  EXPECT_LT(whole, int64_t{1000} * 100'000);
  fmt::print("{} bytes a node\n", whole / 100'000);
  const int64_t shallow = peak_of(nested(1000, true));
  const int64_t deep = peak_of(nested(2000, true));
  EXPECT_LT(static_cast<double>(deep), 2.3 * static_cast<double>(shallow));
}

TEST(OnnxShapesHostile, FiftyThousandInputsTakeLessThanASecond) {
  onnx::Model model = start();
  std::vector<std::string> parts;
  for (int k = 0; k < 50'000; ++k) {
    model.graphs[0].nodes.push_back(make_node(model, "Shape", {"v0"}, fmt::format("s{}", k)));
    parts.push_back(fmt::format("s{}", k));
  }
  model.graphs[0].nodes.push_back(make_node(model, "Concat", parts, "all"));
  model.graphs[0].nodes.push_back(make_node(model, "Sum", parts, "sum"));
  model.graphs[0].nodes.push_back(make_node(model, "Max", parts, "max"));
  model.graphs[0].nodes.push_back(make_node(model, "SequenceConstruct", parts, "list"));
  onnx::Attribute axis;
  axis.name = "axis";
  axis.kind = onnx::Attribute::Kind::kInt;
  model.graphs[0].nodes[50'000].attributes.push_back(axis);
  EXPECT_LT(seconds_of(model), 1.0);
  const auto inferred = onnx::infer_types(model, {});
  EXPECT_EQ(inferred->find(0, "all")->type.shape[0].value, 100'000);
}

TEST(OnnxShapesHostile, TwoThousandNestedBodiesTakeLessThanASecond) {
  for (const bool loops : {false, true}) {
    const onnx::Model model = nested(2000, loops);
    EXPECT_LT(seconds_of(model), 1.0);
    const auto inferred = onnx::infer_types(model, {});
    EXPECT_EQ(inferred->find(2000, "r2000_0")->type.shape[1].value, 8);
  }
}

// Folding has a limit for the whole model, so that a chain of large values takes no memory.
TEST(OnnxShapesHostile, FoldedValuesHaveALimitInAll) {
  OnnxGraph graph;
  graph.initializer(onnx_int64s("size", {1}, {4096})).node("ConstantOfShape", {"size"}, {"v0"});
  for (int k = 0; k < 1000; ++k)
    graph.node("Neg", {fmt::format("v{}", k)}, {fmt::format("v{}", k + 1)});
  graph.output("v1000", kFloat, std::nullopt);
  const Typed typed = infer(OnnxModel(graph));
  EXPECT_EQ(typed.type("v1000"), "float [4096]");
  EXPECT_NE(typed.constant("v100"), "none");
  EXPECT_EQ(typed.constant("v1000"), "none");
  EXPECT_TRUE(typed.warns("elements of constants"));
}

}  // namespace
}  // namespace edgesage
