// Every cost of graphs that no converter writes: finite, never negative, one a row.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "src/analysis/cpu_nanoseconds.h"
#include "src/analysis/ethos_cycles.h"
#include "src/analysis/liveness.h"
#include "src/analysis/row_costs.h"
#include "src/base/rng.h"
#include "src/graph/op_registry.h"
#include "tests/lower/random_graph.h"

namespace edgesage {
namespace {

void expect_costs(const Graph& graph, std::string_view target) {
  const Lowering lowering = lower(graph, *target_from_name(target));
  const std::vector<RowCost> costs = row_costs(graph, lowering);
  const std::vector<RowCycles> cycles = ethos_row_cycles(graph, lowering);
  const std::vector<double> nanoseconds = cpu_row_ns(graph, lowering);
  ASSERT_EQ(costs.size(), lowering.rows.size());
  ASSERT_EQ(cycles.size(), lowering.rows.size());
  ASSERT_EQ(nanoseconds.size(), lowering.rows.size());
  for (size_t i = 0; i < costs.size(); ++i) {
    EXPECT_GE(costs[i].macs, 0);
    EXPECT_GE(costs[i].ifm_bytes, 0);
    EXPECT_GE(costs[i].ofm_bytes, 0);
    EXPECT_GE(costs[i].weights_bytes, 0);
    for (const double value : {cycles[i].npu, cycles[i].sram, cycles[i].dram, cycles[i].flash,
                               nanoseconds[i], costs[i].intensity()}) {
      EXPECT_TRUE(std::isfinite(value)) << op_name(lowering.rows[i].op_kind);
      EXPECT_GE(value, 0) << op_name(lowering.rows[i].op_kind);
    }
  }
  for (const int64_t bytes : liveness(graph, lowering).live_bytes) EXPECT_GE(bytes, 0);
  EXPECT_GE(liveness(graph).peak_bytes, 0);
  const GraphTotals totals = graph_totals(graph);
  EXPECT_GE(totals.macs, 0);
  EXPECT_GE(totals.parameters, 0);
}

Graph graph_of(OpKind kind, const std::vector<int64_t>& shape, bool constant_weights) {
  Graph graph;
  Subgraph& subgraph = graph.subgraphs.emplace_back();
  for (int i = 0; i < 4; ++i) {
    Tensor tensor;
    tensor.shape = shape;
    tensor.type = DataType::kInt8;
    tensor.quantization.scale = {0.5F};
    subgraph.tensors.push_back(tensor);
  }
  if (constant_weights) {
    graph.buffers.push_back(make_buffer(std::vector<std::byte>(64, std::byte{3})));
    subgraph.tensors[1].buffer = subgraph.tensors[2].buffer = 0;
    subgraph.tensors[2].type = DataType::kInt32;
  }
  Operator op;
  op.kind = kind;
  op.inputs = {0, 1, 2};
  op.outputs = {3};
  subgraph.operators.push_back(op);
  subgraph.inputs = {0};
  subgraph.outputs = {3};
  return graph;
}

TEST(UglyCosts, OfEveryKindAndAnyShape) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max() / 2;
  const std::vector<std::vector<int64_t>> shapes = {{},
                                                    {3},
                                                    {3, 3},
                                                    {3, 3, 3, 3},
                                                    {2, 3, 3, 3, 3},
                                                    {-1, 4, 4, 4},
                                                    {1, 0, 0, 3},
                                                    {1, kHuge, kHuge, 8},
                                                    {kHuge},
                                                    {1, 1, 1, kHuge}};
  for (const OpInfo& info : op_table())
    for (const std::vector<int64_t>& shape : shapes)
      for (const bool constant : {false, true})
        for (const char* target : {"ethos-u55-256", "ethos-u85-512", "litert-xnnpack"})
          expect_costs(graph_of(info.kind, shape, constant), target);
}

TEST(UglyCosts, OfNoSubgraphAndNoOperators) {
  Graph empty;
  Graph idle;
  idle.subgraphs.emplace_back();
  for (const std::string& target : target_names()) {
    expect_costs(empty, target);
    expect_costs(idle, target);
  }
}

TEST(UglyCosts, OfRandomGraphs) {
  Rng rng(8);
  for (int round = 0; round < 200; ++round) {
    const Graph graph = test::random_graph(rng);
    for (const char* target : {"ethos-u55-128", "ethos-u65-512", "ethos-u85-256", "litert-xnnpack"})
      expect_costs(graph, target);
  }
}

}  // namespace
}  // namespace edgesage
