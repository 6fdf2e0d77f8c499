// Placement and rows against Vela itself, on published files.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/base/file.h"
#include "src/graph/builder.h"
#include "src/graph/op_registry.h"
#include "src/io/model_file.h"
#include "src/io/tflite_writer.h"
#include "src/lower/rows.h"
#include "tests/lower/built_graph.h"
#include "tests/lower/oracle.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

struct Agreement {
  int same = 0, all = 0;
  std::vector<std::string> differences;
  [[nodiscard]] double share() const { return all > 0 ? static_cast<double>(same) / all : 0.0; }
};

void compare_placement(const std::string& path, const Lowering& lowering, const Json& npu,
                       const Graph& graph, Agreement& agreement) {
  ASSERT_EQ(npu.size(), lowering.operators.size()) << path;
  for (size_t i = 0; i < lowering.operators.size(); ++i) {
    const OperatorPlacement& ours = lowering.operators[i];
    const bool on_npu = ours.placement != Placement::kCpu;
    ++agreement.all;
    if (on_npu == npu[i].get<bool>())
      ++agreement.same;
    else
      agreement.differences.push_back(fmt::format("{} operator {} ({}): Vela {}, we {} {}", path, i,
                                                  op_name(graph.main().operators[i].kind),
                                                  npu[i].get<bool>() ? "npu" : "cpu",
                                                  on_npu ? "npu" : "cpu", ours.reason));
  }
}

void check_placement(const char* target_name) {
  EDGESAGE_REQUIRE(test::data_dir(), "the model files are not here (EDGESAGE_DATA_DIR)");
  EDGESAGE_REQUIRE(test::venv_python(), "ethos-u-vela is not installed (./dev setup)");
  const Result<Target> target = target_from_name(target_name);
  ASSERT_TRUE(target);
  std::vector<std::string> arguments = {target_name};
  for (std::string& path : test::tflite_paths()) arguments.push_back(std::move(path));
  const Json vela = test::run_oracle("lower/vela_placement.py", arguments);
  ASSERT_TRUE(vela.is_object());
  Agreement agreement;
  for (const auto& [path, answer] : vela.items()) {
    if (answer.is_null()) continue;  // Vela does not compile it
    const Result<Graph> graph = read_model(path);
    if (!graph || graph->subgraphs.empty()) continue;
    compare_placement(path, lower(*graph, *target), answer["npu"], *graph, agreement);
  }
  for (const std::string& difference : agreement.differences) fmt::print("{}\n", difference);
  fmt::print("{}: {} of {} operators placed as Vela does\n", target_name, agreement.same,
             agreement.all);
  EXPECT_GT(agreement.all, 300);
  EXPECT_GE(agreement.share(), 0.97);
}

TEST(VelaOracle, PlacesOperatorsAsVelaDoesOnU55) { check_placement("ethos-u55-256"); }
TEST(VelaOracle, PlacesOperatorsAsVelaDoesOnU85) { check_placement("ethos-u85-512"); }

// The kinds that Vela's own names stand for.
std::string_view kind_of(std::string_view nng) {
  static const std::map<std::string_view, std::string_view> kKinds = {
      {"Conv2D", "conv_2d"},
      {"DepthwiseConv2D", "depthwise_conv_2d"},
      {"AvgPool", "average_pool"},
      {"MaxPool", "max_pool"},
      {"Maximum", "min_max"},
      {"Add", "add"},
      {"Sub", "sub"},
      {"Mul", "mul"},
      {"Asr", "shift"},
      {"SHL", "shift"},
      {"CLZ", "shift"},
      {"ReduceSum", "reduce"},
      {"FullyConnected", "fully_connected"}};
  const auto found = kKinds.find(nng);
  return found != kKinds.end() ? found->second : nng;
}

