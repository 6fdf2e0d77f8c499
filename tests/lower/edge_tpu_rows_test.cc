#include <gtest/gtest.h>

#include "src/lower/rows.h"
#include "tests/lower/built_graph.h"

namespace edgesage {
namespace {

const Target kTarget = *target_from_name("edge-tpu-like");

TEST(EdgeTpuRows, OneRowAnOperatorOnTheAccelerator) {
  GraphBuilder net(int8_net());
  auto x = net.input("x", {1, 8, 8, 3});
  x = net.relu(net.conv_2d(x, {.channels = 8, .kernel_h = 3, .kernel_w = 3}));
  x = net.mean(x, {1, 2}, false);
  x = net.softmax(net.fully_connected(net.reshape(x, {1, 8}), {.units = 10}));
  const Graph graph = finish(net, {x});
  const Lowering lowering = lower(graph, kTarget);
  ASSERT_EQ(lowering.rows.size(), graph.main().operators.size());
  EXPECT_EQ(lowering.partitions, 1);
  for (size_t i = 0; i < lowering.rows.size(); ++i) {
    EXPECT_EQ(lowering.rows[i].op, static_cast<int32_t>(i));
    EXPECT_EQ(lowering.rows[i].placement, Placement::kNpu) << lowering.operators[i].reason;
    EXPECT_EQ(lowering.operators[i].placement, Placement::kNpu);
  }
}

TEST(EdgeTpuRows, WhatHasNoLayerIsLeftToTheCpuWithTheReason) {
  GraphBuilder net(int8_net());
  auto x = net.input("x", {1, 8, 8, 8});
  const auto up = net.transpose_conv(x, {.channels = 8});
  const auto over_channels = net.mean(x, {3}, true);
  const auto smooth = net.resize_bilinear(x, 16, 16, Corners::kPlain);
  const Graph graph = finish(net, {up, over_channels, smooth});
  const Lowering lowering = lower(graph, kTarget);
  EXPECT_EQ(lowering.partitions, 0);
  for (size_t i = 0; i < lowering.rows.size(); ++i) {
    EXPECT_EQ(lowering.rows[i].placement, Placement::kCpu) << i;
    EXPECT_FALSE(lowering.operators[i].reason.empty()) << i;
  }
}

TEST(EdgeTpuRows, OnlyValuesOfEightBitsRunThere) {
  GraphBuilder net(float_net());
  const Graph graph = finish(net, {net.relu(net.input("x", {1, 8}))});
  const Lowering lowering = lower(graph, kTarget);
  EXPECT_EQ(lowering.rows[0].placement, Placement::kCpu);
  EXPECT_NE(lowering.operators[0].reason.find("float32"), std::string::npos);
}

}  // namespace
}  // namespace edgesage
