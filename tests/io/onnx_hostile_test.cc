// Odd and malicious ONNX files: each is read with a warning or refused with one line that names the
// place, and none takes long. Tests bear the name of the report that they stand for.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "src/base/file.h"
#include "src/io/file_kind.h"
#include "tests/io/onnx_hostile_support.h"
#include "tests/support/test_paths.h"

namespace edgesage::onnx {
namespace {

using test::attr;
using test::CpuTimer;
using test::expect_refused;
using test::expect_warning;
using test::OnnxDims;
using test::OnnxGraph;
using test::OnnxModel;
using test::read_onnx_bytes;
using test::read_onnx_model;
using test::ReadOnnx;
using enum ElementType;
using Names = std::vector<std::string_view>;

OnnxGraph one_relu() {
  return OnnxGraph().input("x", kFloat, OnnxDims{2}).node("Relu", {"x"}, {"y"}).output("y");
}

// Every way in which a dimension can be unknown, told apart; 0 and -1 are kept as they are.
TEST(OnnxHostile, O01_SymbolicDimensionsAreKept) {
  const ReadOnnx file = read_onnx_model(
      OnnxModel(OnnxGraph()
                    .input("x", kFloat, OnnxDims{"N", "unk__17", "batch*seq", 0, -1, "", 7})
                    .input("scalar", kFloat, OnnxDims{})
                    .input("unknown", kFloat, std::nullopt)
                    .node("Relu", {"x"}, {"y"})));
  ASSERT_TRUE(file.model) << file.model.error().to_string();
  const std::vector<Value>& inputs = file.model->graphs[0].inputs;
  const std::vector<Dimension>& shape = inputs[0].type.shape;
  ASSERT_EQ(shape.size(), 7U);
  EXPECT_EQ(shape[0].symbol, "N");
  EXPECT_EQ(shape[1].symbol, "unk__17");
  EXPECT_EQ(shape[2].symbol, "batch*seq");
  EXPECT_EQ(shape[3].value, 0);
  for (const size_t unknown : {0U, 1U, 2U, 4U, 5U}) EXPECT_FALSE(shape[unknown].known());
  EXPECT_TRUE(inputs[1].type.has_shape);
  EXPECT_TRUE(inputs[1].type.shape.empty());
  EXPECT_FALSE(inputs[2].type.has_shape);
}

// Versions before and after the known ones, and none at all: read, and said.
TEST(OnnxHostile, O06_VersionsBeyondTheKnownAreWarnedOf) {
  for (const int64_t known : {3, 10, 13}) {
    const ReadOnnx file = read_onnx_model(OnnxModel(one_relu()).ir_version(known));
    ASSERT_TRUE(file.model);
    EXPECT_EQ(file.warnings(), "");
  }
  for (const int64_t known : {6, 22, 27}) {
    const ReadOnnx file = read_onnx_model(OnnxModel(one_relu()).opset("", known));
    ASSERT_TRUE(file.model);
    EXPECT_EQ(file.warnings(), "");
    EXPECT_EQ(file.model->graphs[0].nodes[0].since, known);
  }
  expect_warning(read_onnx_model(OnnxModel(one_relu()).ir_version(99)), "ir_version 99");
  expect_warning(read_onnx_model(OnnxModel(one_relu()).ir_version(0)), "ir_version 0");
  expect_warning(read_onnx_model(OnnxModel(one_relu()).ir_version(-5)), "ir_version -5");
  const ReadOnnx future = read_onnx_model(OnnxModel(one_relu()).opset("", 99));
  expect_warning(future, "version 99");
  EXPECT_EQ(future.model->graphs[0].nodes[0].since, 99);
  expect_warning(read_onnx_model(OnnxModel(one_relu()).opset("", 7).opset("", 9)),
                 "more than one version");
  const ReadOnnx none = read_onnx_model(OnnxModel(one_relu()).no_opset());
  expect_warning(none, "version 18 is assumed");
  EXPECT_EQ(none.model->graphs[0].nodes[0].since, 18);
  const ReadOnnx oldest = read_onnx_model(OnnxModel(one_relu()).no_opset().ir_version(1));
  EXPECT_EQ(oldest.model->graphs[0].nodes[0].since, 1);
}

// Names are no identity: nodes without, nodes with the same, values written again.
TEST(OnnxHostile, O12_UnnamedAndDuplicateNodesAreAllKept) {
  OnnxGraph graph;
  graph.input("x0", kFloat, OnnxDims{2});
  for (int i = 0; i < 6; ++i)
    graph.node("Conv", {fmt::format("x{}", i)}, {fmt::format("x{}", i + 1)}, {},
               {.name = i < 3 ? "" : "same"});
  const ReadOnnx file = read_onnx_model(OnnxModel(graph));
  ASSERT_TRUE(file.model) << file.model.error().to_string();
  EXPECT_EQ(file.model->graphs[0].nodes.size(), 6U);
  EXPECT_EQ(file.warnings(), "");
}

TEST(OnnxHostile, O12_TheLastWriterBeforeAReaderCounts) {
  const OnnxGraph body = OnnxGraph("body").node("Exp", {"y"}, {"e"}).output("e");
  const ReadOnnx file = read_onnx_model(OnnxModel(
      OnnxGraph()
          .input("x", kFloat, OnnxDims{2})
          .input("c", kBool, OnnxDims{})
          .node("Relu", {"x"}, {"y"})
          .node("Abs", {"y"}, {"a"})
          .node("If", {"c"}, {"i"}, {attr("then_branch", body), attr("else_branch", body)})
          .node("Neg", {"y"}, {"y"})
          .node("Add", {"y", "a"}, {"y"})
          .node("Mul", {"y", "i"}, {"x"})
          .output("y")
          .output("x")));
  expect_warning(file, "written more than once");
  const GraphTable& graph = file.model->graphs[0];
  const auto made = [&](size_t node) { return graph.nodes[node].outputs[0]; };
  EXPECT_EQ(graph.nodes[1].inputs, Names{made(0)});
  EXPECT_EQ(file.model->graphs[1].nodes[0].inputs, Names{made(0)});
  EXPECT_EQ(graph.nodes[3].inputs, Names{made(0)});
  EXPECT_EQ(graph.nodes[4].inputs, (Names{made(3), made(1)}));
  EXPECT_EQ(graph.nodes[5].inputs[0], made(4));
  EXPECT_EQ(made(4), "y");  // the last writer, as the graph's output
  EXPECT_EQ(graph.outputs[0].name, "y");
  EXPECT_EQ(graph.inputs[0].name, "x");  // an input keeps its name, its second writer does not
  EXPECT_EQ(graph.outputs[1].name, made(5));
  EXPECT_NE(made(5), "x");
  EXPECT_NE(made(0), made(3));
}

TEST(OnnxHostile, O12_DuplicateInitialisersAndInputs) {
  const ReadOnnx file =
      read_onnx_model(OnnxModel(OnnxGraph()
                                    .input("x", kFloat, OnnxDims{2})
                                    .input("x", kFloat, OnnxDims{3})
                                    .initializer(test::onnx_floats("w", {1}, {1}))
                                    .initializer(test::onnx_floats("w", {2}, {2, 3}))
                                    .node("Add", {"x", "w"}, {"y"})));
  expect_warning(file, "initialisers are given more than once");
  expect_warning(file, "inputs are listed more than once");
  ASSERT_EQ(file.model->graphs[0].initializers.size(), 1U);
  EXPECT_EQ(file.model->graphs[0].initializers[0].dims, std::vector<int64_t>{2});
  EXPECT_EQ(file.model->graphs[0].inputs.size(), 1U);
}

// "" is a place that is left out: never a value that nodes share, never unknown, never renamed.
TEST(OnnxHostile, O13_EmptyNamesMakeNoEdges) {
  const ReadOnnx file =
      read_onnx_model(OnnxModel(OnnxGraph()
                                    .node("Clip", {"x", "", "m"}, {"", "late"})
                                    .node("LSTM", {"x", "w", "r", "", "", "late"}, {"", "", "y"})
                                    .node("Dropout", {"y"}, {"z", ""})
                                    .input("x", kFloat, OnnxDims{2})
                                    .input("m", kFloat, OnnxDims{})
                                    .initializer(test::onnx_floats("w", {1}, {1}))
                                    .initializer(test::onnx_floats("r", {1}, {1}))
                                    .initializer(test::onnx_floats("", {1}, {1}))
                                    .output("z")));
  ASSERT_TRUE(file.model) << file.model.error().to_string();
  EXPECT_EQ(file.warnings(), "");
  EXPECT_EQ(file.model->graphs[0].nodes[1].inputs, (Names{"x", "w", "r", "", "", "late"}));
  EXPECT_EQ(file.model->graphs[0].nodes[1].outputs, (Names{"", "", "y"}));
}

// One tensor of each type, raw: the right number of bytes is read, one more or less is refused.
TEST(OnnxHostile, O16_EveryElementTypeHasItsSize) {
  for (int number = 1; number <= 28; ++number) {
    const auto type = static_cast<ElementType>(number);
    if (type == kString) continue;
    const size_t bytes = (5 * static_cast<size_t>(element_bits(type)) + 7) / 8;
    const auto sized = [&](size_t size) {
      return read_onnx_model(OnnxModel(
          OnnxGraph().initializer(test::onnx_raw("w", type, {5}, std::string(size, '\1')))));
    };
    const ReadOnnx right = sized(bytes);
    ASSERT_TRUE(right.model) << element_name(type) << right.model.error().to_string();
    EXPECT_EQ(right.model->graphs[0].initializers[0].data.size(), bytes);
    for (const size_t wrong : {bytes + 1, bytes - 1, size_t{0}})
      expect_refused(sized(wrong), "tensor 'w'");
  }
  expect_refused(
      read_onnx_model(OnnxModel(OnnxGraph().initializer(test::onnx_int32s("w", kInt4, {5}, {1})))),
      "1 bytes where its dimensions say 3");
  expect_refused(
      read_onnx_model(OnnxModel(OnnxGraph().initializer(test::onnx_strings("w", {3}, {"a"})))),
      "1 elements where its dimensions say 3");
  for (const int number : {0, 29, 99, -3})
    expect_warning(read_onnx_model(OnnxModel(OnnxGraph().initializer(
                       test::onnx_raw("w", static_cast<ElementType>(number), {5}, "abc")))),
                   fmt::format("w, type {}", number));
}

// Values that are no dense tensors of numbers: kept, by their kinds.
TEST(OnnxHostile, O17_SparseSequenceOptionalMapAndComplex) {
  const auto tensor = test::onnx_tensor_type(kComplex128, OnnxDims{"N", 2});
  std::string sparse;  // TypeProto.sparse_tensor_type
  sparse = test::onnx_tensor_type(kFloat, OnnxDims{3, 3}).proto;
  sparse[0] = '\x42';
  const ReadOnnx file = read_onnx_model(OnnxModel(
      OnnxGraph()
          .input("t", tensor)
          .input("s", test::onnx_sequence_type(tensor))
          .input("o", test::onnx_optional_type(test::onnx_sequence_type(tensor)))
          .input("m", test::onnx_map_type(kInt64, test::onnx_tensor_type(kFloat, OnnxDims{})))
          .input("p", test::OnnxType{sparse})
          .input("q", test::OnnxType{std::string("\x3a\x02\x0a\x00", 4)})  // opaque
          .input("e", test::OnnxType{""})
          .sparse_initializer(test::onnx_floats("w", {2}, {1, 2}),
                              test::onnx_int64s("", {2}, {0, 5}), {3, 4})
          .initializer(test::onnx_raw("c", kComplex64, {1}, "12345678"))
          .node("Opaque", {"t", "s", "o", "m", "p", "q", "e", "w", "c"}, {"y"})));
  ASSERT_TRUE(file.model) << file.model.error().to_string();
  const GraphTable& graph = file.model->graphs[0];
  using Kind = ValueType::Kind;
  const std::vector<Kind> kinds = {Kind::kTensor, Kind::kSequence,     Kind::kOptional,
                                   Kind::kMap,    Kind::kSparseTensor, Kind::kUnknown,
                                   Kind::kUnknown};
  for (size_t i = 0; i < kinds.size(); ++i) EXPECT_EQ(graph.inputs[i].type.kind, kinds[i]) << i;
  EXPECT_EQ(graph.inputs[1].type.inner->element, kComplex128);
  EXPECT_EQ(graph.inputs[2].type.inner->inner->shape.size(), 2U);
  EXPECT_EQ(graph.inputs[3].type.element, kInt64);
  EXPECT_EQ(graph.inputs[3].type.inner->element, kFloat);
  EXPECT_EQ(graph.inputs[4].type.shape.size(), 2U);
  const Constant& weights = graph.initializers[0];
  EXPECT_EQ(weights.name, "w");
  EXPECT_TRUE(weights.is_sparse);
  EXPECT_EQ(weights.dims, (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(weights.element, kFloat);
}

TEST(OnnxHostile, O17_TypesOneInTheOtherHaveALimit) {
  test::OnnxType type = test::onnx_tensor_type(kFloat, OnnxDims{});
  for (int i = 0; i < 64; ++i) type = test::onnx_sequence_type(type);
  EXPECT_TRUE(read_onnx_model(OnnxModel(one_relu().input("s", type))).model);
  for (int i = 0; i < 1000; ++i) type = test::onnx_optional_type(type);
  expect_refused(read_onnx_model(OnnxModel(one_relu().input("s", type))), "more than 64 types");
}

// What is no ONNX model, or one that cannot be used, is told for what it is.
TEST(OnnxHostile, O18_OtherFilesAreNamed) {
  const auto named = [](std::string_view text, std::string_view part) {
    expect_refused(read_onnx_bytes(test::to_bytes(text)), part);
  };
  named(OnnxModel().text(), "without a graph");
  named(test::onnx_floats("t", {2}, {1, 2}).proto, "single ONNX tensor");
  named(std::string("\x18\0\0\0ORTM\0\0\0\0", 12), "(.ort)");
  named("ir_version: 8\nproducer_name: \"x\"\ngraph {\n}\n", "format='textproto'");
  named("<\n  ir_version: 8,\n  opset_import: [\"\" : 17]\n>\nagraph (float x) => (y) {}\n",
        "format='onnxtxt'");
  named("{\"irVersion\": \"8\", \"graph\": {}}", "format='json'");
  named("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "git lfs pull");
  named("", "empty");
  named("PK\x03\x04rest of it", "zip");
  named("<!doctype html><title>404</title>", "HTML");
  named(std::string(100, '\0'), "zero bytes");
  named("\x08\x08", "ends after 2 bytes");
}

TEST(OnnxHostile, O18_FilesOfOtherFormatsAreNotTakenForOnnx) {
  EDGESAGE_REQUIRE(test::data_dir(), "the model files are not here (EDGESAGE_DATA_DIR)");
  for (const test::IndexedModel& model : test::indexed_models(*test::data_dir())) {
    const auto file = MappedFile::open(model.path, ErrorCode::kBadModel);
    ASSERT_TRUE(file);
    EXPECT_EQ(looks_like_onnx((*file)->bytes()), model.kind == "onnx") << model.path;
  }
}

// Any number of dimensions, of values, weights and attributes.
TEST(OnnxHostile, O19_RankHasNoSmallLimit) {
  for (const size_t rank : {3U, 5U, 8U, 200U}) {
    const ReadOnnx file = read_onnx_model(OnnxModel(
        OnnxGraph()
            .input("x", kFloat, OnnxDims(rank, 1))
            .initializer(test::onnx_floats("w", std::vector<int64_t>(rank, 1), {1}))
            .node("Conv", {"x", "w"}, {"y"}, {attr("pads", std::vector<int64_t>(2 * rank, 0))})));
    ASSERT_TRUE(file.model) << file.model.error().to_string();
    EXPECT_EQ(file.model->graphs[0].inputs[0].type.shape.size(), rank);
    EXPECT_EQ(file.model->graphs[0].initializers[0].dims.size(), rank);
  }
  const std::vector<int64_t> many(65'537, 1);
  expect_refused(
      read_onnx_model(OnnxModel(OnnxGraph().initializer(test::onnx_floats("w", many, {1})))),
      "65537 dimensions");
  expect_refused(read_onnx_model(OnnxModel(one_relu().input("v", kFloat, OnnxDims(65'537, 1)))),
                 "more than 65536 dimensions");
}

// Long, wide and deep: linear in time and memory, no recursion. Sanitizers are slower.
TEST(OnnxHostile, O21_AChainOfAHundredThousandNodes) {
  constexpr int kNodes = 100'000;
  for (const bool reversed : {false, true}) {
    OnnxGraph graph;
    graph.input("v0", kFloat, OnnxDims{2});
    for (int i = 0; i < kNodes; ++i) {
      const int at = reversed ? kNodes - 1 - i : i;
      graph.node("Relu", {fmt::format("v{}", at)}, {fmt::format("v{}", at + 1)});
    }
    graph.output(fmt::format("v{}", kNodes));
    const std::vector<std::byte> bytes = OnnxModel(graph).bytes();
    const CpuTimer timer;
    const Result<Model> model = read_onnx(bytes, nullptr, "chain");
    EXPECT_LT(timer.seconds(), 1);
    ASSERT_TRUE(model) << model.error().to_string();
    EXPECT_EQ(model->graphs[0].nodes.size(), static_cast<size_t>(kNodes));
    EXPECT_EQ(model->graphs[0].nodes.back().outputs[0], fmt::format("v{}", kNodes));
    fmt::print("100,000 nodes{}: {:.0f} ms\n", reversed ? " backwards" : "", 1e3 * timer.seconds());
  }
}

TEST(OnnxHostile, O21_AConcatenationOfFiftyThousand) {
  OnnxGraph graph;
  test::OnnxNames names;
  for (int i = 0; i < 50'000; ++i) {
    names.push_back(fmt::format("v{}", i));
    graph.input(names.back(), kFloat, OnnxDims{1});
  }
  graph.node("Concat", names, {"y"}, {attr("axis", 0)}).output("y");
  const std::vector<std::byte> bytes = OnnxModel(graph).bytes();
  const CpuTimer timer;
  const Result<Model> model = read_onnx(bytes, nullptr, "wide");
  EXPECT_LT(timer.seconds(), 1);
  ASSERT_TRUE(model) << model.error().to_string();
  EXPECT_EQ(model->graphs[0].nodes[0].inputs.size(), 50'000U);
  fmt::print("50,000 inputs: {:.0f} ms\n", 1e3 * timer.seconds());
}

OnnxGraph nested(int depth) {
  OnnxGraph body = OnnxGraph("deepest").node("Relu", {"x"}, {"r"}).output("r");
  for (int i = 0; i < depth; ++i)
    body = OnnxGraph("body")
               .node("Add", {"x", "x"}, {fmt::format("a{}", i)})
               .node("If", {"c"}, {fmt::format("i{}", i)}, {attr("then_branch", body)})
               .output(fmt::format("i{}", i));
  return OnnxGraph("main")
      .input("x", kFloat, OnnxDims{2})
      .input("c", kBool, OnnxDims{})
      .node("If", {"c"}, {"y"}, {attr("then_branch", body)})
      .output("y");
}

TEST(OnnxHostile, O21_TwoThousandBodiesInsideEachOther) {
  const std::vector<std::byte> bytes = OnnxModel(nested(2'000)).bytes();
  const CpuTimer timer;
  Result<Model> model = read_onnx(bytes, nullptr, "deep");
  EXPECT_LT(timer.seconds(), 1);
  ASSERT_TRUE(model) << model.error().to_string();
  EXPECT_EQ(model->graphs.size(), 2'002U);
  fmt::print("2,000 bodies: {:.0f} ms\n", 1e3 * timer.seconds());
  // Inside of a function they are copied.
  const OnnxModel called =
      OnnxModel(OnnxGraph()
                    .input("x", kFloat, OnnxDims{2})
                    .input("c", kBool, OnnxDims{})
                    .node("F", {"x", "c"}, {"y"}, {}, {.domain = "f"}))
          .function(test::OnnxFunction("f", "F", {"x", "c"}, {"y"})
                        .node("If", {"c"}, {"y"}, {attr("then_branch", nested(2'000))}));
  EXPECT_TRUE(read_onnx_model(called).model);
}

// A fault deep inside is told with the end of its path.
TEST(OnnxHostile, O21_FaultsInDeepBodiesHaveAPath) {
  OnnxGraph body = OnnxGraph("deepest").initializer(test::onnx_floats("w", {-1}, {}));
  for (int i = 0; i < 100; ++i)
    body = OnnxGraph("body").node("If", {"c"}, {}, {attr("then_branch", body)});
  expect_refused(
      read_onnx_model(OnnxModel(OnnxGraph()
                                    .input("c", kBool, OnnxDims{})
                                    .node("If", {"c"}, {}, {attr("then_branch", body)}))),
      ".node[0].attribute[0].g.initializer[0]: tensor 'w'");
}

}  // namespace
}  // namespace edgesage::onnx
