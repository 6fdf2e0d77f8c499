#include <gtest/gtest.h>

#include "src/graph/builder.h"
#include "src/lower/rows.h"
#include "tests/lower/built_graph.h"

namespace edgesage {
namespace {

const Target kLitert = *target_from_name("litert-xnnpack");

TEST(XnnpackRows, AnInt8HardSwishSplitsTheDelegate) {
  for (const DataType type : {DataType::kInt8, DataType::kFloat32}) {
    GraphBuilder net(net_of(type));
    auto x = net.input("x", {1, 8, 8, 8});
    x = net.hard_swish(net.conv_2d(x, {.channels = 8}));
    const Lowering lowering = lower(finish(net, {net.conv_2d(x, {.channels = 8})}), kLitert);
    const bool splits = type == DataType::kInt8;
    EXPECT_EQ(lowering.partitions, splits ? 2 : 1);
    EXPECT_EQ(lowering.operators[1].placement, splits ? Placement::kCpu : Placement::kDelegate);
    EXPECT_EQ(lowering.operators[1].reason.empty(), !splits);
    EXPECT_EQ(lowering.rows[2].partition, splits ? 1 : 0);
  }
}

TEST(XnnpackRows, BranchesJoinThePartitionThatTheirInputsAllow) {
  // conv -> hard-swish (outside) -> add, and conv -> conv -> add: the second convolution does not
  // wait for the hard-swish.
  GraphBuilder net(int8_net());
  const auto x = net.conv_2d(net.input("x", {1, 8, 8, 8}), {.channels = 8});
  const auto slow = net.hard_swish(x);
  const auto fast = net.conv_2d(x, {.channels = 8});
  const Lowering lowering = lower(finish(net, {net.add(slow, fast)}), kLitert);
  ASSERT_EQ(lowering.rows.size(), 4U);
  EXPECT_EQ(lowering.rows[0].partition, 0);
  EXPECT_EQ(lowering.rows[1].partition, -1);
  EXPECT_EQ(lowering.rows[2].partition, 0);
  EXPECT_EQ(lowering.rows[3].partition, 1);
  EXPECT_EQ(lowering.partitions, 2);
}

TEST(XnnpackRows, MoreThanFiveConcatenatedInputsStayOutside) {
  for (const size_t count : {5U, 6U}) {
    GraphBuilder net(int8_net());
    const auto x = net.input("x", {1, 8, 8, 8});
    std::vector<GraphBuilder::Id> parts;
    for (size_t i = 0; i < count; ++i) parts.push_back(net.conv_2d(x, {.channels = 8}));
    const Lowering lowering = lower(finish(net, {net.concatenation(parts, 3)}), kLitert);
    EXPECT_EQ(lowering.operators.back().placement,
              count <= 5 ? Placement::kDelegate : Placement::kCpu);
  }
}

TEST(XnnpackRows, WeightsStoredAsFloat16AreUnpackedAtLoad) {
  GraphBuilder net(float_net());
  const auto x = net.input("x", {1, 8, 8, 8});
  Graph graph = finish(net, {net.conv_2d(x, {.channels = 8})});
  Subgraph& subgraph = graph.main();
  const int32_t filter = subgraph.operators[0].inputs[1];
  Tensor packed = subgraph.tensors[static_cast<size_t>(filter)];
  packed.type = DataType::kFloat16;
  subgraph.tensors[static_cast<size_t>(filter)].buffer = kNoBuffer;
  const auto packed_index = static_cast<int32_t>(subgraph.tensors.size());
  subgraph.tensors.push_back(packed);
  Operator unpack;
  unpack.kind = OpKind::kDequantize;
  unpack.inputs = {packed_index};
  unpack.outputs = {filter};
  subgraph.operators.insert(subgraph.operators.begin(), unpack);
  const Lowering lowering = lower(graph, kLitert);
  ASSERT_EQ(lowering.rows.size(), 1U);
  EXPECT_EQ(lowering.rows[0].weights, packed_index);
  EXPECT_EQ(lowering.operators[0].placement, Placement::kFolded);
  EXPECT_EQ(lowering.operators[1].placement, Placement::kDelegate);
}

}  // namespace
}  // namespace edgesage
