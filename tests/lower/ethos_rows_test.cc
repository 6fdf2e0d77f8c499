#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "src/graph/builder.h"
#include "src/lower/rows.h"
#include "tests/lower/built_graph.h"

namespace edgesage {
namespace {

const Target kU55 = *target_from_name("ethos-u55-256");
const Target kU85 = *target_from_name("ethos-u85-512");

std::vector<std::string> kinds(const Lowering& lowering) {
  std::vector<std::string> names;
  for (const Row& row : lowering.rows) names.emplace_back(row_kind_name(row.kind));
  return names;
}

using Kinds = std::vector<std::string>;

TEST(EthosRows, ActivationOfAConvolutionIsDoneInItsRow) {
  GraphBuilder net(int8_net());
  auto x = net.input("x", {1, 16, 16, 8});
  x = net.conv_2d(x, {.channels = 16, .kernel_h = 3, .kernel_w = 3});
  const auto before = x;
  x = net.logistic(x);
  x = net.conv_2d(x, {.channels = 8});
  const Lowering lowering = lower(finish(net, {x}), kU55);
  EXPECT_EQ(kinds(lowering), (Kinds{"conv_2d", "conv_2d"}));
  EXPECT_EQ(lowering.rows[0].fused, std::vector<int32_t>{1});
  EXPECT_EQ(lowering.rows[0].activation, OpKind::kLogistic);
  EXPECT_EQ(lowering.operators[1].placement, Placement::kFolded);
  EXPECT_EQ(std::ranges::count(lowering.rows[0].ofm_tensors, before), 0);
  EXPECT_EQ(lowering.rows[1].inputs, std::vector<int32_t>{0});
}

TEST(EthosRows, AnActivationWhoseInputIsReadTwiceHasARowOfItsOwn) {
  GraphBuilder net(int8_net());
  auto x = net.input("x", {1, 16, 16, 8});
  x = net.conv_2d(x, {.channels = 16, .kernel_h = 3, .kernel_w = 3});
  const Lowering lowering = lower(finish(net, {net.mul(x, net.logistic(x))}), kU55);
  EXPECT_EQ(kinds(lowering), (Kinds{"conv_2d", "lut", "mul"}));
  EXPECT_EQ(lowering.rows[2].inputs, (std::vector<int32_t>{0, 1}));
}

TEST(EthosRows, AConvolutionThatClampsAlreadyTakesNoSecondActivation) {
  GraphBuilder net(int8_net());
  auto x = net.input("x", {1, 16, 16, 8});
  x = net.conv_2d(x, {.channels = 16, .activation = Activation::kRelu});
  const Lowering lowering = lower(finish(net, {net.hard_swish(x)}), kU55);
  EXPECT_EQ(kinds(lowering), (Kinds{"conv_2d", "lut"}));
}

TEST(EthosRows, PreluOfSeveralSlopesIsTheLargerOfTwoProducts) {
  GraphBuilder net(int8_net());
  auto x = net.input("x", {1, 16, 16, 8});
  x = net.conv_2d(x, {.channels = 24, .kernel_h = 3, .kernel_w = 3});
  x = net.prelu(x);
  const Graph graph = finish(net, {x});
  const Lowering lowering = lower(graph, kU55);
  EXPECT_EQ(kinds(lowering), (Kinds{"conv_2d", "mul", "mul", "min_max"}));
  EXPECT_EQ(lowering.operators[1].placement, Placement::kNpu);
  const Row& scaled = lowering.rows[2];
  EXPECT_TRUE(scaled.has_ifm2 && scaled.ifm2_constant);
  EXPECT_EQ(scaled.ifm2.c, 24);
  EXPECT_EQ(lowering.rows[3].inputs, (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(lowering.rows[3].ofm_tensors, std::vector<int32_t>{x});
}

TEST(EthosRows, PreluOfOneSlopeIsATable) {
  GraphBuilder net(int8_net());
  auto x = net.input("x", {1, 16, 16, 8});
  x = net.conv_2d(x, {.channels = 24, .kernel_h = 3, .kernel_w = 3});
  Graph graph = finish(net, {net.prelu(x)});
  Tensor& alpha =
      graph.subgraphs[0].tensors[static_cast<size_t>(graph.main().operators[1].inputs[1])];
  const std::vector<std::byte> ones(24, std::byte{1});
  graph.buffers[static_cast<size_t>(alpha.buffer)] = make_buffer(ones);
  EXPECT_EQ(kinds(lower(graph, kU55)), Kinds{"conv_2d"});
  // A byte that differs, slopes of one and more, and slopes that are not at hand.
  std::vector<std::byte> slopes = ones;
  slopes.back() = std::byte{2};
  alpha.quantization.scale = {1.0F};
  alpha.quantization.zero_point = {0};
  graph.buffers[static_cast<size_t>(alpha.buffer)] = make_buffer(slopes);
  EXPECT_EQ(kinds(lower(graph, kU55)), (Kinds{"conv_2d", "min_max", "mul", "activation", "add"}));
  graph.buffers[static_cast<size_t>(alpha.buffer)] = {};
  EXPECT_EQ(kinds(lower(graph, kU55)).back(), "min_max");
}

TEST(EthosRows, WhatNoOutputNeedsIsFolded) {
  GraphBuilder net(int8_net());
  auto x = net.input("x", {1, 16, 16, 8});
  x = net.conv_2d(x, {.channels = 16});
  auto dead = net.conv_2d(x, {.channels = 8});
  dead = net.softmax(dead);
  x = net.conv_2d(x, {.channels = 32});
  const Graph graph = finish(net, {x});
  const Lowering lowering = lower(graph, kU55);
  EXPECT_EQ(kinds(lowering), (Kinds{"conv_2d", "conv_2d"}));
  for (const size_t index : {size_t{1}, size_t{2}}) {
    EXPECT_EQ(lowering.operators[index].placement, Placement::kFolded);
    EXPECT_EQ(lowering.operators[index].reason, "no output needs it");
  }
  EXPECT_EQ(lowering.rows[1].inputs, std::vector<int32_t>{0});
  EXPECT_EQ(lower(graph, *target_from_name("generic")).rows.size(), 4U);
}

TEST(EthosRows, BelowEightChannelsTheClampIsARowOfItsOwn) {
  for (const int64_t channels : {7, 8}) {
    GraphBuilder net(int8_net());
    auto x = net.input("x", {1, 16, 16, 8});
    x = net.conv_2d(x, {.channels = channels, .activation = Activation::kRelu});
    const Lowering lowering = lower(finish(net, {x}), kU55);
    EXPECT_EQ(kinds(lowering),
              channels < 8 ? (Kinds{"conv_2d", "activation"}) : (Kinds{"conv_2d"}));
    EXPECT_EQ(lowering.rows.back().ofm_tensors.size(), 1U);
    EXPECT_EQ(lowering.rows.front().ofm_tensors.empty(), channels < 8);
  }
}

TEST(EthosRows, MeanIsADepthwiseConvolutionOfInventedWeightsAndAProduct) {
  GraphBuilder net(int8_net());
  auto x = net.input("x", {1, 112, 112, 16});
  x = net.conv_2d(x, {.channels = 16, .stride_h = 2, .stride_w = 2});
  const Lowering small = lower(finish(net, {net.mean(x, {1, 2}, true)}), kU55);
  EXPECT_EQ(kinds(small), (Kinds{"conv_2d", "depthwise_conv_2d", "mul"}));
  EXPECT_TRUE(small.rows[1].invented_weights);
  EXPECT_EQ(small.rows[1].kernel_h, 56);
  EXPECT_EQ(small.rows[1].weights, kNoTensor);
  // 112 x 112 taps are above 64 x 64: three bands of 36 lines and one of 4, added up.
  GraphBuilder large_net(int8_net());
  const auto y = large_net.input("x", {1, 112, 112, 16});
  const Lowering large = lower(finish(large_net, {large_net.mean(y, {1, 2}, true)}), kU55);
  EXPECT_EQ(kinds(large), (Kinds{"depthwise_conv_2d", "depthwise_conv_2d", "depthwise_conv_2d",
                                 "depthwise_conv_2d", "add", "add", "add", "mul"}));
  EXPECT_EQ(large.rows[0].kernel_h, 36);
  EXPECT_EQ(large.rows[3].kernel_h, 4);
}

TEST(EthosRows, SoftmaxIsTwentyEightRowsChargedToOneOperator) {
  GraphBuilder net(int8_net());
  const auto x = net.input("x", {1, 64});
  const Graph graph = finish(net, {net.softmax(net.fully_connected(x, {.units = 10}))});
  const Lowering lowering = lower(graph, kU55);
  ASSERT_EQ(lowering.rows.size(), 29U);
  for (size_t i = 1; i < lowering.rows.size(); ++i) {
    EXPECT_EQ(lowering.rows[i].op, 1);
    EXPECT_FALSE(lowering.rows[i].inputs.empty());
  }
  EXPECT_EQ(lowering.rows.back().ofm_tensors, graph.main().outputs);
  EXPECT_EQ(lower(graph, kU85).rows.size(), 28U);  // the sum is not spread first
}

TEST(EthosRows, ReshapeBetweenComputationsIsFreeAndCopiesBetweenInputAndOutput) {
  GraphBuilder net(int8_net());
  const auto x = net.input("x", {1, 4, 4, 8});
  const auto y = net.conv_2d(x, {.channels = 8});
  const auto z = net.reshape(y, {1, 128});
  const Lowering free = lower(finish(net, {net.fully_connected(z, {.units = 4})}), kU55);
  EXPECT_EQ(kinds(free), (Kinds{"conv_2d", "fully_connected"}));
  EXPECT_EQ(free.storage[static_cast<size_t>(z)], y);
  EXPECT_EQ(free.rows[1].ifm_tensors, std::vector<int32_t>{y});
  EXPECT_EQ(free.operators[1].placement, Placement::kFolded);
  GraphBuilder copy_net(int8_net());
  const auto a = copy_net.input("x", {1, 4, 4, 8});
  EXPECT_EQ(kinds(lower(finish(copy_net, {copy_net.reshape(a, {1, 128})}), kU55)),
            Kinds{"reshape"});
}

TEST(EthosRows, ConcatenationIsFreeWhereProducersWriteTheirPart) {
  GraphBuilder net(int8_net());
  const auto x = net.input("x", {1, 8, 8, 8});
  const std::vector<GraphBuilder::Id> parts = {net.conv_2d(x, {.channels = 8}),
                                               net.conv_2d(x, {.channels = 16})};
  const auto joined = net.concatenation(parts, 3);
  const Lowering lowering = lower(finish(net, {net.conv_2d(joined, {.channels = 8})}), kU55);
  EXPECT_EQ(kinds(lowering), (Kinds{"conv_2d", "conv_2d", "conv_2d"}));
  EXPECT_EQ(lowering.rows[2].inputs, (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(lowering.rows[0].ofm_tensors, std::vector<int32_t>{joined});

  GraphBuilder shared(int8_net());
  const auto y = shared.conv_2d(shared.input("x", {1, 8, 8, 8}), {.channels = 8});
  const std::vector<GraphBuilder::Id> two = {y, shared.conv_2d(y, {.channels = 8})};
  const Lowering copied = lower(finish(shared, {shared.concatenation(two, 3)}), kU55);
  EXPECT_EQ(kinds(copied), (Kinds{"conv_2d", "conv_2d", "copy"}));
}

TEST(EthosRows, PadBeforeAnUnpaddedConvolutionBecomesItsPadding) {
  GraphBuilder net(int8_net());
  const auto x = net.input("x", {1, 16, 16, 8});
  const auto padded = net.pad(x, {0, 0, 0, 1, 0, 1, 0, 0});
  const auto y = net.depthwise_conv_2d(
      padded,
      {.kernel_h = 3, .kernel_w = 3, .stride_h = 2, .stride_w = 2, .padding = Padding::kValid});
  const Lowering lowering = lower(finish(net, {y}), kU55);
  ASSERT_EQ(kinds(lowering), Kinds{"depthwise_conv_2d"});
  EXPECT_EQ(lowering.rows[0].pad_bottom, 1);
  EXPECT_EQ(lowering.rows[0].pad_top, 0);
  EXPECT_EQ(lowering.rows[0].ifm, (Shape4{1, 16, 16, 8}));
  GraphBuilder pool_net(int8_net());
  const auto z = pool_net.pad(pool_net.input("x", {1, 16, 16, 8}), {0, 0, 1, 1, 1, 1, 0, 0});
  const Lowering pooled =
      lower(finish(pool_net, {pool_net.max_pool(z, {.kernel_h = 3, .kernel_w = 3})}), kU55);
  EXPECT_EQ(kinds(pooled), (Kinds{"copy", "pad", "pad", "pad", "pad", "max_pool"}));
}

TEST(EthosRows, WhatStaysOnTheCpuSaysWhy) {
  GraphBuilder net(float_net());
  const auto x = net.input("x", {1, 8, 8, 8});
  const Lowering lowering = lower(finish(net, {net.conv_2d(x, {.channels = 8})}), kU55);
  ASSERT_EQ(lowering.operators.size(), 1U);
  EXPECT_EQ(lowering.operators[0].placement, Placement::kCpu);
  EXPECT_EQ(lowering.operators[0].reason, "float32 input; int8, uint8, int16 or int32 are allowed");
  EXPECT_EQ(lowering.rows[0].placement, Placement::kCpu);
}

TEST(EthosRows, StrideAboveThreeOfADepthwiseConvolutionRunsOnU85Only) {
  GraphBuilder net(int8_net());
  const auto x = net.input("x", {1, 16, 16, 8});
  const Graph graph = finish(net, {net.depthwise_conv_2d(x, {.kernel_h = 4,
                                                             .kernel_w = 4,
                                                             .stride_h = 4,
                                                             .stride_w = 4,
                                                             .padding = Padding::kValid})});
  EXPECT_EQ(lower(graph, kU55).operators[0].reason, "stride 4x4 is above 3");
  EXPECT_EQ(lower(graph, kU85).operators[0].placement, Placement::kNpu);
}

}  // namespace
}  // namespace edgesage
