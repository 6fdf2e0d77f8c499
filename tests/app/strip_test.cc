// A stripped model keeps its structure and the statistics of its weights, and not their order.
#include "src/app/strip.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "src/analysis/weight_stats.h"
#include "src/graph/builder.h"
#include "src/graph/graph_hash.h"

namespace edgesage::app {
namespace {

Graph network(DataType type) {
  GraphBuilder net({.name = "strip", .type = type});
  const auto image = net.input("image", {1, 16, 16, 8});
  const auto wide = net.conv_2d(image, {.channels = 96, .kernel_h = 3, .kernel_w = 3});
  const auto deep = net.depthwise_conv_2d(wide, {.kernel_h = 3, .kernel_w = 3});
  const auto flat = net.reshape(net.conv_2d(deep, {.channels = 4}), {1, 1024});
  return net.finish({net.fully_connected(flat, {.units = 10})}).value();
}

bool same_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::ranges::equal(a, b);
}

TEST(StripWeights, StatisticsStayAndValuesGo) {
  const Graph before = network(DataType::kInt8);
  Graph after = before;
  EXPECT_GT(strip_weights(after, 1), 6);
  EXPECT_EQ(graph_hash(after), graph_hash(before));
  int64_t weights = 0;
  for (size_t i = 0; i < before.main().tensors.size(); ++i) {
    const Tensor& tensor = before.main().tensors[i];
    if (!tensor.is_constant() || tensor.type != DataType::kInt8) continue;
    ++weights;
    const Tensor& stripped = after.main().tensors[i];
    const auto was = before.constant(tensor), is = after.constant(stripped);
    ASSERT_EQ(was.size(), is.size());
    EXPECT_FALSE(same_bytes(was, is)) << tensor.name;
    const WeightStats a = weight_stats(before, tensor), b = weight_stats(after, stripped);
    EXPECT_EQ(a.entropy_bits, b.entropy_bits);
    EXPECT_EQ(a.encoded_bits_estimate, b.encoded_bits_estimate);
    EXPECT_EQ(a.zero_fraction, b.zero_fraction);
    // Of a large tensor little more is left than the sample.
    const auto zeros = std::ranges::count(is, std::byte{0});
    if (is.size() > 5000) {
      EXPECT_GE(zeros, std::ssize(is) - 4096);
    }
  }
  EXPECT_EQ(weights, 4);
}

TEST(StripWeights, FloatsBecomeZeroAndShapesStay) {
  const Graph before = network(DataType::kFloat32);
  Graph after = before;
  strip_weights(after, 1);
  EXPECT_EQ(graph_hash(after), graph_hash(before));
  for (size_t i = 0; i < before.main().tensors.size(); ++i) {
    const Tensor& tensor = before.main().tensors[i];
    if (!tensor.is_constant() || tensor.element_count() <= 4) continue;
    const auto was = before.constant(tensor), is = after.constant(after.main().tensors[i]);
    const bool is_shape = tensor.type == DataType::kInt32;
    EXPECT_TRUE(is_shape ? same_bytes(was, is) : std::ranges::all_of(is, [](std::byte b) {
      return b == std::byte{0};
    })) << tensor.name;
  }
}

TEST(StripWeights, TheSameSeedGivesTheSameBytes) {
  Graph one = network(DataType::kInt8), two = one, other = one;
  strip_weights(one, 1);
  strip_weights(two, 1);
  strip_weights(other, 2);
  EXPECT_EQ(weights_hash(one), weights_hash(two));
  EXPECT_NE(weights_hash(one), weights_hash(other));
}

}  // namespace
}  // namespace edgesage::app
