// What devices see of a network: kinds, neighbourhood, branches.
#include "src/simulate/sim_network.h"

#include <gtest/gtest.h>

#include "tests/simulate/networks.h"

namespace edgesage::simulate {
namespace {

const SimRow& row_at(const SimNetwork& network, size_t row) {
  return network.unique[static_cast<size_t>(network.unique_of[row])];
}

TEST(SimNetwork, ActivationsAndSumsKnowWhatTheyStandBehind) {
  GraphBuilder net(int8_net());
  const auto x = net.input("x", {1, 8, 8, 8});
  const auto conv = net.conv_2d(x, {.channels = 8});
  const auto alone = net.relu(conv);
  const auto sum = net.add(net.conv_2d(alone, {.channels = 8}), alone);
  const auto shared = net.relu(sum);
  const auto again = net.relu(sum);
  const SimNetwork network = network_of(finish(net, {net.add(shared, again)}));
  ASSERT_EQ(network.rows(), 7);
  EXPECT_EQ(row_at(network, 1).context, Context::kActivationOfOnlyUse);
  EXPECT_EQ(row_at(network, 3).context, Context::kAddOfProduct);
  EXPECT_EQ(row_at(network, 4).context, Context::kActivationShared);
  EXPECT_FALSE(row_at(network, 4).is_repeated);
  EXPECT_TRUE(row_at(network, 5).is_repeated);
  EXPECT_EQ(row_at(network, 6).context, Context::kNone);
}

TEST(SimNetwork, EqualCellsAreOneSegmentAndChainsAreNone) {
  const SimNetwork network = network_of(branched_cells(DataType::kInt8));
  float cells = 0;
  for (const Segment& segment : network.segments) cells += segment.count;
  EXPECT_EQ(cells, 6.0F);
  EXPECT_LT(network.segments.size(), 6U);

  GraphBuilder net(int8_net());
  auto x = net.input("x", {1, 8, 8, 8});
  for (int i = 0; i < 4; ++i) x = net.conv_2d(x, {.channels = 8});
  const SimNetwork chain = network_of(finish(net, {x}));
  EXPECT_TRUE(chain.segments.empty());
  EXPECT_EQ(chain.count, chain.serial_count);
}

TEST(SimNetwork, DepthwiseOfOneChannelIsAConvolution) {
  GraphBuilder net(int8_net());
  const auto x = net.input("x", {1, 16, 16, 1});
  const auto y = net.depthwise_conv_2d(x, {.multiplier = 8, .kernel_h = 7, .kernel_w = 7});
  const auto z = net.depthwise_conv_2d(y, {.kernel_h = 7, .kernel_w = 7});
  const SimNetwork network = network_of(finish(net, {z}));
  EXPECT_EQ(row_at(network, 0).variant, Variant::kConvFirst);
  EXPECT_EQ(row_at(network, 1).variant, Variant::kDepthwiseLarge);
}

TEST(SimNetwork, AsManyGroupsAsChannelsAreADepthwiseConvolution) {
  GraphBuilder net(int8_net());
  auto x = net.input("x", {1, 16, 16, 8});
  for (const int64_t groups : {8, 4, 1})
    x = net.conv_2d(x, {.channels = 8, .kernel_h = 3, .kernel_w = 3, .groups = groups});
  const SimNetwork network = network_of(finish(net, {x}));
  EXPECT_EQ(row_at(network, 0).variant, Variant::kDepthwise9);
  EXPECT_EQ(row_at(network, 0).calls, 16 * 16);
  EXPECT_EQ(row_at(network, 1).variant, Variant::kConvGrouped);
  EXPECT_EQ(row_at(network, 1).calls, 16 * 16 * 4);
  EXPECT_EQ(row_at(network, 2).variant, Variant::kConvKxK);
}

TEST(SimNetwork, TransposeConvolutionsReadTheirTapsOnTheInput) {
  GraphBuilder net(int8_net());
  const auto x = net.input("x", {1, 8, 8, 4});
  const auto y = net.transpose_conv(x, {.channels = 4, .kernel = 4, .stride = 2});
  const SimNetwork network = network_of(finish(net, {y}));
  EXPECT_EQ(row_at(network, 0).calls, 16 * 16);
  EXPECT_EQ(row_at(network, 0).tap_reads, 8 * 8 * 16);
}

}  // namespace
}  // namespace edgesage::simulate
