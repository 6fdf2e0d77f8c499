#include "src/graph/graph.h"

#include <gtest/gtest.h>

#include <limits>

#include "src/graph/op_registry.h"

namespace edgesage {
namespace {

TEST(Tensor, PackedTypesRoundUpToWholeBytes) {
  Tensor tensor;
  tensor.type = DataType::kInt4;
  tensor.shape = {3, 3};
  EXPECT_EQ(tensor.byte_size(), 5);
  tensor.type = DataType::kInt2;
  EXPECT_EQ(tensor.byte_size(), 3);
}

TEST(Tensor, ScalarHasOneElementAndZeroDimensionHasNone) {
  Tensor tensor;
  EXPECT_EQ(tensor.element_count(), 1);
  tensor.shape = {4, 0, 2};
  EXPECT_EQ(tensor.element_count(), 0);
  EXPECT_EQ(tensor.byte_size(), 0);
}

TEST(Tensor, HugeShapesSaturateInsteadOfOverflowing) {
  Tensor tensor;
  tensor.shape = {int64_t{1} << 40, int64_t{1} << 40};
  EXPECT_EQ(tensor.element_count(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(tensor.byte_size(), std::numeric_limits<int64_t>::max());
}

TEST(Tensor, TypesWithoutFixedSizeHaveNoByteSize) {
  Tensor tensor;
  tensor.type = DataType::kString;
  tensor.shape = {2};
  EXPECT_EQ(tensor.byte_size(), std::nullopt);
}

TEST(GraphIndex, FollowsProducersAndConsumersAcrossOptionalInputs) {
  Subgraph subgraph;
  subgraph.tensors.resize(3);
  Operator first, second;
  first.inputs = {0, kNoTensor};
  first.outputs = {1};
  second.inputs = {1, 1, 0};
  second.outputs = {2};
  subgraph.operators = {first, second};
  const GraphIndex index(subgraph);
  EXPECT_EQ(index.producer, (std::vector<int32_t>{-1, 0, 1}));
  EXPECT_EQ(index.consumers[0], (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(index.consumers[1], (std::vector<int32_t>{1}));
}

TEST(OpRegistry, NamesEveryCodeAndNothingBeyond) {
  EXPECT_EQ(op_name(OpKind::kConv2D), "CONV_2D");
  EXPECT_EQ(op_kind_from_code(static_cast<int32_t>(op_table().size())), OpKind::kUnknown);
  EXPECT_EQ(op_kind_from_code(-1), OpKind::kUnknown);
  EXPECT_EQ(op_name(OpKind::kUnknown), "UNKNOWN");
}

}  // namespace
}  // namespace edgesage
