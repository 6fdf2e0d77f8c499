// The closed form of ZigZag's machine against what ZigZag 3.9.1 says of the same layers.
#include "src/analysis/edge_tpu_cost.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tests/lower/built_graph.h"

namespace edgesage {
namespace {

using Id = GraphBuilder::Id;

struct Fact {
  std::string name;
  Shape input;
  std::function<Id(GraphBuilder&, Id)> build;
  double cycles, picojoules;
  double tolerance = 0.01;
};

const Target kTarget = *target_from_name("edge-tpu-like");

std::vector<EdgeTpuCost> costs_of(const Graph& graph) {
  return edge_tpu_row_costs(graph, lower(graph, kTarget));
}

// Cycles and energy of each layer alone by workers/zigzag.
std::vector<Fact> facts() {
  return {
      {"convolution 3x3",
       {1, 56, 56, 16},
       [](GraphBuilder& net, Id x) {
         return net.conv_2d(x, {.channels = 32, .kernel_h = 3, .kernel_w = 3});
       },
       20386,
       18520919.8},
      {"convolution 1x1, outputs rule",
       {1, 28, 28, 32},
       [](GraphBuilder& net, Id x) { return net.conv_2d(x, {.channels = 64}); },
       9409,
       7710321.9},
      {"first convolution",
       {1, 224, 224, 3},
       [](GraphBuilder& net, Id x) {
         return net.conv_2d(
             x, {.channels = 16, .kernel_h = 3, .kernel_w = 3, .stride_h = 2, .stride_w = 2});
       },
       43905,
       34392894.1},
      {"convolution of large weights",
       {1, 14, 14, 64},
       [](GraphBuilder& net, Id x) {
         return net.conv_2d(x, {.channels = 96, .kernel_h = 3, .kernel_w = 3});
       },
       15394,
       10263754.6,
       0.08},
      {"dilated convolution",
       {1, 24, 24, 24},
       [](GraphBuilder& net, Id x) {
         return net.conv_2d(
             x, {.channels = 24, .kernel_h = 3, .kernel_w = 3, .dilation_h = 2, .dilation_w = 2});
       },
       4646,
       3838668.6},
      {"depthwise",
       {1, 28, 28, 64},
       [](GraphBuilder& net, Id x) {
         return net.depthwise_conv_2d(x, {.kernel_h = 3, .kernel_w = 3});
       },
       34498,
       10227760.4},
      {"depthwise with stride",
       {1, 28, 28, 96},
       [](GraphBuilder& net, Id x) {
         return net.depthwise_conv_2d(x,
                                      {.kernel_h = 5, .kernel_w = 5, .stride_h = 2, .stride_w = 2});
       },
       47150,
       9886568.7,
       0.02},
      {"fully connected",
       {1, 256},
       [](GraphBuilder& net, Id x) { return net.fully_connected(x, {.units = 100}); },
       2926,
       2309943.9},
      {"fully connected of large weights",
       {1, 1024},
       [](GraphBuilder& net, Id x) { return net.fully_connected(x, {.units = 1000}); },
       128207,
       91308894.8},
      {"places that do not fill the array",
       {1, 42, 42, 32},
       [](GraphBuilder& net, Id x) { return net.conv_2d(x, {.channels = 40}); },
       9802,
       12416581.9,
       0.03},
      {"sum",
       {1, 28, 28, 64},
       [](GraphBuilder& net, Id x) { return net.add(x, x); },
       18817,
       13859512.8},
      {"maximum pooling",
       {1, 40, 40, 48},
       [](GraphBuilder& net, Id x) {
         return net.max_pool(x, {.kernel_h = 3,
                                 .kernel_w = 3,
                                 .stride_h = 2,
                                 .stride_w = 2,
                                 .padding = Padding::kSame});
       },
       31202,
       8988228.0},
      {"copy",
       {1, 28, 28, 64},
       [](GraphBuilder& net, Id x) { return net.relu(x); },
       12546,
       9409379.8},
      {"mean",
       {1, 7, 7, 256},
       [](GraphBuilder& net, Id x) {
         return net.mean(x, {1, 2}, true);
       },
       3138,
       1162336.6},
  };
}

TEST(EdgeTpuCost, LayersCostWhatZigzagSays) {
  for (const Fact& fact : facts()) {
    GraphBuilder net(int8_net());
    const Graph graph = finish(net, {fact.build(net, net.input("x", fact.input))});
    const std::vector<EdgeTpuCost> costs = costs_of(graph);
    ASSERT_EQ(costs.size(), 1U) << fact.name;
    EXPECT_NEAR(costs[0].cycles / fact.cycles, 1, fact.tolerance) << fact.name;
    EXPECT_NEAR(costs[0].picojoules / fact.picojoules, 1, fact.tolerance) << fact.name;
    EXPECT_LE(costs[0].array_cycles, costs[0].cycles) << fact.name;
  }
}

TEST(EdgeTpuCost, WhatDoesNotRunThereCostsNothing) {
  GraphBuilder net(float_net());
  const Graph graph =
      finish(net, {net.conv_2d(net.input("x", {1, 8, 8, 3}), {.channels = 8, .kernel_h = 3})});
  EXPECT_EQ(costs_of(graph)[0].cycles, 0);
  EXPECT_EQ(costs_of(graph)[0].picojoules, 0);
  const Lowering other = lower(graph, *target_from_name("generic"));
  EXPECT_EQ(edge_tpu_row_costs(graph, other)[0].cycles, 0);
}

TEST(EdgeTpuCost, ReshapesAreFreeAndMapsAboveTheMemoryPassThrough) {
  GraphBuilder net(int8_net());
  Id x = net.input("x", {1, 224, 224, 32});
  x = net.conv_2d(x, {.channels = 32});
  x = net.reshape(x, {1, 224 * 224, 1, 32});
  const Graph graph = finish(net, {x});
  const std::vector<EdgeTpuCost> costs = costs_of(graph);
  // 2 x 1.6 MB through 8 bytes a cycle, and the weights.
  EXPECT_DOUBLE_EQ(costs[0].cycles, (2.0 * 224 * 224 * 32 + 32 * 32) / 8);
  EXPECT_EQ(costs[1].cycles, 0);
}

}  // namespace
}  // namespace edgesage
