// NAS-Bench-201's cells against what is published of them: counts of distinct cells, work of the
// largest network, and the isomorphism classes that the measurements are grouped by.
#include "src/spaces/nas_bench_201.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "src/base/csv.h"
#include "src/base/file.h"
#include "src/graph/graph_hash.h"
#include "src/graph/validate.h"
#include "src/spaces/published.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

constexpr const char* kConv3x3Only =
    "|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|nor_conv_3x3~0|nor_conv_3x3~1|"
    "nor_conv_3x3~2|";

// The strings of a file of measurements; with `groups` also a column beside them.
std::vector<std::string> column_of(const char* file, const char* column) {
  const auto text = read_text(*test::data_dir() / "data" / file, ErrorCode::kInternal).value();
  const CsvTable table = parse_csv(text, file, ErrorCode::kInternal).value();
  const size_t index = table.column(column).value();
  std::vector<std::string> values;
  for (const auto& row : table.rows) values.push_back(row[index]);
  return values;
}

Graph build(std::string_view code, PublishedOptions options = {.weights = false}) {
  auto network = build_published("nas-bench-201", code, options);
  EXPECT_TRUE(network) << network.error().to_string();
  EXPECT_TRUE(validate(network->graph));
  return std::move(network->graph);
}

std::map<OpKind, int> kinds_of(const Graph& graph) {
  std::map<OpKind, int> kinds;
  for (const Operator& op : graph.main().operators) ++kinds[op.kind];
  return kinds;
}

struct Size {
  int64_t macs = 0, parameters = 0;
};
Size size_of(const Graph& graph) {
  Size size;
  const auto& tensors = graph.main().tensors;
  for (const Operator& op : graph.main().operators) {
    if (op.kind != OpKind::kConv2D && op.kind != OpKind::kFullyConnected) continue;
    const Tensor& filter = tensors[static_cast<size_t>(op.inputs[1])];
    const Tensor& output = tensors[static_cast<size_t>(op.outputs[0])];
    size.parameters += filter.element_count();
    size.macs += output.element_count() * filter.element_count() / filter.shape.front();
  }
  return size;
}

TEST(NasBench201, CodesSurviveTextAndBack) {
  const NasBench201Cell cell = NasBench201Cell::parse(kConv3x3Only).value();
  EXPECT_EQ(cell.code(), kConv3x3Only);
  const char* mixed = "|none~0|+|skip_connect~0|avg_pool_3x3~1|+|nor_conv_1x1~0|none~1|none~2|";
  EXPECT_EQ(NasBench201Cell::parse(mixed)->code(), mixed);
}

