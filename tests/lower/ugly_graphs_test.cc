// Graphs that no converter writes, and kinds that nobody knows.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "src/base/rng.h"
#include "src/graph/op_registry.h"
#include "src/lower/rows.h"
#include "tests/lower/random_graph.h"

namespace edgesage {
namespace {

void expect_consistent(const Graph& graph, const Lowering& lowering) {
  const size_t operators = graph.subgraphs.empty() ? 0 : graph.main().operators.size();
  const size_t tensors = graph.subgraphs.empty() ? 0 : graph.main().tensors.size();
  ASSERT_EQ(lowering.operators.size(), operators);
  for (size_t i = 0; i < lowering.rows.size(); ++i) {
    const Row& row = lowering.rows[i];
    ASSERT_GE(row.op, 0);
    ASSERT_LT(static_cast<size_t>(row.op), operators);
    EXPECT_TRUE(std::ranges::is_sorted(row.inputs));
    for (const int32_t input : row.inputs) {
      EXPECT_GE(input, 0);
      EXPECT_LT(static_cast<size_t>(input), i);
    }
    for (const auto* list : {&row.ifm_tensors, &row.ofm_tensors})
      for (const int32_t tensor : *list) {
        EXPECT_GE(tensor, 0);
        EXPECT_LT(static_cast<size_t>(tensor), tensors);
      }
    EXPECT_GE(row.kernel_h, 0);
    EXPECT_GE(row.stride_h, 1);
    EXPECT_GE(row.ofm.elements(), 0);
  }
  for (const OperatorPlacement& placement : lowering.operators)
    EXPECT_TRUE(placement.placement != Placement::kCpu || !placement.reason.empty());
}

void lower_everywhere(const Graph& graph) {
  for (const std::string& name : target_names())
    expect_consistent(graph, lower(graph, *target_from_name(name)));
}

TEST(UglyGraphs, NoSubgraphGivesNoRowsAndAWarning) {
  const Lowering lowering = lower(Graph(), *target_from_name("ethos-u55-256"));
  EXPECT_TRUE(lowering.rows.empty());
  EXPECT_EQ(lowering.warnings.size(), 1U);
  lower_everywhere(Graph());
}

TEST(UglyGraphs, NoOperatorsGiveNoRows) {
  Graph graph;
  graph.subgraphs.emplace_back();
  lower_everywhere(graph);
}

Graph single(OpKind kind, const std::vector<int64_t>& shape, DataType type, bool self = false) {
  Graph graph;
  Subgraph& subgraph = graph.subgraphs.emplace_back();
  for (int i = 0; i < 4; ++i) {
    Tensor tensor;
    tensor.shape = shape;
    tensor.type = type;
    tensor.quantization.scale = {0.5F};
    tensor.quantization.zero_point = {0};
    subgraph.tensors.push_back(tensor);
  }
  Operator op;
  op.kind = kind;
  op.inputs = {0, 1, 2};
  op.outputs = {self ? 0 : 3};
  subgraph.operators.push_back(op);
  subgraph.inputs = {0, 1, 2};
  subgraph.outputs = {3};
  return graph;
}

TEST(UglyGraphs, EveryKindOfAnyRankAndTypeIsLowered) {
  for (const OpInfo& info : op_table())
    for (size_t rank = 0; rank <= 8; ++rank)
      for (const DataType type : {DataType::kInt8, DataType::kFloat32, DataType::kString})
        lower_everywhere(single(info.kind, std::vector<int64_t>(rank, 3), type));
}

TEST(UglyGraphs, UnknownZeroAndHugeDimensionsAreSurvived) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max() / 2;
  for (const OpInfo& info : op_table())
    for (const std::vector<int64_t>& shape :
         {std::vector<int64_t>{-1, -1, -1, -1}, {1, 0, 0, 3}, {1, kHuge, kHuge, kHuge}, {0}})
      lower_everywhere(single(info.kind, shape, DataType::kInt8));
}

TEST(UglyGraphs, AnOperatorThatReadsItsOwnOutputIsNotItsOwnInput) {
  for (const OpInfo& info : op_table())
    lower_everywhere(single(info.kind, {1, 4, 4, 8}, DataType::kInt8, true));
}

TEST(UglyGraphs, MissingOperandsAreSurvived) {
  for (const OpInfo& info : op_table()) {
    Graph graph = single(info.kind, {1, 4, 4, 8}, DataType::kInt8);
    graph.main().operators[0].inputs = {kNoTensor, kNoTensor};
    lower_everywhere(graph);
    graph.main().operators[0].inputs.clear();
    lower_everywhere(graph);
    graph.main().operators[0].outputs.clear();
    lower_everywhere(graph);
  }
}

TEST(UglyGraphs, OpaqueOperatorsAreNamedOnceInWarnings) {
  Graph graph = single(OpKind::kCustom, {1, 4, 4, 8}, DataType::kInt8);
  graph.main().operators[0].custom_code = "TFLite_Detection_PostProcess";
  graph.main().operators.push_back(graph.main().operators[0]);
  const Lowering lowering = lower(graph, *target_from_name("ethos-u55-256"));
  ASSERT_EQ(lowering.warnings.size(), 1U);
  EXPECT_NE(lowering.warnings[0].find("TFLite_Detection_PostProcess"), std::string::npos);
  EXPECT_EQ(lowering.rows[0].kind, RowKind::kOther);
  EXPECT_EQ(lowering.rows[0].placement, Placement::kCpu);
}

TEST(UglyGraphs, ControlFlowIsARowOfItsOwnAndAWarning) {
  const Lowering lowering =
      lower(single(OpKind::kWhile, {1}, DataType::kInt8), *target_from_name("litert-xnnpack"));
  ASSERT_EQ(lowering.rows.size(), 1U);
  EXPECT_EQ(lowering.rows[0].kind, RowKind::kControl);
  EXPECT_EQ(lowering.warnings.size(), 1U);
}

// Random wiring of random kinds; only the promises of the header must hold.
TEST(UglyGraphs, RandomGraphsKeepTheirPromises) {
  Rng rng(7);
  for (int round = 0; round < 300; ++round) lower_everywhere(test::random_graph(rng));
}

}  // namespace
}  // namespace edgesage
