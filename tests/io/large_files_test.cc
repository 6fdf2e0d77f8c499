// Large files: deep chains, deep nesting, wide operators and gigabytes of weights are read and
// described in time and memory that grow with the tables, not faster, and not with the weights.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "src/app/inspect.h"
#include "src/base/file.h"
#include "src/io/model_file.h"
#include "src/io/tflite_writer.h"
#include "tests/io/odd_files.h"
#include "tests/io/sparse_files.h"
#include "tests/support/allocations.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

// `count` operators, each reading the one before.
Graph chain(int64_t count) {
  Graph graph;
  Subgraph& main = graph.subgraphs.emplace_back();
  for (int64_t i = 0; i <= count; ++i)
    main.tensors.push_back(test::plain_tensor("", DataType::kInt8, {1, 2, 2, 1}));
  for (int32_t i = 0; i < count; ++i) {
    Operator& op = main.operators.emplace_back();
    op.kind = OpKind::kAbs;
    op.inputs = {i};
    op.outputs = {i + 1};
  }
  main.inputs = {0};
  main.outputs = {static_cast<int32_t>(count)};
  return graph;
}

// Loops inside each other, a convolution in the innermost.
Graph nest(int64_t depth) {
  Graph graph = test::convolution(4, 3, 3);
  const Subgraph innermost = graph.main();
  graph.subgraphs.clear();
  for (int64_t i = 0; i < depth; ++i) {
    Operator loop;
    loop.kind = OpKind::kWhile;
    loop.attributes = {{"cond_subgraph_index", depth + 1}, {"body_subgraph_index", i + 1}};
    graph.subgraphs.push_back(
        test::one_operator(loop, {test::plain_tensor("in", DataType::kInt8, {1, 4, 4, 3})},
                           {test::plain_tensor("out", DataType::kInt8, {1, 4, 4, 3})})
            .main());
  }
  graph.subgraphs.push_back(innermost);
  Subgraph& condition = graph.subgraphs.emplace_back();
  condition.tensors = {test::plain_tensor("go", DataType::kBool, {1})};
  condition.inputs = {};
  condition.outputs = {0};
  return graph;
}

Graph wide(int64_t inputs) {
  Operator op;
  op.kind = OpKind::kConcatenation;
  op.attributes = {{"axis", int64_t{3}}};
  std::vector<Tensor> parts(static_cast<size_t>(inputs),
                            test::plain_tensor("", DataType::kInt8, {1, 2, 2, 1}));
  return test::one_operator(op, std::move(parts),
                            {test::plain_tensor("all", DataType::kInt8, {1, 2, 2, inputs})});
}

struct Cost {
  double seconds = 0;
  double bytes = 0;
};

// Reads and describes, with rows for a target.
Cost inspect_cost(const Graph& graph, const char* target) {
  const test::TempDir dir;
  const std::string path = (dir.path() / "large.tflite").string();
  const auto bytes = write_tflite(graph);
  EXPECT_TRUE(bytes && write_file(path, *bytes));
  const auto start = std::chrono::steady_clock::now();
  test::Allocations& heap = test::allocations();
  const int64_t before = heap.live_bytes;
  heap.peak_bytes = before;
  const auto answers = app::inspect({{path}, target, {}, false});
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  EXPECT_TRUE(answers.front().result) << answers.front().result.error().to_string();
  return {taken.count(), static_cast<double>(heap.peak_bytes - before)};
}

void expect_linear(const std::function<Graph(int64_t)>& make, int64_t size) {
  for (const char* target : {"litert-xnnpack", "ethos-u55-128"}) {
    const Cost small = inspect_cost(make(size / 10), target);
    const Cost large = inspect_cost(make(size), target);
    EXPECT_LT(large.bytes, 14 * small.bytes) << target;
    testing::Test::RecordProperty(std::string(target) + "_ms",
                                  static_cast<int>(large.seconds * 1e3));
    testing::Test::RecordProperty(std::string(target) + "_mb", static_cast<int>(large.bytes / 1e6));
#ifdef NDEBUG
    // Wide enough for a machine with other work; quadratic behaviour takes minutes.
    EXPECT_LT(large.seconds, 10.0) << target;
#endif
  }
}

TEST(LargeFiles, HundredThousandOperatorsInAChain) { expect_linear(chain, 100'000); }
TEST(LargeFiles, TwoThousandNestedSubgraphs) { expect_linear(nest, 2'000); }
TEST(LargeFiles, FiftyThousandInputsOfOneOperator) { expect_linear(wide, 50'000); }

// Each subgraph runs the next one twice: unfolded, more operators than atoms.
TEST(LargeFiles, DoublingSubgraphsAreCutOff) {
  Graph graph = nest(60);
  for (size_t i = 0; i < 60; ++i) {
    graph.subgraphs[i].operators[0].kind = OpKind::kCall;
    graph.subgraphs[i].operators[0].attributes = {{"subgraph", static_cast<int64_t>(i) + 1}};
    graph.subgraphs[i].operators.push_back(graph.subgraphs[i].operators[0]);
  }
  const auto inspection = app::inspect_graph(graph, "generic");
  ASSERT_TRUE(inspection);
  EXPECT_EQ(inspection->macs, std::numeric_limits<int64_t>::max());
  EXPECT_FALSE(inspection->unsupported.empty());
}

// Pages of a file of holes that are in memory after reading and describing: those that were
// written, and those that were touched.
int64_t touched_pages(const std::filesystem::path& path) {
  const auto graph = read_model(path);
  EXPECT_TRUE(graph) << graph.error().to_string();
  if (!graph) return 0;
  EXPECT_EQ(graph->main().operators.size(), path.extension() == ".onnx" ? 50 : 100);
  EXPECT_TRUE(app::inspect_graph(*graph, "litert-xnnpack"));
  return std::ssize(test::cached_pages(path));
}

using WriteSparse = Status (*)(const std::filesystem::path&, int64_t);

// Of the weights nothing is touched; what stands between them is a page a tensor.
TEST(LargeFiles, WeightsAreNotTouched) {
  const test::TempDir dir;
  constexpr int64_t kSmall = 10'000'000, kLarge = 1'000'000'000;
  for (const auto& [name, write] :
       {std::pair<const char*, WriteSparse>{"onnx", test::write_sparse_onnx},
        {"tflite", test::write_sparse_tflite}}) {
    const auto path = [&](const char* size) {
      return dir.path() / (std::string(size) + '.' + name);
    };
    ASSERT_TRUE(write(path("small"), kSmall));
    ASSERT_TRUE(write(path("large"), kLarge));
    const int64_t small = touched_pages(path("small")), large = touched_pages(path("large"));
    RecordProperty(std::string(name) + "_pages_of_10_mb", static_cast<int>(small));
    RecordProperty(std::string(name) + "_pages_of_1_gb", static_cast<int>(large));
    fmt::print("{}: {} pages of 10 MB, {} of 1 GB\n", name, small, large);
    EXPECT_LE(large, small + 8) << name;
  }
}

}  // namespace
}  // namespace edgesage
