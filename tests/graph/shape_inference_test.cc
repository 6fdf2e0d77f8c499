#include "src/graph/shape_inference.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include <map>

#include "src/graph/op_registry.h"
#include "src/io/model_file.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

// A graph of one operator whose inputs have these shapes; constants of integers can be added.
struct OneOp {
  Graph graph;
  explicit OneOp(OpKind kind, const std::vector<Shape>& inputs) {
    graph.subgraphs.resize(1);
    graph.main().operators.resize(1);
    op().kind = kind;
    for (const Shape& shape : inputs) add(shape);
  }
  Operator& op() { return graph.main().operators[0]; }
  Tensor& add(const Shape& shape) {
    op().inputs.push_back(static_cast<int32_t>(graph.main().tensors.size()));
    Tensor& tensor = graph.main().tensors.emplace_back();
    tensor.shape = shape;
    return tensor;
  }
  void add_ints(const std::vector<int32_t>& values) {
    Tensor& tensor = add({static_cast<int64_t>(values.size())});
    tensor.type = DataType::kInt32;
    tensor.buffer = static_cast<int32_t>(graph.buffers.size());
    graph.buffers.push_back(make_buffer(std::as_bytes(std::span(values))));
  }
  Result<std::vector<Shape>> infer() { return infer_shapes(graph, graph.main(), op()); }
};

TEST(WindowPositions, AgreesWithCountingThePositions) {
  for (int64_t size = 1; size <= 12; ++size)
    for (int64_t kernel = 1; kernel <= 5; ++kernel)
      for (int64_t stride = 1; stride <= 3; ++stride)
        for (int64_t dilation = 1; dilation <= 2; ++dilation) {
          int64_t valid = 0;
          for (int64_t at = 0; at + (kernel - 1) * dilation < size; at += stride) ++valid;
          int64_t same = 0;
          for (int64_t at = 0; at < size; at += stride) ++same;
          EXPECT_EQ(window_positions(size, kernel, stride, dilation, 1), valid);
          EXPECT_EQ(window_positions(size, kernel, stride, dilation, 0), same);
        }
  EXPECT_EQ(window_positions(5, 3, 0, 1, 0), 0) << "a stride of 0 fits nowhere";
}

TEST(BroadcastShapes, FollowsNumpy) {
  EXPECT_EQ(broadcast_shapes(Shape{4, 1, 3}, Shape{5, 1}).value(), (Shape{4, 5, 3}));
  EXPECT_EQ(broadcast_shapes(Shape{}, Shape{2}).value(), (Shape{2}));
  EXPECT_EQ(broadcast_shapes(Shape{1, 0}, Shape{3, 1}).value(), (Shape{3, 0}));
  EXPECT_FALSE(broadcast_shapes(Shape{2}, Shape{3}));
}

TEST(InferShapes, ReshapeStretchesOneDimensionAndRefusesOthers) {
  OneOp stretched(OpKind::kReshape, {{2, 3, 4}});
  stretched.add_ints({-1, 6});
  EXPECT_EQ(stretched.infer().value().front(), (Shape{4, 6}));
  OneOp wrong(OpKind::kReshape, {{2, 3, 4}});
  wrong.add_ints({5, -1});
  EXPECT_EQ(wrong.infer().error().code, ErrorCode::kBadModel);
  OneOp twice(OpKind::kReshape, {{2, 3, 4}});
  twice.add_ints({-1, -1});
  EXPECT_EQ(twice.infer().error().code, ErrorCode::kBadModel);
  OneOp huge(OpKind::kReshape, {{2, 3, 4}});
  huge.add_ints({2147483647, 2147483647, 2147483647, 2147483647});
  EXPECT_EQ(huge.infer().error().code, ErrorCode::kBadModel);
}

TEST(InferShapes, ShapesThatDependOnComputedValuesAreUnsupportedNotGuessed) {
  OneOp computed(OpKind::kReshape, {{2, 3}, {2}});
  EXPECT_EQ(computed.infer().error().code, ErrorCode::kUnsupported);
  OneOp unranked(OpKind::kRelu, {{2, 3}});
  unranked.graph.main().tensors[0].has_rank = false;
  EXPECT_EQ(unranked.infer().error().code, ErrorCode::kUnsupported);
  OneOp unknown(OpKind::kCustom, {{2, 3}});
  EXPECT_EQ(unknown.infer().error().code, ErrorCode::kUnsupported);
}

