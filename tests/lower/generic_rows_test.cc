#include <gtest/gtest.h>

#include "src/lower/rows.h"
#include "tests/lower/built_graph.h"

namespace edgesage {
namespace {

const Target kGeneric = *target_from_name("generic");

Graph small_net(DataType type) {
  GraphBuilder net(net_of(type));
  auto x = net.input("x", {1, 8, 8, 3});
  x = net.conv_2d(x,
                  {.channels = 8, .kernel_h = 3, .kernel_w = 3, .activation = Activation::kRelu});
  const auto y = net.relu(x);
  x = net.add(x, y);
  x = net.reshape(x, {1, 512});
  return finish(net, {net.softmax(net.fully_connected(x, {.units = 10}))});
}

TEST(GenericRows, OneRowAnOperatorInOrderWhateverTheType) {
  for (const DataType type : {DataType::kInt8, DataType::kFloat32}) {
    const Graph graph = small_net(type);
    const Lowering lowering = lower(graph, kGeneric);
    ASSERT_EQ(lowering.rows.size(), graph.main().operators.size());
    EXPECT_EQ(lowering.partitions, 1);
    for (size_t i = 0; i < lowering.rows.size(); ++i) {
      EXPECT_EQ(lowering.rows[i].op, static_cast<int32_t>(i));
      EXPECT_EQ(lowering.rows[i].placement, Placement::kDelegate);
      EXPECT_EQ(lowering.rows[i].partition, 0);
      EXPECT_TRUE(lowering.rows[i].fused.empty());
      EXPECT_EQ(lowering.rows[i].ifm_type, type);
    }
    EXPECT_EQ(lowering.rows[0].activation, OpKind::kRelu);
    EXPECT_EQ(lowering.rows[1].kind, RowKind::kActivation);
    EXPECT_EQ(lowering.rows[2].inputs, (std::vector<int32_t>{0, 1}));
    EXPECT_EQ(lowering.rows[3].kind, RowKind::kReshape);
  }
}

Operator make_operator(OpKind kind, std::vector<int32_t> inputs, std::vector<int32_t> outputs) {
  Operator op;
  op.kind = kind;
  op.inputs = std::move(inputs);
  op.outputs = std::move(outputs);
  return op;
}

// 0 the input, 1 a constant; the others activations.
Graph of_operators(std::vector<Operator> operators) {
  Graph graph;
  graph.buffers.push_back(make_buffer(std::vector<std::byte>(64)));
  Subgraph& subgraph = graph.subgraphs.emplace_back();
  for (int i = 0; i < 6; ++i) {
    Tensor tensor;
    tensor.shape = {4, 4};
    if (i == 1) tensor.buffer = 0;
    subgraph.tensors.push_back(tensor);
  }
  subgraph.inputs = {0};
  subgraph.outputs = {5};
  subgraph.operators = std::move(operators);
  return graph;
}

TEST(GenericRows, OperatorsOfConstantsAreFoldedAndTheirResultsAreConstants) {
  const Graph graph = of_operators({make_operator(OpKind::kDequantize, {1}, {2}),
                                    make_operator(OpKind::kTranspose, {2}, {3}),
                                    make_operator(OpKind::kFullyConnected, {0, 3}, {4}),
                                    make_operator(OpKind::kAdd, {4, 2}, {5})});
  const Lowering lowering = lower(graph, kGeneric);
  ASSERT_EQ(lowering.rows.size(), 2U);
  EXPECT_EQ(lowering.operators[0].placement, Placement::kFolded);
  EXPECT_EQ(lowering.operators[1].placement, Placement::kFolded);
  EXPECT_EQ(lowering.rows[0].weights, 1);
  EXPECT_EQ(lowering.rows[0].ifm_tensors, std::vector<int32_t>{0});
  EXPECT_TRUE(lowering.rows[1].ifm2_constant);
  EXPECT_EQ(lowering.rows[1].ifm_tensors, std::vector<int32_t>{4});
}

TEST(GenericRows, KindsWithoutARuleRunOnTheCpuWithAReason) {
  const Graph graph = of_operators({make_operator(OpKind::kCustom, {0}, {4}),
                                    make_operator(OpKind::kCustom, {1}, {3}),
                                    make_operator(OpKind::kUnknown, {4}, {5})});
  const Lowering lowering = lower(graph, kGeneric);
  ASSERT_EQ(lowering.rows.size(), 3U);
  EXPECT_EQ(lowering.partitions, 0);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(lowering.rows[i].placement, Placement::kCpu);
    EXPECT_EQ(lowering.rows[i].partition, -1);
    EXPECT_FALSE(lowering.operators[i].reason.empty());
  }
}

}  // namespace
}  // namespace edgesage
