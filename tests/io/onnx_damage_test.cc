// Damaged ONNX files: a fault of the wire format or of what it holds is told with its place, and no
// bytes whatever crash the reader (the sanitizers watch).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "src/base/file.h"
#include "src/base/rng.h"
#include "tests/io/onnx_hostile_support.h"
#include "tests/support/test_paths.h"

namespace edgesage::onnx {
namespace {

using test::attr;
using test::expect_refused;
using test::expect_warning;
using test::OnnxDims;
using test::OnnxGraph;
using test::OnnxModel;
using test::read_onnx_bytes;
using test::read_onnx_model;
using test::ReadOnnx;
using enum ElementType;

// Any bytes: a sound model, or one line.
void expect_handled(std::span<const std::byte> bytes) {
  const Result<Model> model = read_onnx(bytes, nullptr, "net.onnx");
  if (!model) {
    ASSERT_EQ(model.error().code, ErrorCode::kBadModel);
    ASSERT_FALSE(model.error().message.empty());
    ASSERT_EQ(model.error().to_string().find('\n'), std::string::npos);
    return;
  }
  ASSERT_FALSE(model->graphs.empty());
  unsigned sum = 0;
  for (const GraphTable& graph : model->graphs) {
    ASSERT_LT(graph.parent, static_cast<int32_t>(model->graphs.size()));
    for (const Constant& constant : graph.initializers) {
      for (const std::byte byte : constant.data) sum += std::to_integer<unsigned>(byte);
      for (const std::string_view text : constant.strings)
        sum += static_cast<unsigned>(text.size());
    }
    for (const Node& node : graph.nodes)
      for (const Attribute& attribute : node.attributes)
        for (const int32_t body : attribute.graphs)
          ASSERT_LT(static_cast<size_t>(body), model->graphs.size());
  }
  ASSERT_LE(sum, UINT32_MAX);
}

// Dimensions that no memory holds, and those that are none.
TEST(OnnxDamage, DimensionsOfTensorsAreChecked) {
  const auto sized = [](std::vector<int64_t> dims, ElementType type = kFloat) {
    return read_onnx_model(OnnxModel(OnnxGraph().initializer(test::onnx_raw("w", type, dims, ""))));
  };
  expect_refused(sized({-1}), "negative dimension");
  expect_refused(sized({INT64_MIN, 2}), "negative dimension");
  expect_refused(sized({INT64_MAX, 2}), "63 bits");
  expect_refused(sized({1LL << 32, 1LL << 32}), "63 bits");
  expect_refused(sized({1LL << 40}), "4398046511104");
  expect_refused(sized({2, 3}), "0 bytes where its dimensions say 24");
  EXPECT_TRUE(sized({0, INT64_MAX, INT64_MAX}).model);
  expect_refused(sized({INT64_MAX, 4}, kString), "63 bits");
}

TEST(OnnxDamage, NamesThatNothingMakesAreRefused) {
  expect_refused(
      read_onnx_model(OnnxModel(OnnxGraph().node("Relu", {"x"}, {"y"}, {}, {.name = "n"}))),
      "node 'n' (Relu) reads 'x'");
  expect_refused(read_onnx_model(OnnxModel(OnnxGraph().output("y"))), "gives out 'y'");
  // What a body makes is not seen outside of it.
  const OnnxGraph body = OnnxGraph("body").node("Relu", {"c"}, {"inside"}).output("inside");
  expect_refused(
      read_onnx_model(OnnxModel(OnnxGraph()
                                    .input("c", kBool, OnnxDims{})
                                    .node("If", {"c"}, {"y"}, {attr("then_branch", body)})
                                    .node("Abs", {"inside"}, {"z"}))),
      "reads 'inside'");
}

TEST(OnnxDamage, CirclesOfNodesAreNamed) {
  expect_refused(
      read_onnx_model(OnnxModel(OnnxGraph()
                                    .input("x", kFloat, OnnxDims{2})
                                    .node("Add", {"x", "c"}, {"a"}, {}, {.name = "first"})
                                    .node("Abs", {"a"}, {"b"}, {}, {.name = "second"})
                                    .node("Exp", {"b"}, {"c"}))),
      "node 'first' (Add) -> node 'second' (Abs) -> node 2 (Exp) -> node 'first'");
  expect_refused(
      read_onnx_model(OnnxModel(OnnxGraph().node("Relu", {"a"}, {"a"}, {}, {.name = "self"}))),
      "node 'self' (Relu) -> node 'self' (Relu)");
  const OnnxGraph body = OnnxGraph("body").node("Relu", {"y"}, {"r"}).output("r");
  expect_refused(
      read_onnx_model(OnnxModel(OnnxGraph()
                                    .input("c", kBool, OnnxDims{})
                                    .node("If", {"c"}, {"y"}, {attr("then_branch", body)}))),
      "node 0 (If) -> node 0 (If)");
}

// Faults of the wire format: each with its offset and the field it is in.
TEST(OnnxDamage, WireFaultsHaveAnOffsetAndAField) {
  const std::string head("\x08\x08\x12\x01p", 5);  // ir_version, producer_name
  const auto refused = [&](std::string_view rest, std::string_view part) {
    expect_refused(read_onnx_bytes(test::to_bytes(head + std::string(rest))), part);
  };
  using namespace std::string_view_literals;
  refused("\x3a\x05\x0a"sv, "byte 5, graph: 5 bytes are announced where 1 are left");
  refused("\x3a\x02\x0a\x7f"sv, "byte 7, graph.node[0]: 127 bytes");
  refused("\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv, "18446744073709551615 bytes");
  // A length of 2^32 + 1, which is not 1.
  refused("\x3a\x81\x80\x80\x80\x10\x00"sv, "4294967297 bytes");
  refused("\x3a\x02\x08\x01"sv, "byte 7, graph.node[0]: wire type 0 where 2 is wanted");
  refused("\x3a\x0c\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"sv, "more than 10 bytes");
  refused("\x3a\x01\x80"sv, "byte 7, graph: a varint that the end");
  refused("\x3a\x01\x03"sv, "field number 0");
  refused("\x3a\x01\x0b"sv, "wire type 3");
  refused("\x3a\x01\x0f"sv, "wire type 7");
  // float_data of 3 bytes; a packed varint cut off; an empty node.
  refused("\x3a\x07\x2a\x05\x22\x03\x01\x02\x03"sv,
          "graph.initializer[0].float_data: 3 bytes, which are no whole number");
  refused("\x3a\x05\x2a\x03\x0a\x01\x80"sv, "graph.initializer[0].dims: a packed varint");
  refused("\x3a\x02\x0a\x00"sv, "byte 9, graph.node[0]: a node without an op_type");
}

// What is no name is no attribute.
TEST(OnnxDamage, AttributesWithoutANameAreLeftOut) {
  const ReadOnnx file = read_onnx_model(
      OnnxModel(OnnxGraph()
                    .input("x", kFloat, OnnxDims{2})
                    .node("Op", {"x"}, {"y"}, {attr("a", 1), attr("", 2), attr("b", 3)})));
  expect_warning(file, "1 attributes have no name");
  EXPECT_EQ(file.model->graphs[0].nodes[0].attributes.size(), 2U);
}

TEST(OnnxDamage, FilesOfFourGigabytesAreRefused) {
  const test::TempDir dir;
  const auto path = dir.path() / "large.onnx";
  ASSERT_TRUE(write_file(path, OnnxModel(OnnxGraph()).bytes()));
  std::error_code error;
  std::filesystem::resize_file(path, uintmax_t{1} << 32, error);
  if (error) GTEST_SKIP() << "no sparse files of 4 GB here";
  const auto file = MappedFile::open(path, ErrorCode::kBadModel);
  ASSERT_TRUE(file);
  const Result<Model> model = read_onnx(*file, "large.onnx");
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().message.find("external data"), std::string::npos);
}

TEST(OnnxDamage, MessagesStayOneLine) {
  const std::string name = "a\nb\x1b[31m" + std::string(5'000, 'x');
  const ReadOnnx file = read_onnx_model(OnnxModel(OnnxGraph().node("Relu", {name}, {"y"})));
  ASSERT_FALSE(file.model);
  const std::string& message = file.model.error().message;
  EXPECT_LT(message.size(), 1'100U);
  EXPECT_TRUE(std::ranges::all_of(message, [](char c) { return c >= ' '; })) << message;
}

std::vector<std::vector<std::byte>> small_files() {
  const OnnxGraph body = OnnxGraph("body")
                             .initializer(test::onnx_int64s("k", {2}, {1, 300}))
                             .node("F", {"x"}, {"r"}, {attr("alpha", 0.5F)}, {.domain = "f"})
                             .output("r");
  std::vector<std::vector<std::byte>> files;
  files.push_back(
      OnnxModel(
          OnnxGraph()
              .input("x", kFloat, OnnxDims{"N", 2})
              .input("c", kBool, OnnxDims{})
              .input("s", test::onnx_sequence_type(test::onnx_tensor_type(kFloat, {})))
              .initializer(test::onnx_int32s("w", kInt4, {3}, {0x21, 3}))
              .initializer(test::onnx_strings("t", {2}, {"a", "b"}))
              .initializer(test::onnx_external("e", kInt8, {4}, {{"location", "gone"}}))
              .sparse_initializer(test::onnx_floats("p", {1}, {1}), test::onnx_int64s("", {1}, {1}),
                                  {2, 2})
              .node("If", {"c"}, {"y"}, {attr("then_branch", body), attr("else_branch", body)})
              .node("Conv", {"y", "w"}, {"z"}, {attr("pads", {1, 2}), attr("a", "b")})
              .value_info("y", kFloat, OnnxDims{3, ""})
              .output("z"))
          .metadata("key", "value")
          .function(test::OnnxFunction("f", "F", {"a"}, {"r"})
                        .attribute("alpha")
                        .opset("", 17)
                        .node("Elu", {"a"}, {"r"},
                              {test::attr_reference("alpha", "alpha", Attribute::Kind::kFloat)}))
          .bytes());
  for (const auto& path : test::published_onnx_files()) {
    if (files.size() == 40) break;
    const auto file = MappedFile::open(path, ErrorCode::kBadModel);
    // Those with an odd place in the list, of all sizes up to 4 kB.
    if (!file || (*file)->bytes().size() > 4'000 || files.size() % 2 == 0) continue;
    files.emplace_back((*file)->bytes().begin(), (*file)->bytes().end());
  }
  return files;
}

TEST(OnnxDamage, EveryTruncationIsRefusedOrSound) {
  size_t refused = 0;
  size_t cuts = 0;
  for (const std::vector<std::byte>& whole : small_files())
    for (size_t length = 0; length < whole.size(); ++length) {
      const std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<long>(length));
      expect_handled(cut);
      refused += read_onnx(cut, nullptr, "cut") ? 0 : 1;
      ++cuts;
    }
  // Between two outermost fields a cut leaves a message that is whole.
  EXPECT_GT(static_cast<double>(refused), 0.9 * static_cast<double>(cuts));
}

TEST(OnnxDamage, FlippedBytesDoNotCrash) {
  constexpr int kMutants = 4'000;
  const std::vector<std::vector<std::byte>> sources = small_files();
  Rng rng(7, "onnx flips");
  int readable = 0;
  for (int i = 0; i < kMutants; ++i) {
    std::vector<std::byte> bytes = rng.pick(sources);
    for (int64_t flips = rng.integer(1, 6); flips > 0; --flips)
      bytes[static_cast<size_t>(rng.integer(0, static_cast<int64_t>(bytes.size()) - 1))] =
          static_cast<std::byte>(rng.integer(0, 255));
    expect_handled(bytes);
    readable += read_onnx(bytes, nullptr, "flipped") ? 1 : 0;
  }
  EXPECT_GT(readable, kMutants / 100);  // faults are found deep inside too
}

}  // namespace
}  // namespace edgesage::onnx
