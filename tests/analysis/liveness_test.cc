#include "src/analysis/liveness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "src/base/rng.h"
#include "src/graph/builder.h"

namespace edgesage {
namespace {

Graph random_graph(Rng& rng) {
  Graph graph;
  Subgraph& subgraph = graph.subgraphs.emplace_back();
  graph.buffers.push_back(make_buffer({}));
  const auto tensors = static_cast<int32_t>(rng.integer(4, 20));
  for (int32_t i = 0; i < tensors; ++i) {
    Tensor tensor;
    tensor.type = DataType::kInt8;
    tensor.shape = {rng.integer(1, 100)};
    if (rng.chance(0.1)) tensor.buffer = 0;
    if (rng.chance(0.1)) tensor.is_variable = true;
    subgraph.tensors.push_back(tensor);
  }
  const auto any = [&] { return static_cast<int32_t>(rng.integer(0, tensors - 1)); };
  for (int64_t i = rng.integer(1, 15); i > 0; --i) {
    Operator op;
    op.kind = OpKind::kUnknown;  // runs as it is on every target
    for (int64_t k = rng.integer(1, 3); k > 0; --k) op.inputs.push_back(any());
    op.outputs.push_back(any());
    subgraph.operators.push_back(op);
  }
  subgraph.inputs = {any()};
  subgraph.outputs = {any()};
  return graph;
}

// The definition, step by step: a tensor is live at a step if it was touched at or before it and
// will be touched at or after it.
int64_t live_by_definition(const Subgraph& subgraph, int32_t step) {
  const auto last = static_cast<int32_t>(subgraph.operators.size()) - 1;
  int64_t bytes = 0;
  for (size_t t = 0; t < subgraph.tensors.size(); ++t) {
    const auto index = static_cast<int32_t>(t);
    if (subgraph.tensors[t].is_constant()) continue;
    std::set<int32_t> touched;
    for (int32_t s = 0; s <= last; ++s) {
      const Operator& op = subgraph.operators[static_cast<size_t>(s)];
      const bool here =
          std::ranges::count(op.inputs, index) + std::ranges::count(op.outputs, index);
      if (here) touched.insert(s);
    }
    if (std::ranges::count(subgraph.inputs, index) || subgraph.tensors[t].is_variable)
      touched.insert(0);
    if (std::ranges::count(subgraph.outputs, index) || subgraph.tensors[t].is_variable)
      touched.insert(last);
    if (touched.empty() || *touched.begin() > step || *touched.rbegin() < step) continue;
    bytes += subgraph.tensors[t].element_count();
  }
  return bytes;
}

TEST(Liveness, AgreesWithItsDefinitionOnRandomGraphs) {
  Rng rng(11);
  for (int round = 0; round < 500; ++round) {
    const Graph graph = random_graph(rng);
    const Liveness ours = liveness(graph);
    ASSERT_EQ(ours.live_bytes.size(), graph.main().operators.size());
    int64_t peak = 0;
    for (size_t step = 0; step < ours.live_bytes.size(); ++step) {
      EXPECT_EQ(ours.live_bytes[step],
                live_by_definition(graph.main(), static_cast<int32_t>(step)));
      peak = std::max(peak, ours.live_bytes[step]);
    }
    EXPECT_EQ(ours.peak_bytes, peak);
    EXPECT_EQ(ours.live_bytes[static_cast<size_t>(ours.peak_step)], peak);
  }
}

TEST(Liveness, OverRowsEqualsOverOperatorsWhereNothingIsFused) {
  Rng rng(12);
  for (int round = 0; round < 200; ++round) {
    const Graph graph = random_graph(rng);
    const Lowering lowering = lower(graph, *target_from_name("litert-xnnpack"));
    EXPECT_EQ(liveness(graph, lowering).live_bytes, liveness(graph).live_bytes);
  }
}

TEST(Liveness, TensorsInsideFusionsDoNotExistOverRows) {
  GraphBuilder::Options options;
  options.type = DataType::kInt8;
  GraphBuilder net(options);
  const auto x = net.input("x", {1, 8, 8, 8});
  const auto y = net.hard_swish(net.conv_2d(x, {.channels = 16}));
  Result<Graph> graph = net.finish({net.reshape(y, {1, 1024})});
  ASSERT_TRUE(graph);
  EXPECT_EQ(liveness(*graph).peak_bytes, 2048);  // hard-swish in and out
  const Liveness rows = liveness(*graph, lower(*graph, *target_from_name("ethos-u55-256")));
  EXPECT_EQ(rows.live_bytes, std::vector<int64_t>{512 + 1024});
}

TEST(Liveness, TensorsOfUnknownSizeAreNamedNotCounted) {
  Graph graph;
  Subgraph& subgraph = graph.subgraphs.emplace_back();
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{-1, 4}, {4}, {0}}) {
    Tensor tensor;
    tensor.type = DataType::kInt8;
    tensor.shape = shape;
    subgraph.tensors.push_back(tensor);
  }
  subgraph.tensors[1].type = DataType::kString;
  Operator op;
  op.inputs = {0, 1, 2, kNoTensor};
  op.outputs = {2};
  subgraph.operators.push_back(op);
  const Liveness result = liveness(graph);
  EXPECT_EQ(result.unknown, (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(result.peak_bytes, 0);
  EXPECT_EQ(result.peak_step, 0);
}

TEST(Liveness, EmptyGraphsHaveNoSteps) {
  EXPECT_EQ(liveness(Graph()).peak_step, -1);
  Graph graph;
  graph.subgraphs.emplace_back();
  EXPECT_TRUE(liveness(graph).live_bytes.empty());
}

}  // namespace
}  // namespace edgesage