TEST(NasBench201, OtherTextIsRefusedInOneLine) {
  for (const char* text :
       {"", "|", "+", "++", "|none~0|", "|none~0|+|none~0|none~1|", "none",
        "|none~1|+|none~0|none~1|+|none~0|none~1|none~2|",
        "|none~0|+|none~0|none~1|+|none~0|none~1|none~2", "|none|+|none|none|+|none|none|none|",
        "|none~0|+|none~0|none~1|+|none~0|none~1|none~2|+",
        "|none~0|+|none~0|none~1|+|none~0|none~1|none~2|none~3|",
        " |none~0|+|none~0|none~1|+|none~0|none~1|none~2|",
        "|~0|+|none~0|none~1|+|none~0|none~1|none~2|"}) {
    const auto cell = NasBench201Cell::parse(text);
    ASSERT_FALSE(cell) << text;
    EXPECT_EQ(cell.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(cell.error().to_string().find('\n'), std::string::npos);
  }
  const auto wrong = NasBench201Cell::parse("|conv~0|+|none~0|none~1|+|none~0|none~1|none~2|");
  EXPECT_NE(wrong.error().message.find("nor_conv_3x3"), std::string::npos);
  EXPECT_NE(wrong.error().message.find("\"conv\""), std::string::npos);
}

// 220.12 M FLOPs and 1.53 M parameters: the largest network of the benchmark (Dong and Yang, 2020,
// and its API for CIFAR-10), without the two values a channel of batch normalisation.
TEST(NasBench201, LargestNetworkHasThePublishedWork) {
  const Graph graph = build(kConv3x3Only);
  const Size size = size_of(graph);
  EXPECT_EQ(size.macs, 220'119'680);
  EXPECT_NEAR(static_cast<double>(size.parameters), 1.531546e6, 0.01e6);
  const auto kinds = kinds_of(graph);
  EXPECT_EQ(kinds.at(OpKind::kConv2D), 1 + 15 * 6 + 2 * 3);
  EXPECT_EQ(kinds.at(OpKind::kAdd), 15 * 3 + 2 + 1);  // the last one is batch normalisation
  EXPECT_EQ(kinds.at(OpKind::kMul), 1);
  EXPECT_EQ(size_of(build(kConv3x3Only, {.resolution = 64, .weights = false})).macs,
            4 * (220'119'680 - 640) + 640);
}

TEST(NasBench201, ReluIsFusedWhereNothingElseReadsItsInput) {
  // Nodes are read by convolutions alone; only before a residual block is there a pool as well.
  EXPECT_EQ(kinds_of(build(kConv3x3Only)).at(OpKind::kRelu), 2);
  // Node 0 is also skipped, so it stays as it is beside one ReLU for both of its convolutions.
  const char* both =
      "|nor_conv_3x3~0|+|nor_conv_1x1~0|none~1|+|skip_connect~0|nor_conv_1x1~1|skip_connect~2|";
  EXPECT_EQ(kinds_of(build(both)).at(OpKind::kRelu), 15 + 2);
  // As written: one for each convolution that reads node 0.
  EXPECT_EQ(kinds_of(build(both, {.weights = false, .merge_common = false})).at(OpKind::kRelu),
            30 + 2);
}

TEST(NasBench201, SumsComeInTheOrderOfTheCode) {
  const Graph graph = build(
      "|skip_connect~0|+|none~0|nor_conv_1x1~1|+|avg_pool_3x3~0|skip_connect~1|nor_conv_3x3~2|");
  // Stem, ReLU, 1x1 (with the ReLU before node 2's 3x3), pool, 3x3, (pool + skip) + 3x3.
  std::vector<OpKind> kinds;
  for (size_t i = 0; i < 7; ++i) kinds.push_back(graph.main().operators[i].kind);
  EXPECT_EQ(kinds,
            (std::vector{OpKind::kConv2D, OpKind::kRelu, OpKind::kConv2D, OpKind::kAveragePool2D,
                         OpKind::kConv2D, OpKind::kAdd, OpKind::kAdd}));
  const auto& operators = graph.main().operators;
  EXPECT_EQ(operators[5].inputs, (std::vector{operators[3].outputs[0], operators[0].outputs[0]}));
  EXPECT_EQ(operators[6].inputs, (std::vector{operators[5].outputs[0], operators[4].outputs[0]}));
}

TEST(NasBench201, CellsWithoutAPathAreConstantsWithoutOperators) {
  const char* code = "|none~0|+|nor_conv_3x3~0|none~1|+|none~0|nor_conv_1x1~1|none~2|";
  const auto network = build_published("nas-bench-201", code);
  ASSERT_TRUE(network);
  EXPECT_TRUE(network->constant);
  EXPECT_TRUE(network->graph.main().operators.empty());
  EXPECT_TRUE(validate(network->graph));
}

TEST(NasBench201, ResolutionsThatDoNotHalveTwiceAreRefused) {
  for (const int64_t resolution : {-4, 1, 30, 33, 5000, 1 << 30})
    EXPECT_FALSE(build_published("nas-bench-201", kConv3x3Only, {.resolution = resolution}))
        << resolution;
  for (const int64_t resolution : {4, 32, 88, 224})
    EXPECT_TRUE(build_published("nas-bench-201", kConv3x3Only,
                                {.resolution = resolution, .weights = false}));
}

TEST(NasBench201, AllMeasuredCodesBuildAndFallIntoThePublishedClasses) {
  EDGESAGE_REQUIRE(test::data_dir(), "published measurements; set EDGESAGE_DATA_DIR");
  const std::vector<std::string> codes = column_of("latbench.csv", "arch_str");
  ASSERT_EQ(codes.size(), 15'625U);
  std::set<std::string> pruned, classes, hashes, all(codes.begin(), codes.end());
  EXPECT_EQ(all.size(), codes.size());
  int constants = 0;
  const auto start = std::chrono::steady_clock::now();
  for (const std::string& code : codes) {
    const auto network = build_published("nas-bench-201", code, {.weights = false});
    ASSERT_TRUE(network) << network.error().to_string();
    constants += network->constant;
    hashes.insert(graph_hash(network->graph));
    const NasBench201Cell cell = NasBench201Cell::parse(code).value();
    ASSERT_EQ(cell.code(), code);
    ASSERT_EQ(cell.constant(), network->constant);
    pruned.insert(cell.pruned().code());
    classes.insert(cell.isomorphism_class());
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  fmt::print("{} codes: {} pruned, {} classes, {} graphs, {} constant; {:.1f} s\n", codes.size(),
             pruned.size(), classes.size(), hashes.size(), constants, took.count());
  EXPECT_EQ(pruned.size(), 9'445U);
  EXPECT_EQ(classes.size(), 6'466U);
  EXPECT_EQ(constants, 341);
}

TEST(NasBench201, ClassesAreThoseThatTheEnergyMeasurementsAreGroupedBy) {
  EDGESAGE_REQUIRE(test::data_dir(), "published measurements; set EDGESAGE_DATA_DIR");
  const auto codes = column_of("nb201_pi5_energy.csv", "arch_str");
  const auto groups = column_of("nb201_pi5_energy.csv", "rep_arch_idx");
  std::map<std::string, std::string> group_of_class, class_of_group;
  for (size_t i = 0; i < codes.size(); ++i) {
    const std::string name = NasBench201Cell::parse(codes[i])->isomorphism_class();
    EXPECT_EQ(group_of_class.emplace(name, groups[i]).first->second, groups[i]);
    EXPECT_EQ(class_of_group.emplace(groups[i], name).first->second, name);
  }
}

TEST(NasBench201, ShapesAloneGiveTheGraphOfTheNetworkWithWeights) {
  Rng rng(3);
  for (int i = 0; i < 12; ++i) {
    const std::string code = draw_code("nas-bench-201", rng);
    for (const DataType type : {DataType::kInt8, DataType::kFloat32}) {
      const Graph with = build(code, {.type = type});
      const Graph without = build(code, {.type = type, .weights = false});
      EXPECT_EQ(graph_hash(with), graph_hash(without)) << code;
      EXPECT_EQ(weights_hash(with), weights_hash(build(code, {.type = type})));
    }
  }
}

}  // namespace
}  // namespace edgesage