TEST(VelaOracle, DecomposesMlperfTinyIntoTheRowsThatVelaReports) {
  EDGESAGE_REQUIRE(test::data_dir(), "the model files are not here (EDGESAGE_DATA_DIR)");
  EDGESAGE_REQUIRE(test::venv_python(), "ethos-u-vela is not installed (./dev setup)");
  std::vector<std::string> arguments = {"ethos-u55-256"};
  for (const std::string& path : test::tflite_paths())
    if (path.find("/tiny/") != std::string::npos && path.find("float") == std::string::npos)
      arguments.push_back(path);
  ASSERT_EQ(arguments.size(), 6U);
  const Json vela = test::run_oracle("lower/vela_placement.py", arguments);
  ASSERT_TRUE(vela.is_object());
  for (const auto& [path, answer] : vela.items()) {
    ASSERT_TRUE(answer.is_object()) << path;
    std::vector<std::string> theirs, ours;
    for (const Json& row : answer["rows"]) {
      const auto name = row[0].get<std::string>();
      const bool fused = row[1].get<int64_t>() == 0 && (name.starts_with("Relu") || name == "LUT");
      if (!fused) theirs.emplace_back(kind_of(name));
    }
    const Result<Graph> graph = read_model(path);
    ASSERT_TRUE(graph) << graph.error().to_string();
    for (const Row& row : lower(*graph, *target_from_name("ethos-u55-256")).rows)
      ours.emplace_back(row_kind_name(row.kind));
    EXPECT_EQ(ours, theirs) << path;
  }
}

// Rows that the compiler makes of small graphs, and their kinds by our names.
void expect_rows_of_vela(const std::vector<std::pair<std::string, Graph>>& graphs) {
  EDGESAGE_REQUIRE(test::venv_python(), "ethos-u-vela is not installed (./dev setup)");
  const test::TempDir folder;
  std::vector<std::string> arguments = {"ethos-u55-256"};
  for (const auto& [name, graph] : graphs) {
    const std::string path = (folder.path() / (name + ".tflite")).string();
    const Result<std::vector<std::byte>> bytes = write_tflite(graph);
    ASSERT_TRUE(bytes) << bytes.error().to_string();
    ASSERT_TRUE(write_file(path, *bytes));
    arguments.push_back(path);
  }
  const Json vela = test::run_oracle("lower/vela_placement.py", arguments);
  ASSERT_TRUE(vela.is_object());
  for (size_t i = 0; i < graphs.size(); ++i) {
    const Json& answer = vela[arguments[i + 1]];
    ASSERT_TRUE(answer.is_object()) << graphs[i].first;
    std::vector<std::string> theirs, ours;
    for (const Json& row : answer["rows"]) {
      const auto name = row[0].get<std::string>();
      const bool fused = row[1].get<int64_t>() == 0 && (name.starts_with("Relu") || name == "LUT");
      if (!fused) theirs.emplace_back(kind_of(name));
    }
    for (const Row& row : lower(graphs[i].second, *target_from_name("ethos-u55-256")).rows)
      ours.emplace_back(row_kind_name(row.kind));
    EXPECT_EQ(ours, theirs) << graphs[i].first;
  }
}

TEST(VelaOracle, DecomposesSlopesMapsAndDeadBranchesIntoTheRowsThatVelaReports) {
  std::vector<std::pair<std::string, Graph>> graphs;
  for (const int64_t channels : {3, 8, 24, 40}) {
    GraphBuilder net(int8_net());
    auto x = net.input("x", {1, 20, 12, 8});
    x = net.conv_2d(x, {.channels = channels, .kernel_h = 3, .kernel_w = 3});
    x = net.prelu(x);
    x = net.conv_2d(x, {.channels = 16});
    graphs.emplace_back(fmt::format("prelu{}", channels), finish(net, {x}));
  }
  for (const int64_t channels : {2, 21}) {
    GraphBuilder net(int8_net());
    auto x = net.input("x", {1, 20, 12, 8});
    x = net.conv_2d(x, {.channels = channels});
    graphs.emplace_back(fmt::format("map{}", channels), finish(net, {net.softmax(x)}));
  }
  GraphBuilder net(int8_net());
  auto x = net.input("x", {1, 20, 12, 8});
  x = net.conv_2d(x, {.channels = 16});
  net.softmax(net.prelu(net.conv_2d(x, {.channels = 24})));
  graphs.emplace_back("dead", finish(net, {net.conv_2d(x, {.channels = 32})}));
  expect_rows_of_vela(graphs);
}

}  // namespace
}  // namespace edgesage
