#include "src/transform/channel_groups.h"

#include <gtest/gtest.h>

#include "src/graph/builder.h"
#include "src/graph/shape_inference.h"
#include "src/graph/validate.h"
#include "src/transform/select_channels.h"

namespace edgesage {
namespace {

using Id = GraphBuilder::Id;

Conv2D conv(int64_t channels, int64_t kernel = 1, int64_t groups = 1) {
  return {.channels = channels, .kernel_h = kernel, .kernel_w = kernel, .groups = groups};
}

const std::vector<ChannelRun>& runs(const ChannelGroups& groups, Id id) {
  return groups.runs[static_cast<size_t>(id)];
}

// Halves every group that may change; each operator must still fit its inputs by the shape rules,
// which know nothing of groups.
Graph halved(const Graph& graph, int* changed = nullptr) {
  const ChannelGroups groups = channel_groups(graph);
  ChannelSelection selection(groups.groups.size());
  for (size_t g = 0; g < selection.size(); ++g) {
    if (groups.groups[g].fixed() || groups.groups[g].width < 2) continue;
    for (int32_t u = 0; u < groups.groups[g].width; u += 2) selection[g].push_back(u);
    if (changed != nullptr) ++*changed;
  }
  auto result = select_channels(graph, groups, selection);
  EXPECT_TRUE(result) << result.error().to_string();
  EXPECT_TRUE(validate(*result));
  for (const Operator& op : result->main().operators) {
    if (!has_shape_rule(op.kind)) continue;
    const auto shapes = infer_shapes(*result, result->main(), op);
    EXPECT_TRUE(shapes) << shapes.error().to_string();
    if (!shapes) continue;
    for (size_t i = 0; i < shapes->size(); ++i)
      EXPECT_EQ((*shapes)[i], result->main().tensors[static_cast<size_t>(op.outputs[i])].shape);
  }
  return std::move(*result);
}

TEST(ChannelGroups, AdditionsTieTheirInputs) {
  GraphBuilder net({.name = "residual"});
  const Id x = net.input("image", {1, 16, 16, 3});
  const Id a = net.conv_2d(x, conv(16, 3));
  const Id b = net.conv_2d(a, conv(24));
  const Id c = net.conv_2d(b, conv(16));
  const Id sum = net.add(a, c);
  const Id out = net.fully_connected(net.mean(sum, {1, 2}, false), {.units = 10});
  const Graph graph = net.finish({out}).value();
  const ChannelGroups groups = channel_groups(graph);
  EXPECT_EQ(runs(groups, a), runs(groups, c));
  EXPECT_EQ(runs(groups, a), runs(groups, sum));
  EXPECT_NE(runs(groups, a), runs(groups, b));
  EXPECT_EQ(groups.groups[static_cast<size_t>(runs(groups, b)[0].group)].width, 24);
  EXPECT_FALSE(groups.groups[static_cast<size_t>(runs(groups, a)[0].group)].fixed());
  EXPECT_NE(groups.groups[static_cast<size_t>(runs(groups, x)[0].group)].reason.find("enters"),
            std::string::npos);
  EXPECT_NE(groups.groups[static_cast<size_t>(runs(groups, out)[0].group)].reason.find("leaves"),
            std::string::npos);
  int changed = 0;
  const Graph half = halved(graph, &changed);
  EXPECT_EQ(changed, 2);
  EXPECT_EQ(half.main().tensors[static_cast<size_t>(sum)].shape.back(), 8);
}

TEST(ChannelGroups, ConcatenationsKeepOffsetsEvenThroughAnAddition) {
  GraphBuilder net({.name = "joined"});
  const Id x = net.input("image", {1, 8, 8, 4});
  const Id a = net.conv_2d(x, conv(6)), b = net.conv_2d(x, conv(10));
  const Id joined = net.concatenation(std::vector<Id>{a, b, a}, 3);
  const Id other = net.conv_2d(x, conv(22));
  const Id sum = net.add(joined, other);
  const Graph graph = net.finish({net.conv_2d(sum, conv(5))}).value();
  const ChannelGroups groups = channel_groups(graph);
  // One convolution whose output is three pieces of two groups.
  ASSERT_EQ(runs(groups, other).size(), 3u);
  EXPECT_EQ(runs(groups, other)[0], runs(groups, a)[0]);
  EXPECT_EQ(runs(groups, other)[1], runs(groups, b)[0]);
  EXPECT_EQ(runs(groups, other)[2], runs(groups, a)[0]);
  const Graph half = halved(graph);
  EXPECT_EQ(half.main().tensors[static_cast<size_t>(joined)].shape.back(), 3 + 5 + 3);
}

TEST(ChannelGroups, DepthwiseGroupedAndSplitKeepEqualShares) {
  GraphBuilder net({.name = "shares"});
  const Id x = net.input("image", {1, 8, 8, 4});
  const Id a = net.conv_2d(x, conv(8));
  const Id depthwise = net.depthwise_conv_2d(a, {.multiplier = 2, .kernel_h = 3, .kernel_w = 3});
  const Id grouped = net.conv_2d(depthwise, conv(12, 3, 2));
  const std::vector<Id> parts = net.split(net.conv_2d(grouped, conv(16)), 2);
  const Graph graph = net.finish({net.conv_2d(net.add(parts[0], parts[1]), conv(3))}).value();
  const ChannelGroups groups = channel_groups(graph);
  // Multiplier 2 and two groups: channel 0 and 4 of `a` are one unit, four units in all.
  EXPECT_EQ(groups.groups[static_cast<size_t>(runs(groups, a)[0].group)].width, 4);
  EXPECT_EQ(runs(groups, depthwise)[0].repeat, 2);
  EXPECT_EQ(groups.groups[static_cast<size_t>(runs(groups, grouped)[0].group)].width, 6);
  const Graph half = halved(graph);
  EXPECT_EQ(half.main().tensors[static_cast<size_t>(depthwise)].shape.back(), 8);
  EXPECT_EQ(half.main().tensors[static_cast<size_t>(grouped)].shape.back(), 6);
}

TEST(ChannelGroups, SqueezeAndExciteFollowsItsMap) {
  GraphBuilder net({.name = "se"});
  const Id x = net.input("image", {1, 8, 8, 3});
  const Id map = net.conv_2d(x, conv(16, 3));
  const Id squeezed = net.mean(map, {1, 2}, true);
  const Id reduced = net.conv_2d(squeezed, conv(4));
  const Id gate = net.logistic(net.conv_2d(reduced, conv(16)));
  const Id scaled = net.mul(map, gate);
  const Graph graph = net.finish({net.conv_2d(scaled, conv(3))}).value();
  const ChannelGroups groups = channel_groups(graph);
  EXPECT_EQ(runs(groups, gate), runs(groups, map));
  EXPECT_NE(runs(groups, reduced), runs(groups, map));
  halved(graph);
}

TEST(ChannelGroups, FlatteningRepeatsChannelsForADenseLayer) {
  GraphBuilder net({.name = "flat"});
  const Id x = net.input("image", {1, 4, 4, 3});
  const Id map = net.conv_2d(x, conv(8));
  const Id flat = net.reshape(map, {1, 128});
  const Id hidden = net.fully_connected(flat, {.units = 20});
  const Graph graph = net.finish({net.fully_connected(hidden, {.units = 2})}).value();
  const ChannelGroups groups = channel_groups(graph);
  EXPECT_EQ(runs(groups, flat).size(), 16u);
  const Graph half = halved(graph);
  EXPECT_EQ(half.main().tensors[static_cast<size_t>(flat)].shape.back(), 64);
  EXPECT_EQ(half.main().tensors[static_cast<size_t>(hidden)].shape.back(), 10);
}

TEST(ChannelGroups, WeightsOfWhatIsKeptStay) {
  GraphBuilder net({.name = "slices"});
  const Id x = net.input("image", {1, 6, 6, 3});
  const Id a = net.conv_2d(x, conv(4, 3));
  const Id b = net.conv_2d(a, conv(2));
  const Graph graph = net.finish({b}).value();
  const ChannelGroups groups = channel_groups(graph);
  ChannelSelection selection(groups.groups.size());
  selection[static_cast<size_t>(runs(groups, a)[0].group)] = {3, 1, 1};
  const Graph chosen = select_channels(graph, groups, selection).value();
  const auto filter_of = [](const Graph& of, size_t op) {
    return of.main().tensors[static_cast<size_t>(of.main().operators[op].inputs[1])];
  };
  const auto before = graph.constant(filter_of(graph, 0)),
             after = chosen.constant(filter_of(chosen, 0));
  ASSERT_EQ(after.size(), 3u * 27u);
  for (size_t tap = 0; tap < 27; ++tap) {
    EXPECT_EQ(after[tap], before[3 * 27 + tap]);
    EXPECT_EQ(after[27 + tap], before[27 + tap]);
    EXPECT_EQ(after[54 + tap], before[27 + tap]);
  }
  EXPECT_EQ(filter_of(chosen, 0).quantization.scale[0], filter_of(graph, 0).quantization.scale[3]);
  const auto deep = graph.constant(filter_of(graph, 1)),
             kept = chosen.constant(filter_of(chosen, 1));
  EXPECT_EQ(kept[0], deep[3]);
  EXPECT_EQ(kept[3], deep[4 + 3]);
}

TEST(ChannelGroups, RefusesFixedGroupsAndUnitsThatAreNotThere) {
  GraphBuilder net({.name = "fixed"});
  const Id x = net.input("image", {1, 6, 6, 3});
  const Id a = net.conv_2d(x, conv(4, 3));
  const Graph graph = net.finish({net.conv_2d(a, conv(2))}).value();
  const ChannelGroups groups = channel_groups(graph);
  ChannelSelection selection(groups.groups.size());
  selection[static_cast<size_t>(runs(groups, x)[0].group)] = {0, 1};
  EXPECT_NE(select_channels(graph, groups, selection).error().message.find("enters the graph"),
            std::string::npos);
  selection.assign(groups.groups.size(), {});
  selection[static_cast<size_t>(runs(groups, a)[0].group)] = {0, 4};
  EXPECT_EQ(select_channels(graph, groups, selection).error().code, ErrorCode::kInvalidArgument);
  selection.pop_back();
  EXPECT_FALSE(select_channels(graph, groups, selection));
}

}  // namespace
}  // namespace edgesage
