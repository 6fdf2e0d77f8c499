#include "src/graph/graph_hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "src/base/rng.h"
#include "src/graph/builder.h"

namespace edgesage {
namespace {

Graph small_net(int64_t channels = 8) {
  GraphBuilder net({.name = "small", .fill = {}, .seed = 3});
  GraphBuilder::Id x = net.input("image", {1, 8, 8, 3});
  x = net.conv_2d(x, {.channels = channels, .kernel_h = 3, .kernel_w = 3});
  const GraphBuilder::Id gate = net.logistic(net.mean(x, {1, 2}, true));
  x = net.mul(x, gate);
  x = net.reshape(x, {1, 64 * channels});
  return net.finish({net.fully_connected(x, {.units = 4})}).value();
}

// The same network with its tensors and buffers in another order.
Graph renumbered(Graph graph, uint64_t seed) {
  Rng rng(seed);
  Subgraph& main = graph.main();
  std::vector<int32_t> place(main.tensors.size());
  std::iota(place.begin(), place.end(), 0);
  rng.shuffle(place);
  std::vector<Tensor> tensors(main.tensors.size());
  for (size_t i = 0; i < place.size(); ++i)
    tensors[static_cast<size_t>(place[i])] = main.tensors[i];
  main.tensors = std::move(tensors);
  const auto move = [&](std::vector<int32_t>& list) {
    for (int32_t& tensor : list)
      if (tensor >= 0) tensor = place[static_cast<size_t>(tensor)];
  };
  move(main.inputs);
  move(main.outputs);
  for (Operator& op : main.operators) {
    move(op.inputs);
    move(op.outputs);
  }
  std::reverse(graph.buffers.begin(), graph.buffers.end());
  for (Tensor& tensor : main.tensors)
    if (tensor.is_constant())
      tensor.buffer = static_cast<int32_t>(graph.buffers.size()) - 1 - tensor.buffer;
  return graph;
}

TEST(GraphHash, DoesNotDependOnTheNumberingOfTensorsAndBuffers) {
  const Graph graph = small_net();
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Graph other = renumbered(graph, seed);
    EXPECT_EQ(graph_hash(other), graph_hash(graph));
    EXPECT_EQ(weights_hash(other), weights_hash(graph));
  }
}

TEST(GraphHash, SaysWhichVersionMadeIt) {
  EXPECT_TRUE(graph_hash(small_net()).starts_with("g1-"));
  EXPECT_EQ(graph_hash(small_net()).size(), 35U);
  EXPECT_TRUE(weights_hash(small_net()).starts_with("w1-"));
  EXPECT_EQ(graph_hash(Graph{}).size(), 35U);
}

TEST(GraphHash, IgnoresNamesWeightsQuantisationUnusedTensorsAndDefaultOptions) {
  const Graph graph = small_net();
  Graph other = graph;
  other.format = "tflite";
  other.description = "another";
  other.buffers.push_back({});
  other.main().tensors.emplace_back().shape = {99};
  for (Tensor& tensor : other.main().tensors) {
    tensor.name += "x";
    for (float& scale : tensor.quantization.scale) scale *= 2;
  }
  for (Operator& op : other.main().operators) {
    op.version += 1;
    op.name = "x";
    std::reverse(op.attributes.begin(), op.attributes.end());
    op.set("some_new_option", int64_t{0});
    if (op.kind == OpKind::kConv2D) op.set("dilation_h_factor", int64_t{1});
  }
  const Tensor& filter =
      other.main().tensors[static_cast<size_t>(other.main().operators[0].inputs[1])];
  auto& buffer = other.buffers[static_cast<size_t>(filter.buffer)];
  buffer = make_buffer(std::vector<std::byte>(buffer.data.size(), std::byte{1}));
  EXPECT_EQ(graph_hash(other), graph_hash(graph));
  EXPECT_NE(weights_hash(other), weights_hash(graph));
}

TEST(GraphHash, SeesEverythingThatDecidesCost) {
  const Graph graph = small_net();
  const std::string hash = graph_hash(graph);
  EXPECT_NE(graph_hash(small_net(9)), hash);
  const std::vector<std::function<void(Subgraph&)>> changes{
      [](Subgraph& s) { s.operators[0].set("stride_h", int64_t{2}); },
      [](Subgraph& s) { s.operators[0].set("dilation_h_factor", int64_t{2}); },
      [](Subgraph& s) { s.operators[0].kind = OpKind::kTransposeConv; },
      [](Subgraph& s) { s.operators[0].custom_code = "odd"; },
      [](Subgraph& s) { s.operators[0].custom_options = {std::byte{1}}; },
      [](Subgraph& s) { std::swap(s.operators[3].inputs[0], s.operators[3].inputs[1]); },
      [](Subgraph& s) { s.operators[0].inputs[2] = kNoTensor; },
      [](Subgraph& s) { s.operators.pop_back(); },
      [](Subgraph& s) { s.tensors[0].shape[1] = 16; },
      [](Subgraph& s) { s.tensors[0].type = DataType::kUInt8; },
      [](Subgraph& s) {
        s.tensors[0].shape_signature = {-1, 8, 8, 3};
      },
      [](Subgraph& s) { s.tensors[0].is_variable = true; },
      [](Subgraph& s) { s.outputs = {s.operators[0].outputs[0]}; },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    Graph other = graph;
    changes[i](other.main());
    EXPECT_NE(graph_hash(other), hash) << "change " << i;
  }
}

TEST(GraphHash, SeesTheValuesOfConstantsThatDefineShapes) {
  const Graph graph = small_net();
  Graph other = graph;
  const Operator& mean = other.main().operators[1];
  ASSERT_EQ(mean.kind, OpKind::kMean);
  const Tensor& axes = other.main().tensors[static_cast<size_t>(mean.inputs[1])];
  const std::vector<int32_t> swapped{2, 1};
  other.buffers[static_cast<size_t>(axes.buffer)] = make_buffer(std::as_bytes(std::span(swapped)));
  EXPECT_NE(graph_hash(other), graph_hash(graph));
}

}  // namespace
}  // namespace edgesage
