#include "src/lower/operator_shapes.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <tuple>

namespace edgesage {
namespace {

Tensor tensor(std::vector<int64_t> shape, DataType type = DataType::kInt8) {
  Tensor result;
  result.shape = std::move(shape);
  result.type = type;
  return result;
}

Graph convolution(int64_t in, int64_t kernel, int64_t stride, int64_t dilation, bool valid) {
  const int64_t reach = (kernel - 1) * dilation + 1;
  const int64_t out = valid ? (in - reach) / stride + 1 : (in + stride - 1) / stride;
  Graph graph;
  Subgraph& subgraph = graph.subgraphs.emplace_back();
  subgraph.tensors = {tensor({1, in, in, 8}), tensor({16, kernel, kernel, 8}),
                      tensor({1, out, out, 16})};
  Operator op;
  op.kind = OpKind::kConv2D;
  op.inputs = {0, 1};
  op.outputs = {2};
  op.set("padding", int64_t{valid ? 1 : 0});
  op.set("stride_h", stride);
  op.set("stride_w", stride);
  op.set("dilation_h_factor", dilation);
  op.set("dilation_w_factor", dilation);
  subgraph.operators.push_back(op);
  return graph;
}

TEST(OperatorShapes, SamePaddingReachesExactlyWhatTheOutputNeeds) {
  for (int64_t in = 1; in < 20; ++in)
    for (int64_t kernel = 1; kernel <= 7; ++kernel)
      for (int64_t stride = 1; stride <= 4; ++stride)
        for (int64_t dilation = 1; dilation <= 3; ++dilation) {
          const Graph graph = convolution(in, kernel, stride, dilation, false);
          Row row;
          fill_geometry(graph, graph.main(), graph.main().operators[0], row);
          // By definition: the last window ends at or after the last input, never without need.
          const int64_t out = (in + stride - 1) / stride;
          const int64_t needed = (out - 1) * stride + (kernel - 1) * dilation + 1 - in;
          EXPECT_EQ(row.pad_top + row.pad_bottom, std::max<int64_t>(needed, 0));
          EXPECT_GE(row.pad_bottom - row.pad_top, 0);
          EXPECT_LE(row.pad_bottom - row.pad_top, 1);
        }
}

TEST(OperatorShapes, ValidPaddingIsNone) {
  const Graph graph = convolution(9, 3, 2, 1, true);
  Row row;
  fill_geometry(graph, graph.main(), graph.main().operators[0], row);
  EXPECT_EQ(std::tuple(row.pad_top, row.pad_left, row.pad_bottom, row.pad_right),
            std::tuple(0, 0, 0, 0));
  EXPECT_EQ(row.ofm, (Shape4{1, 4, 4, 16}));
  EXPECT_EQ(row.groups, 1);
}

TEST(OperatorShapes, FewerFilterChannelsThanInputChannelsMeanGroups) {
  Graph graph = convolution(9, 3, 1, 1, false);
  graph.main().tensors[1].shape.back() = 2;
  Row row;
  fill_geometry(graph, graph.main(), graph.main().operators[0], row);
  EXPECT_EQ(row.groups, 4);
}

TEST(OperatorShapes, AnyRankBecomesFourDimensionsOfAsManyElements) {
  EXPECT_EQ(to_shape4(tensor({})), (Shape4{1, 1, 1, 1}));
  EXPECT_EQ(to_shape4(tensor({7})), (Shape4{1, 1, 1, 7}));
  EXPECT_EQ(to_shape4(tensor({2, 3, 4})), (Shape4{1, 2, 3, 4}));
  EXPECT_EQ(to_shape4(tensor({2, 3, 4, 5, 6})), (Shape4{6, 4, 5, 6}));
  EXPECT_EQ(to_shape4(tensor({1, 2, 1, 2, 1, 2, 3, 4})), (Shape4{4, 2, 3, 4}));
  EXPECT_EQ(to_shape4(tensor({-1, 5, 0, 3})), (Shape4{1, 5, 0, 3}));
  Tensor unranked = tensor({3});
  unranked.has_rank = false;
  EXPECT_EQ(to_shape4(unranked), (Shape4{1, 1, 1, 1}));
}

TEST(OperatorShapes, ProductsSaturateAndStayZeroWithAZero) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(saturating_product(std::array{kMax, int64_t{2}}), kMax);
  EXPECT_EQ(saturating_product(std::array{kMax, int64_t{2}, int64_t{0}}), 0);
  EXPECT_EQ((Shape4{kMax, kMax, 1, 1}).elements(), kMax);
  EXPECT_EQ((Shape4{2, 3, 4, 5}).elements(), 120);
}

TEST(OperatorShapes, OperandsAreNamedOnceInTheirOrder) {
  for (const int32_t parts : {3, 15, 16, 17, 200}) {
    Graph graph;
    Subgraph& subgraph = graph.subgraphs.emplace_back();
    for (int32_t i = 0; i <= parts; ++i) subgraph.tensors.push_back(tensor({1, 2, 2, 8}));
    Operator op;
    op.kind = OpKind::kConcatenation;
    std::vector<int32_t> expected;
    for (int32_t i = parts - 1; i >= 0; --i) {
      op.inputs.push_back(i);
      expected.push_back(i);
      if (i % 3 == 0) op.inputs.push_back(i + (parts - 1 - i) / 2);  // named before
    }
    op.outputs = {parts};
    Row row;
    fill_geometry(graph, subgraph, op, row);
    EXPECT_EQ(row.ifm_tensors, expected) << parts;
  }
}

}  // namespace
}  // namespace edgesage