TEST(InferShapes, InputsThatDoNotFitAreBadModels) {
  OneOp conv(OpKind::kConv2D, {{1, 8, 8, 3}, {4, 3, 3, 2}});
  conv.op().set("stride_h", int64_t{1});
  conv.op().set("stride_w", int64_t{1});
  EXPECT_EQ(conv.infer().error().code, ErrorCode::kBadModel);
  OneOp flat(OpKind::kConv2D, {{8, 3}, {4, 3, 3, 2}});
  EXPECT_EQ(flat.infer().error().code, ErrorCode::kBadModel);
  OneOp missing(OpKind::kFullyConnected, {{1, 8}});
  EXPECT_EQ(missing.infer().error().code, ErrorCode::kBadModel);
  OneOp axis(OpKind::kMean, {{1, 8}});
  axis.add_ints({2});
  EXPECT_EQ(axis.infer().error().code, ErrorCode::kBadModel);
  OneOp pads(OpKind::kPad, {{1, 8}});
  pads.add_ints({0, 0, 1});
  EXPECT_EQ(pads.infer().error().code, ErrorCode::kBadModel);
  OneOp concat(OpKind::kConcatenation, {{1, 8}, {2, 8}});
  concat.op().set("axis", int64_t{-1});
  EXPECT_EQ(concat.infer().error().code, ErrorCode::kBadModel);
}

TEST(InferShapes, GroupedConvolutionTakesFewerFilterChannels) {
  OneOp grouped(OpKind::kConv2D, {{1, 8, 6, 4}, {6, 3, 3, 2}});
  grouped.op().set("stride_h", int64_t{2});
  grouped.op().set("stride_w", int64_t{1});
  EXPECT_EQ(grouped.infer().value().front(), (Shape{1, 4, 6, 6}));
}

// Independent oracle: the shapes that the publishers' converters wrote into their files.
TEST(InferShapes, AgreesWithTheShapesThatRealModelsDeclare) {
  const auto data = test::data_dir();
  EDGESAGE_REQUIRE(data, "models of others; set EDGESAGE_DATA_DIR");
  std::map<std::string, int> checked;
  for (const test::IndexedModel& model : test::indexed_models(*data)) {
    if (model.kind != "tflite") continue;
    const Result<Graph> graph = read_model(model.path);
    ASSERT_TRUE(graph) << graph.error().to_string();
    for (const Subgraph& subgraph : graph->subgraphs) {
      for (const Operator& op : subgraph.operators) {
        if (!has_shape_rule(op.kind)) continue;
        // What a file leaves open has a stand-in for a shape.
        if (std::ranges::any_of(op.inputs, [&](int32_t tensor) {
              return tensor >= 0 &&
                     !subgraph.tensors[static_cast<size_t>(tensor)].shape_signature.empty();
            }))
          continue;
        const auto inferred = infer_shapes(*graph, subgraph, op);
        if (!inferred && inferred.error().code == ErrorCode::kUnsupported) continue;
        ASSERT_TRUE(inferred) << model.file << ": " << inferred.error().to_string();
        const Tensor& declared = subgraph.tensors[static_cast<size_t>(op.outputs[0])];
        // A converter leaves out what it does not know before run time.
        if (!declared.has_rank || declared.shape.empty() || !declared.shape_signature.empty())
          continue;
        EXPECT_EQ(inferred->front(), declared.shape) << model.file << " " << op_name(op.kind);
        ++checked[std::string(op_name(op.kind))];
      }
    }
  }
  int total = 0;
  for (const auto& [kind, count] : checked) {
    fmt::print("{} {}\n", kind, count);
    total += count;
  }
  EXPECT_GE(total, 170);
  for (const char* kind : {"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "ADD", "MUL",
                           "AVERAGE_POOL_2D", "RESHAPE", "SOFTMAX", "CONCATENATION", "PAD"})
    EXPECT_GE(checked[kind], 1) << kind;
}

}  // namespace
}  // namespace edgesage
