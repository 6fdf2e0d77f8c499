// Large ONNX files are read beside their mapping. The oracle is the reader of bytes in memory: the
// same tables, and of damaged files the same sentence with the same offset.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "src/base/file.h"
#include "src/base/hash.h"
#include "src/base/rng.h"
#include "src/io/onnx/heads.h"
#include "src/io/onnx/read.h"
#include "tests/io/onnx_test_support.h"
#include "tests/io/sparse_files.h"
#include "tests/support/test_paths.h"

namespace edgesage::onnx {
namespace {

using test::attr;
using test::OnnxDims;
using enum ElementType;

// 3 MB: weights of 90 kB, of 4 and 8 kB about the limit of what is copied, of a few bytes, and of
// numbers one by one; long texts; a body; a function call that there is no function for.
std::vector<std::byte> large_model() {
  test::OnnxGraph graph("network");
  graph.input("v0", kFloat, OnnxDims{"N", 64, 56, 56});
  for (int i = 0; i < 60; ++i) {
    const int64_t bytes = i % 2 == 0   ? 90'000
                          : i % 3 == 0 ? Heads::kLongest
                          : i % 5 == 0 ? 8'192
                                       : 8;
    const std::string weight = fmt::format("w{}", i), result = fmt::format("v{}", i + 1);
    graph
        .initializer(test::onnx_raw(weight, kFloat, {bytes / 4, 1},
                                    std::string(static_cast<size_t>(bytes), static_cast<char>(i))))
        .initializer(test::onnx_floats(weight + "b", {3}, std::vector<float>{1, 2, 3}))
        .node("Conv", {fmt::format("v{}", i), weight, weight + "b"}, {result},
              {attr("dilations", {1, 1}), attr("group", 1), attr("epsilon", 0.5F),
               attr("note", std::string(i == 7 ? 9'000 : 5, 'n').c_str())},
              {.name = fmt::format("/layers.{}/Conv", i)})
        .value_info(result, kFloat, OnnxDims{"N", i, 56, 56});
  }
  graph.output("v60", kFloat, OnnxDims{"N", 59, 56, 56});
  return test::OnnxModel(graph).opset("", 17).bytes();
}

void add_type(const ValueType& type, Hasher& hasher) {
  hasher.add(static_cast<uint64_t>(type.element));
  for (const Dimension& dim : type.shape) {
    hasher.add(static_cast<uint64_t>(dim.value));
    hasher.add(dim.symbol);
  }
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// All of what was read as a number, or why nothing was.
std::string summary(const Result<Model>& model) {
  if (!model) return model.error().to_string();
  Hasher hasher;
  for (const std::string& warning : model->warnings) hasher.add(warning);
  for (const OperatorSet& set : model->opsets) hasher.add(static_cast<uint64_t>(set.version));
  for (const GraphTable& graph : model->graphs) {
    hasher.add(graph.name);
    for (const Constant& constant : graph.initializers) {
      hasher.add(constant.name);
      for (const int64_t dim : constant.dims) hasher.add(static_cast<uint64_t>(dim));
      hasher.add(text_of(constant.data));
    }
    for (const auto* values : {&graph.inputs, &graph.outputs, &graph.value_info})
      for (const Value& value : *values) {
        hasher.add(value.name);
        add_type(value.type, hasher);
      }
    for (const Node& node : graph.nodes) {
      for (const auto& text : {node.op_type, node.domain, node.overload, node.name})
        hasher.add(text);
      for (const auto* names : {&node.inputs, &node.outputs})
        for (const std::string_view name : *names) hasher.add(name);
      for (const Attribute& attribute : node.attributes) {
        hasher.add(attribute.name);
        hasher.add(attribute.s);
        hasher.add(fmt::format("{} {}", attribute.f, attribute.i));
        for (const int64_t value : attribute.ints) hasher.add(static_cast<uint64_t>(value));
      }
    }
  }
  return fmt::format("{} nodes, {:x}", model->graphs.front().nodes.size(), hasher.low64());
}

Result<Model> read_open(const std::filesystem::path& path) {
  const auto open = OpenFile::open(path, ErrorCode::kBadModel);
  const auto file = open->map();
  return read_onnx(*file, "net.onnx", {}, &*open);
}

TEST(OnnxHeads, ReadsWhatTheReaderOfMemoryReads) {
  const test::TempDir dir;
  const std::vector<std::byte> bytes = large_model();
  ASSERT_TRUE(write_file(dir.path() / "net.onnx", bytes));
  const std::string expected = summary(read_onnx(bytes, nullptr, "net.onnx"));
  EXPECT_TRUE(expected.starts_with("60 nodes")) << expected;
  EXPECT_EQ(summary(read_open(dir.path() / "net.onnx")), expected);
}

TEST(OnnxHeads, DamageIsToldInTheSameWords) {
  const test::TempDir dir;
  const auto path = dir.path() / "net.onnx";
  const std::vector<std::byte> sound = large_model();
  // Places of names, which heads are around.
  const std::string text = text_of(sound);
  std::vector<size_t> heads;
  for (size_t at = text.find("w1"); at != std::string::npos; at = text.find("w1", at + 1))
    heads.push_back(at);
  Rng rng(3, "heads");
  int refused = 0;
  for (int i = 0; i < 120; ++i) {
    std::vector<std::byte> bytes = sound;
    if (i % 10 == 0) bytes.resize(static_cast<size_t>(rng.integer(2 << 20, std::ssize(bytes))));
    for (int64_t flips = rng.integer(1, 3); flips > 0; --flips) {
      const size_t at = i % 2 == 0 ? rng.pick(heads) + static_cast<size_t>(rng.integer(0, 40)) - 20
                                   : static_cast<size_t>(rng.integer(0, 20'000));
      bytes[std::min(at, bytes.size() - 1)] = static_cast<std::byte>(rng.integer(0, 255));
    }
    ASSERT_TRUE(write_file(path, bytes));
    const std::string expected = summary(read_onnx(bytes, nullptr, "net.onnx"));
    ASSERT_EQ(summary(read_open(path)), expected) << i;
    refused += expected.starts_with("net.onnx");
  }
  EXPECT_GT(refused, 30);
  EXPECT_LT(refused, 115);
}

// A file that becomes shorter after it was opened: the heads behind its end cannot be read.
TEST(OnnxHeads, AFileThatShrinksMeanwhileIsRefused) {
  const test::TempDir dir;
  const auto path = dir.path() / "net.onnx";
  ASSERT_TRUE(test::write_sparse_onnx(path, 10'000'000));
  const auto open = OpenFile::open(path, ErrorCode::kBadModel);
  const auto file = open->map();
  std::filesystem::resize_file(path, 5'000'000);
  const auto model = read_onnx(*file, "net.onnx", {}, &*open);
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().message.find("the file became shorter while it was read"),
            std::string::npos)
      << model.error().to_string();
}

// Kilobytes of the mapping that this process has touched.
int64_t touched_kb(const std::filesystem::path& path) {
  std::ifstream maps("/proc/self/smaps");
  bool is_here = false;
  int64_t kb = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find(path.string()) != std::string::npos) is_here = true;
    if (is_here && line.starts_with("Rss:")) {
      kb += std::stoll(line.substr(4));
      is_here = false;
    }
  }
  return kb;
}

// Of the mapping only its beginning is touched, and what the system maps beside it, however many
// weights lie how far apart.
TEST(OnnxHeads, TheMappingIsNotTouchedBetweenTheWeights) {
  const test::TempDir dir;
  for (const int64_t bytes : {10'000'000, 1'000'000'000}) {
    const auto path = dir.path() / "net.onnx";
    ASSERT_TRUE(test::write_sparse_onnx(path, bytes));
    const auto model = read_open(path);
    ASSERT_TRUE(model);
    EXPECT_EQ(model->graphs.front().initializers.size(), 50U);
    EXPECT_LE(touched_kb(path), 72) << bytes;
  }
}

}  // namespace
}  // namespace edgesage::onnx
