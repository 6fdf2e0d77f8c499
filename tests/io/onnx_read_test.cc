// What the ONNX reader promises of files that are as they should be: tables as the file has them,
// elements as raw bytes, names that mean one thing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstring>

#include "src/io/onnx/read.h"
#include "tests/io/onnx_test_support.h"

namespace edgesage::onnx {
namespace {

using test::attr;
using test::OnnxDims;
using test::OnnxGraph;
using test::OnnxModel;
using test::OnnxTensor;
using enum ElementType;

constexpr auto kFloats = kFloat;

// The bytes must outlive the model: they are kept beside it.
struct Read {
  std::vector<std::byte> bytes;
  Result<Model> model = make_error(ErrorCode::kInternal, "", "not read");
  Model* operator->() { return &*model; }
  GraphTable& main() { return model->graphs.front(); }
};

Read read(const OnnxModel& source) {
  Read result;
  result.bytes = source.bytes();
  result.model = read_onnx(result.bytes, nullptr, "test.onnx");
  EXPECT_TRUE(result.model) << result.model.error().to_string();
  if (!result.model) {
    result.model = Model();
    result.model->graphs.emplace_back();
  }
  return result;
}

std::string warnings_of(const Model& model) {
  std::string all;
  for (const std::string& warning : model.warnings) all += warning + "\n";
  return all;
}

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", std::to_integer<int>(byte));
  return text;
}

// One initialiser, read back.
Constant constant(Read& storage, const OnnxTensor& tensor) {
  storage = read(OnnxModel(OnnxGraph().initializer(tensor)));
  EXPECT_EQ(storage.main().initializers.size(), 1U);
  return storage.main().initializers.empty() ? Constant() : storage.main().initializers.front();
}

TEST(OnnxReader, GivesTheTablesOfTheFile) {
  Read file = read(OnnxModel(OnnxGraph("net")
                                 .input("x", kFloats, OnnxDims{"N", 3, 8, 8})
                                 .initializer(test::onnx_floats("w", {1, 3, 1, 1}, {1, 2, 3}))
                                 .node("Conv", {"x", "w"}, {"y"},
                                       {attr("pads", {0, 1, 2, -3}), attr("group", 1),
                                        attr("auto_pad", "VALID"), attr("alpha", 0.5F)},
                                       {.name = "conv"})
                                 .value_info("y", kFloats, OnnxDims{"", 1, 8, 8})
                                 .output("y", kFloats, std::nullopt))
                       .metadata("author", "nobody"));
  ASSERT_EQ(file->graphs.size(), 1U);
  EXPECT_EQ(file->ir_version, 8);
  EXPECT_EQ(file->producer_name, "edgesage-test");
  ASSERT_EQ(file->metadata.size(), 1U);
  EXPECT_EQ(file->metadata[0].second, "nobody");
  const GraphTable& graph = file.main();
  EXPECT_EQ(graph.name, "net");
  EXPECT_EQ(graph.parent, -1);
  ASSERT_EQ(graph.inputs.size(), 1U);
  EXPECT_EQ(graph.inputs[0].type.shape,
            (std::vector<Dimension>{{-1, "N"}, {3, ""}, {8, ""}, {8, ""}}));
  ASSERT_EQ(graph.nodes.size(), 1U);
  const Node& node = graph.nodes[0];
  EXPECT_EQ(node.op_type, "Conv");
  EXPECT_EQ(node.name, "conv");
  EXPECT_EQ(node.since, 17);
  EXPECT_EQ(node.inputs, (std::vector<std::string_view>{"x", "w"}));
  EXPECT_EQ(node.attr_int("group", 0), 1);
  EXPECT_EQ(node.attr_string("auto_pad", ""), "VALID");
  EXPECT_EQ(node.attr_float("alpha", 0), 0.5);
  EXPECT_EQ(std::vector<int64_t>(node.attr_ints("pads").begin(), node.attr_ints("pads").end()),
            (std::vector<int64_t>{0, 1, 2, -3}));
  ASSERT_EQ(graph.value_info.size(), 1U);
  EXPECT_FALSE(graph.value_info[0].type.shape[0].known());
  EXPECT_FALSE(graph.outputs[0].type.has_shape);
  EXPECT_TRUE(file->warnings.empty()) << warnings_of(*file.model);
}

TEST(OnnxReader, WeightsAreViewsOfTheFile) {
  Read file;
  const std::string raw(64, 'w');
  for (const OnnxTensor& tensor :
       {test::onnx_raw("w", kInt8, {64}, raw), test::onnx_floats("w", {2}, {1, 2})}) {
    const Constant read = constant(file, tensor);
    EXPECT_GE(read.data.data(), file.bytes.data());
    EXPECT_LE(read.data.data() + read.data.size(), file.bytes.data() + file.bytes.size());
    EXPECT_EQ(read.storage, nullptr);
  }
}

// Every type that int32_data carries, narrowed to the bytes of raw_data.
TEST(OnnxReader, TypedFieldsBecomeRawBytes) {
  struct Case {
    ElementType type;
    std::vector<int32_t> numbers;
    std::vector<int64_t> dims;
    const char* raw;
  };
  const std::array<Case, 9> cases = {{
      {kInt32, {-1, 258}, {2}, "ffffffff02010000"},
      {kInt16, {-2, 258}, {2}, "feff0201"},
      {kUint16, {65535, 1}, {2}, "ffff0100"},
      {kInt8, {-128, 127}, {2}, "807f"},
      {kBool, {1, 0, 1}, {3}, "010001"},
      {kFloat16, {0x3c00, 0xbc00}, {2}, "003c00bc"},
      {kBfloat16, {0x3f80}, {1}, "803f"},
      {kInt4, {0x21, 0x43, 0x05}, {5}, "214305"},
      {kFloat6E2M3, {0x3f, 0x01, 0x20}, {3}, "7f0002"},
  }};
  Read file;
  for (const Case& one : cases)
    EXPECT_EQ(hex(constant(file, test::onnx_int32s("t", one.type, one.dims, one.numbers)).data),
              one.raw)
        << element_name(one.type);
  EXPECT_EQ(hex(constant(file, test::onnx_int64s("t", {2}, {-1, 513})).data),
            "ffffffffffffffff0102000000000000");
  const Constant text = constant(file, test::onnx_strings("t", {2}, {"a", "bc"}));
  EXPECT_EQ(text.strings, (std::vector<std::string_view>{"a", "bc"}));
}

// Repeated numbers come packed, one by one, or in several pieces; fields in any order; the last
// value of a single field counts, and the pieces of a message that is repeated are merged.
TEST(OnnxReader, UnderstandsEveryWayToWriteTheSameMessage) {
  const std::string packed("\x08\x02\x2a\x02\x07\x09\x10\x06", 8);
  const std::string single("\x10\x01\x28\x07\x10\x06\x28\x09\x08\x02", 10);
  const std::string pieces("\x2a\x01\x07\x0a\x01\x02\x2a\x00\x2a\x01\x09\x10\x06", 13);
  Read file;
  for (const std::string& proto : {packed, single, pieces})
    EXPECT_EQ(hex(constant(file, {proto}).data), "0700000009000000");

  const OnnxModel whole(OnnxGraph().input("x", kFloats, OnnxDims{}).node("Relu", {"x"}, {"y"}));
  const OnnxModel rest(OnnxGraph("second").node("Abs", {"y"}, {"z"}));
  const std::vector<std::byte> both = test::to_bytes(whole.text() + rest.text());
  const Result<Model> merged = read_onnx(both, nullptr, "twice.onnx");
  ASSERT_TRUE(merged) << merged.error().to_string();
  EXPECT_EQ(merged->graphs[0].nodes.size(), 2U);
  EXPECT_EQ(merged->graphs[0].name, "second");
}

TEST(OnnxReader, UnknownFieldsAreSkipped) {
  const OnnxModel model(OnnxGraph().input("x", kFloats, OnnxDims{}).node("Relu", {"x"}, {"y"}));
  // Field 1000 as varint, 8 bytes, text and 4 bytes.
  const std::string unknown(
      "\xc0\x3e\x05\xc1\x3e"
      "12345678\xc2\x3e\x03"
      "abc\xc5\x3e"
      "1234",
      25);
  const std::vector<std::byte> bytes = test::to_bytes(unknown + model.text() + unknown);
  const Result<Model> read = read_onnx(bytes, nullptr, "future.onnx");
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(read->graphs[0].nodes.size(), 1U);
}

// Files of 2017 have no AttributeProto.type.
TEST(OnnxReader, KindOfAnAttributeFollowsFromItsMember) {
  std::string untyped = attr("axes", {1, 2}).proto;
  untyped.resize(untyped.size() - 3);  // field 20
  Read file = read(OnnxModel(
      OnnxGraph().input("x", kFloats, OnnxDims{}).node("Squeeze", {"x"}, {"y"}, {{untyped}})));
  EXPECT_EQ(file.main().nodes[0].attr_ints("axes").size(), 2U);
}

TEST(OnnxReader, InitialisersAmongTheInputsAreConstants) {
  Read file = read(OnnxModel(OnnxGraph()
                                 .input("x", kFloats, OnnxDims{2})
                                 .input("w", kFloats, OnnxDims{2})
                                 .initializer(test::onnx_floats("w", {2}, {1, 2}))
                                 .node("Add", {"x", "w"}, {"y"})
                                 .output("y"))
                       .ir_version(3));
  ASSERT_EQ(file.main().inputs.size(), 1U);
  EXPECT_EQ(file.main().inputs[0].name, "x");
  EXPECT_EQ(file.main().initializers.size(), 1U);
}

TEST(OnnxReader, BodiesSeeTheGraphsAroundThem) {
  const OnnxGraph inner = OnnxGraph("inner").node("Add", {"x", "t"}, {"z"}).output("z");
  const OnnxGraph outer =
      OnnxGraph("outer")
          .node("Relu", {"x"}, {"t"})
          .node("If", {"c"}, {"r"}, {attr("then_branch", inner), attr("else_branch", inner)})
          .output("r");
  Read file = read(OnnxModel(
      OnnxGraph("main")
          .input("x", kFloats, OnnxDims{2})
          .input("c", kBool, OnnxDims{})
          .node("If", {"c"}, {"y"}, {attr("then_branch", outer), attr("else_branch", outer)})
          .output("y")));
  ASSERT_EQ(file->graphs.size(), 7U);
  const Node& node = file.main().nodes[0];
  EXPECT_EQ(node.attr_graph("then_branch"), 1);
  EXPECT_EQ(node.attr_graph("else_branch"), 2);
  for (size_t i = 1; i < 7; ++i) {
    const GraphTable& graph = file->graphs[i];
    EXPECT_EQ(graph.parent, i < 3 ? 0 : static_cast<int32_t>(i - 1) / 2);
    EXPECT_EQ(graph.name, i < 3 ? "outer" : "inner");
  }
  EXPECT_TRUE(file->warnings.empty()) << warnings_of(*file.model);
}

TEST(OnnxReader, SortsNodesThatReadWhatComesLater) {
  const OnnxGraph body = OnnxGraph("body").node("Neg", {"b"}, {"n"}).output("n");
  Read file = read(OnnxModel(OnnxGraph()
                                 .input("x", kFloats, OnnxDims{2})
                                 .input("c", kBool, OnnxDims{})
                                 .node("If", {"c"}, {"y"},
                                       {attr("then_branch", body), attr("else_branch", body)},
                                       {.name = "reads b"})
                                 .node("Abs", {"x"}, {"free"}, {}, {.name = "free"})
                                 .node("Relu", {"a"}, {"b"}, {}, {.name = "makes b"})
                                 .node("Exp", {"x"}, {"a"}, {}, {.name = "makes a"})
                                 .output("y")));
  std::vector<std::string_view> names;
  for (const Node& node : file.main().nodes) names.push_back(node.name);
  EXPECT_EQ(names, (std::vector<std::string_view>{"free", "makes a", "makes b", "reads b"}));
  EXPECT_NE(warnings_of(*file.model).find("sorted"), std::string::npos);
}

// A loop's body may write to a name that it read from outside; a branch may hide an outer value.
TEST(OnnxReader, ANameMeansOneValueOnTheWayIn) {
  const OnnxGraph body = OnnxGraph("body")
                             .node("Relu", {"x"}, {"x"})
                             .node("Abs", {"x"}, {"late"})
                             .output("late")
                             .value_info("x", kFloats, OnnxDims{7});
  Read file = read(OnnxModel(
      OnnxGraph()
          .input("x", kFloats, OnnxDims{2})
          .input("c", kBool, OnnxDims{})
          .node("If", {"c"}, {"y"}, {attr("then_branch", body), attr("else_branch", body)})
          .node("Neg", {"x"}, {"late"})
          .output("y")));
  const GraphTable& inside = file->graphs[1];
  EXPECT_EQ(inside.nodes[0].inputs[0], "x");
  EXPECT_NE(inside.nodes[0].outputs[0], "x");
  EXPECT_EQ(inside.nodes[1].inputs[0], inside.nodes[0].outputs[0]);
  EXPECT_NE(inside.nodes[1].outputs[0], "late");
  EXPECT_EQ(inside.outputs[0].name, inside.nodes[1].outputs[0]);
  EXPECT_EQ(inside.value_info[0].name, inside.nodes[0].outputs[0]);
  EXPECT_EQ(file.main().nodes[1].outputs[0], "late");
}

TEST(OnnxReader, DomainOfOnnxIsSpelledEmpty) {
  Read file = read(OnnxModel(OnnxGraph()
                                 .input("x", kFloats, OnnxDims{2})
                                 .node("Relu", {"x"}, {"y"}, {}, {.domain = "ai.onnx"})
                                 .node("Gelu", {"y"}, {"z"}, {}, {.domain = "com.microsoft"}))
                       .opset("ai.onnx", 19)
                       .no_opset()
                       .opset("com.microsoft", 1));
  EXPECT_EQ(file.main().nodes[0].domain, "");
  EXPECT_EQ(file.main().nodes[0].since, 19);
  EXPECT_EQ(file.main().nodes[1].since, 1);
}

TEST(OnnxReader, ReadersShareNothing) {
  const std::vector<std::byte> bytes =
      OnnxModel(OnnxGraph().input("x", kFloats, OnnxDims{2}).node("Relu", {"x"}, {"x"})).bytes();
  const Result<Model> first = read_onnx(bytes, nullptr, "a");
  const Result<Model> second = read_onnx(bytes, nullptr, "a");
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->graphs[0].nodes[0].outputs[0], second->graphs[0].nodes[0].outputs[0]);
}

}  // namespace
}  // namespace edgesage::onnx
