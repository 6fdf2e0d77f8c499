#include "src/graph/builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "src/base/rng.h"
#include "src/graph/graph_hash.h"
#include "src/graph/validate.h"

namespace edgesage {
namespace {

using Id = GraphBuilder::Id;

// One of everything the builder makes.
Result<Graph> build_everything(DataType type, uint64_t seed = 1) {
  GraphBuilder net({.name = "everything", .type = type, .fill = {}, .seed = seed});
  Id x = net.input("image", {1, 12, 10, 3});
  x = net.pad(x, {0, 0, 1, 1, 1, 1, 0, 0});
  x = net.conv_2d(x, {.channels = 5,
                      .kernel_h = 3,
                      .kernel_w = 3,
                      .padding = Padding::kValid,
                      .activation = Activation::kRelu6});
  x = net.depthwise_conv_2d(x, {.multiplier = 2,
                                .kernel_h = 3,
                                .kernel_w = 5,
                                .stride_h = 2,
                                .stride_w = 2,
                                .activation = Activation::kRelu});
  const Id left = net.max_pool(
      x, {.kernel_h = 2, .kernel_w = 2, .stride_h = 1, .stride_w = 1, .padding = Padding::kSame});
  const Id right = net.hard_swish(net.conv_2d(x, {.channels = 10}));
  x = net.concatenation(std::vector<Id>{net.add(left, right, Activation::kRelu), right}, 3);
  Id gate = net.mean(x, {1, 2}, true);
  gate = net.mul_scalar(net.add_scalar(gate, 3, Activation::kRelu6), 1.0 / 6);
  x = net.mul(x, net.logistic(gate));
  x = net.relu6(net.relu(x));
  x = net.average_pool(x, {.kernel_h = 6, .kernel_w = 5});
  x = net.reshape(x, {1, -1});
  x = net.fully_connected(x, {.units = 7});
  return net.finish({net.softmax(x)});
}

// What enlarges and splits images.
Result<Graph> build_enlarger(DataType type) {
  GraphBuilder net({.name = "enlarger", .type = type, .fill = {}, .seed = 3});
  const Id image = net.input("image", {1, 6, 5, 3});
  Id x = net.prelu(net.conv_2d(image, {.channels = 8, .kernel_h = 3, .kernel_w = 3}));
  x = net.conv_2d(x, {.channels = 12, .kernel_h = 3, .kernel_w = 3, .groups = 4});
  const std::vector<Id> parts = net.split(net.leaky_relu(x, 0.1), 3);
  x = net.concatenation(std::vector<Id>{parts[2], parts[0], parts[1]}, 3);
  x = net.depth_to_space(net.scale_and_shift(x, Activation::kRelu), 2);
  x = net.transpose_conv(x, {.channels = 4, .kernel = 3, .stride = 2});
  const Id near = net.resize_nearest(x, 24, 10, Corners::kHalfPixel);
  const Id far = net.resize_bilinear(near, 24, 20, Corners::kAligned);
  return net.finish({net.arg_max(far, DataType::kInt64), net.softmax(far)});
}

const Operator& find(const Graph& graph, OpKind kind) {
  return *std::find_if(graph.main().operators.begin(), graph.main().operators.end(),
                       [kind](const Operator& op) { return op.kind == kind; });
}
const Tensor& tensor(const Graph& graph, int32_t index) {
  return graph.main().tensors[static_cast<size_t>(index)];
}

TEST(GraphBuilder, MakesValidGraphsOfEveryOperator) {
  for (const DataType type : {DataType::kInt8, DataType::kFloat32}) {
    const Result<Graph> graph = build_everything(type);
    ASSERT_TRUE(graph) << graph.error().to_string();
    const Status valid = validate(*graph);
    EXPECT_TRUE(valid) << valid.error().to_string();
    EXPECT_EQ(tensor(*graph, graph->main().outputs.front()).shape, (Shape{1, 7}));
  }
}

TEST(GraphBuilder, MakesValidGraphsThatEnlargeImages) {
  for (const DataType type : {DataType::kInt8, DataType::kFloat32}) {
    const Result<Graph> graph = build_enlarger(type);
    ASSERT_TRUE(graph) << graph.error().to_string();
    const Status valid = validate(*graph);
    EXPECT_TRUE(valid) << valid.error().to_string();
    const auto& outputs = graph->main().outputs;
    EXPECT_EQ(tensor(*graph, outputs[0]).shape, (Shape{1, 24, 20}));
    EXPECT_EQ(tensor(*graph, outputs[0]).type, DataType::kInt64);
    EXPECT_TRUE(tensor(*graph, outputs[0]).quantization.empty());
    EXPECT_EQ(tensor(*graph, find(*graph, OpKind::kTransposeConv).outputs[0]).shape,
              (Shape{1, 24, 20, 4}));
  }
}

TEST(GraphBuilder, EnlargingAndSplittingKeepTheQuantisation) {
  const Graph graph = build_enlarger(DataType::kInt8).value();
  for (const OpKind kind : {OpKind::kResizeNearestNeighbor, OpKind::kResizeBilinear,
                            OpKind::kDepthToSpace, OpKind::kSplit}) {
    const Operator& op = find(graph, kind);
    const auto& in = tensor(graph, op.inputs[kind == OpKind::kSplit ? 1 : 0]).quantization;
    for (const int32_t output : op.outputs) {
      EXPECT_EQ(tensor(graph, output).quantization.scale, in.scale);
      EXPECT_EQ(tensor(graph, output).quantization.zero_point, in.zero_point);
    }
  }
}

TEST(GraphBuilder, CountsTransposedAndGroupedConvolutions) {
  GraphBuilder net({.name = {}, .fill = {}, .count_only = true});
  const Id x = net.input("image", {1, 6, 5, 8});
  net.transpose_conv(x, {.channels = 4, .kernel = 3, .stride = 2});
  EXPECT_EQ(net.macs(), 6 * 5 * 8 * 3 * 3 * 4) << "every input meets the whole filter";
  EXPECT_EQ(net.weights_bytes(), 8 * 3 * 3 * 4 + 4 * 4);
  EXPECT_EQ(net.largest_activation(), 12 * 10 * 4);
  const int64_t before = net.macs();
  net.conv_2d(x, {.channels = 4, .kernel_h = 3, .kernel_w = 3, .groups = 2});
  EXPECT_EQ(net.macs() - before, 6 * 5 * 4 * 3 * 3 * 4);
}

TEST(GraphBuilder, RefusesPartsAndBlocksThatDoNotFit) {
  GraphBuilder net({.name = {}, .fill = {}});
  const Id x = net.input("image", {1, 6, 5, 8});
  EXPECT_TRUE(net.split(x, 3).empty());
  EXPECT_FALSE(net.ok());
  GraphBuilder other({.name = {}, .fill = {}});
  EXPECT_EQ(other.depth_to_space(other.input("image", {1, 6, 5, 8}), 3), kNoTensor);
  EXPECT_FALSE(other.ok());
}

TEST(GraphBuilder, BiasScaleIsInputScaleTimesFilterScale) {
  const Graph graph = build_everything(DataType::kInt8).value();
  for (const Operator& op : graph.main().operators) {
    if (op.inputs.size() != 3) continue;
    const auto& in = tensor(graph, op.inputs[0]).quantization;
    const auto& filter = tensor(graph, op.inputs[1]).quantization;
    const auto& bias = tensor(graph, op.inputs[2]).quantization;
    ASSERT_EQ(bias.scale.size(), filter.scale.size());
    for (size_t i = 0; i < bias.scale.size(); ++i)
      EXPECT_FLOAT_EQ(bias.scale[i], in.scale.front() * filter.scale[i]);
    EXPECT_TRUE(std::all_of(filter.zero_point.begin(), filter.zero_point.end(),
                            [](int64_t zero) { return zero == 0; }));
  }
}

TEST(GraphBuilder, FiltersOfConvolutionsAreQuantisedPerOutputChannel) {
  const Graph graph = build_everything(DataType::kInt8).value();
  const Tensor& conv = tensor(graph, find(graph, OpKind::kConv2D).inputs[1]);
  EXPECT_EQ(conv.quantization.scale.size(), 5U);
  EXPECT_EQ(conv.quantization.axis, 0);
  const Tensor& depthwise = tensor(graph, find(graph, OpKind::kDepthwiseConv2D).inputs[1]);
  EXPECT_EQ(depthwise.quantization.scale.size(), 10U);
  EXPECT_EQ(depthwise.quantization.axis, 3);
  EXPECT_EQ(tensor(graph, find(graph, OpKind::kFullyConnected).inputs[1]).quantization.scale.size(),
            1U);
}

TEST(GraphBuilder, TensorsThatKernelsWantAlikeShareTheirQuantisation) {
  const Graph graph = build_everything(DataType::kInt8).value();
  for (const OpKind kind : {OpKind::kConcatenation, OpKind::kReshape, OpKind::kMaxPool2D,
                            OpKind::kAveragePool2D, OpKind::kPad}) {
    const Operator& op = find(graph, kind);
    const auto& out = tensor(graph, op.outputs[0]).quantization;
    for (const int32_t input : op.inputs) {
      if (tensor(graph, input).is_constant()) continue;
      EXPECT_EQ(tensor(graph, input).quantization.scale, out.scale);
      EXPECT_EQ(tensor(graph, input).quantization.zero_point, out.zero_point);
    }
  }
}

TEST(GraphBuilder, KernelsThatPrescribeTheirOutputScaleGetIt) {
  const Graph graph = build_everything(DataType::kInt8).value();
  for (const OpKind kind : {OpKind::kLogistic, OpKind::kSoftmax}) {
    const auto& out = tensor(graph, find(graph, kind).outputs[0]).quantization;
    EXPECT_EQ(out.scale, std::vector<float>{1.0F / 256});
    EXPECT_EQ(out.zero_point, std::vector<int64_t>{-128});
  }
}

TEST(GraphBuilder, ZeroIsRepresentableInEveryActivation) {
  const Graph graph = build_everything(DataType::kInt8).value();
  for (const Tensor& candidate : graph.main().tensors) {
    if (candidate.type != DataType::kInt8) continue;
    ASSERT_FALSE(candidate.quantization.scale.empty()) << candidate.name;
    EXPECT_GT(candidate.quantization.scale.front(), 0) << candidate.name;
    EXPECT_GE(candidate.quantization.zero_point.front(), -128);
    EXPECT_LE(candidate.quantization.zero_point.front(), 127);
  }
}

// Estimates of the values' spread double with each sum.
TEST(GraphBuilder, EveryActivationOfADeepSumHasAScale) {
  GraphBuilder net({.name = "deep", .fill = {}});
  Id x = net.input("image", {1, 8, 8, 3});
  for (int i = 0; i < 3000; ++i) x = net.add(x, x);
  const Graph graph = net.finish({x}).value();
  for (const Tensor& candidate : graph.main().tensors) {
    EXPECT_TRUE(std::isfinite(candidate.quantization.scale.front())) << candidate.name;
    EXPECT_GT(candidate.quantization.scale.front(), 0) << candidate.name;
  }
}

TEST(GraphBuilder, SameSeedSameGraphAndAnotherSeedOtherWeights) {
  const Graph first = build_everything(DataType::kInt8, 1).value();
  const Graph again = build_everything(DataType::kInt8, 1).value();
  const Graph other = build_everything(DataType::kInt8, 2).value();
  EXPECT_EQ(graph_hash(first), graph_hash(again));
  EXPECT_EQ(weights_hash(first), weights_hash(again));
  EXPECT_EQ(graph_hash(first), graph_hash(other));
  EXPECT_NE(weights_hash(first), weights_hash(other));
}

TEST(GraphBuilder, CountsMacsAndBytesAsTheGraphItWouldMake) {
  for (const bool count_only : {true, false}) {
    GraphBuilder net({.name = "count", .fill = {}, .count_only = count_only});
    Id x = net.input("image", {1, 8, 8, 3});
    x = net.conv_2d(x, {.channels = 4, .kernel_h = 3, .kernel_w = 3, .stride_h = 2, .stride_w = 2});
    x = net.depthwise_conv_2d(x, {.kernel_h = 3, .kernel_w = 3});
    x = net.fully_connected(x, {.units = 10});
    EXPECT_EQ(net.macs(), 4 * 4 * 4 * 27 + 4 * 4 * 4 * 9 + 64 * 10);
    EXPECT_EQ(net.weights_bytes(), 4 * (27 + 4) + 4 * (9 + 4) + 10 * (64 + 4));
    EXPECT_EQ(net.shape(x), (Shape{1, 10}));
    EXPECT_EQ(net.finish({x}).has_value(), !count_only);
  }
}

TEST(GraphBuilder, FirstErrorStaysAndNamesOperatorAndShapes) {
  GraphBuilder net({.name = "wrong", .fill = {}});
  const Id x = net.input("image", {1, 4, 4, 3});
  const Id bad = net.average_pool(x, {.kernel_h = 5, .kernel_w = 5});
  EXPECT_EQ(bad, kNoTensor);
  EXPECT_FALSE(net.ok());
  EXPECT_EQ(net.conv_2d(x, {.channels = 4}), kNoTensor);
  const Result<Graph> graph = net.finish({x});
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().where, "AVERAGE_POOL_2D");
  EXPECT_NE(graph.error().message.find("5x5"), std::string::npos);
}

TEST(GraphBuilder, RefusesImpossibleUses) {
  GraphBuilder zero({.name = "zero", .fill = {}});
  EXPECT_EQ(zero.conv_2d(zero.input("x", {1, 4, 4, 3}), {.channels = 0}), kNoTensor);
  GraphBuilder unknown({.name = "unknown", .fill = {}});
  EXPECT_EQ(unknown.relu(17), kNoTensor);
  EXPECT_EQ(unknown.finish({}).error().code, ErrorCode::kInvalidArgument);
  GraphBuilder mixed({.name = "mixed", .fill = {}});
  const Id x = mixed.input("x", {1, 4, 4, 3});
  mixed.concatenation(std::vector<Id>{x, mixed.logistic(x)}, 3);
  EXPECT_FALSE(mixed.ok()) << "the scale of a logistic cannot be shared";
}

// Chains of random operators: always a valid graph whose shapes agree with the rules.
TEST(GraphBuilder, RandomChainsAreValid) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed, "chains");
    GraphBuilder net({.name = "chain", .fill = {}, .seed = seed});
    Id x = net.input("x", {1, rng.integer(3, 20), rng.integer(3, 20), rng.integer(1, 9)});
    for (int i = 0; i < 12; ++i) {
      const int64_t kernel = rng.integer(1, 5);
      const int64_t stride = rng.integer(1, 2);
      const auto padding = Padding::kSame;
      switch (rng.integer(0, 6)) {
        case 0:
          x = net.conv_2d(x, {.channels = rng.integer(1, 17),
                              .kernel_h = kernel,
                              .kernel_w = 3,
                              .stride_h = stride,
                              .stride_w = stride,
                              .padding = padding});
          break;
        case 1:
          x = net.depthwise_conv_2d(x, {.kernel_h = kernel,
                                        .kernel_w = kernel,
                                        .stride_h = stride,
                                        .stride_w = stride,
                                        .activation = Activation::kRelu6});
          break;
        case 2:
          x = net.add(x, net.hard_swish(x));
          break;
        case 3:
          x = net.mul(x, net.logistic(net.mean(x, {1, 2}, true)));
          break;
        case 4:
          x = net.max_pool(x, {.kernel_h = kernel,
                               .kernel_w = kernel,
                               .stride_h = stride,
                               .stride_w = stride,
                               .padding = padding});
          break;
        case 5:
          x = net.concatenation(std::vector<Id>{x, net.relu(x)}, 3);
          break;
        default:
          x = net.pad(x, {0, 0, 1, 0, 0, 1, 0, 0});
          break;
      }
    }
    const Result<Graph> graph = net.finish({net.fully_connected(x, {.units = 3})});
    ASSERT_TRUE(graph) << seed << ": " << graph.error().to_string();
    ASSERT_TRUE(validate(*graph)) << seed << ": " << validate(*graph).error().to_string();
    for (const Operator& op : graph->main().operators)
      ASSERT_EQ(infer_shapes(*graph, graph->main(), op).value().front(),
                tensor(*graph, op.outputs[0]).shape);
  }
}

}  // namespace
}  // namespace edgesage
