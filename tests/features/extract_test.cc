#include "src/features/extract.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "src/analysis/row_costs.h"
#include "src/features/feature_table.h"
#include "src/features/row_facts.h"
#include "src/spaces/space.h"

namespace edgesage {
namespace {

constexpr Quantity kBoth[] = {Quantity::kLatencyMs, Quantity::kSramBytes};

Graph network(const std::string& name) {
  auto graph = build_network(*NetworkName::parse(name));
  EXPECT_TRUE(graph);
  return *graph;
}

GraphTensors extract(const Graph& graph, const std::string& target) {
  return extract_features(graph, lower(graph, *target_from_name(target)), kBoth);
}

double feature(const GraphTensors& tensors, int32_t node, std::string_view name) {
  const auto table = node_features();
  for (size_t i = 0; i < table.size(); ++i)
    if (table[i].name == name)
      return static_cast<double>(tensors.x[static_cast<size_t>(node * tensors.features) + i]);
  ADD_FAILURE() << "no feature " << name;
  return 0;
}

// A 1x1 convolution from 8 x 8 x in to 8 x 8 x out, weights all ones.
Graph pointwise(int64_t in, int64_t out) {
  Graph graph;
  const std::vector<std::byte> ones(static_cast<size_t>(in * out), std::byte{1});
  graph.buffers = {make_buffer({}), make_buffer(ones)};
  graph.subgraphs.resize(1);
  Tensor input, filter, output;
  input.type = filter.type = output.type = DataType::kInt8;
  input.shape = {1, 8, 8, in};
  filter.shape = {out, 1, 1, in};
  filter.buffer = 1;
  output.shape = {1, 8, 8, out};
  for (Tensor* tensor : {&input, &filter, &output}) {
    tensor->quantization.scale = {1.0F};
    tensor->quantization.zero_point = {0};
  }
  graph.main().tensors = {input, filter, output};
  Operator conv;
  conv.kind = OpKind::kConv2D;
  conv.inputs = {0, 1, kNoTensor};
  conv.outputs = {2};
  conv.set("stride_h", int64_t{1});
  conv.set("stride_w", int64_t{1});
  graph.main().operators = {conv};
  graph.main().inputs = {0};
  graph.main().outputs = {2};
  return graph;
}

TEST(Features, SizesAreLogsOfWhatTheLayerDoes) {
  const GraphTensors tensors = extract(pointwise(24, 40), "ethos-u55-256");
  ASSERT_EQ(tensors.nodes, 1);
  EXPECT_NEAR(feature(tensors, 0, "log_macs"), std::log1p(8 * 8 * 24 * 40), 1e-5);
  EXPECT_NEAR(feature(tensors, 0, "log_ifm_c"), std::log1p(24), 1e-6);
  EXPECT_NEAR(feature(tensors, 0, "waste_ofm_c_16"), std::log(48.0 / 40.0), 1e-6);
  EXPECT_EQ(feature(tensors, 0, "waste_ofm_c_8"), 0.0);
  EXPECT_EQ(feature(tensors, 0, "log_kernel_area"), 0.0);
  EXPECT_EQ(feature(tensors, 0, "on_npu"), 1.0);
  EXPECT_EQ(feature(tensors, 0, "weights_zero_fraction"), 0.0);
}

TEST(Features, PriorOfMemoryIsWhatIsAlive) {
  const auto prior = [](const GraphTensors& tensors) {
    return std::exp(static_cast<double>(tensors.log_prior[1]));
  };
  EXPECT_NEAR(prior(extract(pointwise(24, 40), "litert-xnnpack")), 64 * (24 + 40), 0.5);
  // On the NPU also the 960 weights and 40 scales, if they are fetched ahead.
  const double npu = prior(extract(pointwise(24, 40), "ethos-u55-256"));
  EXPECT_GE(npu, 64 * (24 + 40) - 0.5);
  EXPECT_LE(npu, 64 * (24 + 40) + 2000);
}

// Two convolutions: the tensor between them is in bricks of 16 channels on Ethos-U, the network's
// input and output are not.
TEST(Features, PriorOfMemoryRoundsInnerTensorsToBricks) {
  Graph graph = pointwise(24, 40);
  Subgraph& main = graph.main();
  Tensor filter = main.tensors[1], output = main.tensors[2];
  filter.shape = {8, 1, 1, 40};
  output.shape = {1, 8, 8, 8};
  graph.buffers.push_back(make_buffer(std::vector<std::byte>(8 * 40, std::byte{1})));
  filter.buffer = 2;
  main.tensors.push_back(filter);
  main.tensors.push_back(output);
  Operator conv = main.operators[0];
  conv.inputs = {2, 3, kNoTensor};
  conv.outputs = {4};
  main.operators.push_back(conv);
  main.outputs = {4};
  const auto prior = [](const GraphTensors& tensors, size_t node) {
    return std::exp(static_cast<double>(tensors.log_prior[node * 2 + 1]));
  };
  const GraphTensors npu = extract(graph, "ethos-u55-256");
  const double ahead = 2000;  // more than the weights and scales of either layer
  EXPECT_GE(prior(npu, 0), 64 * (24 + 48) - 0.5);
  EXPECT_LE(prior(npu, 0), 64 * (24 + 48) + ahead);
  EXPECT_GE(prior(npu, 1), 64 * (48 + 8) - 0.5);
  EXPECT_LE(prior(npu, 1), 64 * (48 + 8) + ahead);
  EXPECT_NEAR(prior(extract(graph, "litert-xnnpack"), 0), 64 * (24 + 40), 0.5);
}

TEST(Features, NamesAreUniqueAndEveryValueIsFinite) {
  std::set<std::string_view> names;
  for (const NodeFeature& f : node_features()) EXPECT_TRUE(names.insert(f.name).second) << f.name;
  for (const char* name : {"mobile-classifier/1/3", "keyword-sound/1/3", "keyword-sound/1/8"}) {
    for (const char* target :
         {"ethos-u55-256", "ethos-u85-512", "litert-xnnpack", "edge-tpu-like", "generic"}) {
      const GraphTensors tensors = extract(network(name), target);
      ASSERT_EQ(tensors.x.size(), static_cast<size_t>(tensors.nodes * tensors.features));
      for (const float value : tensors.x) ASSERT_TRUE(std::isfinite(value)) << name << target;
      for (const float value : tensors.globals) ASSERT_TRUE(std::isfinite(value));
      for (const float value : tensors.log_prior) ASSERT_FALSE(std::isnan(value));
    }
  }
}

TEST(Features, EdgesAreTheSameInBothDirections) {
  const GraphTensors tensors = extract(network("mobile-classifier/1/5"), "ethos-u55-256");
  std::multiset<std::pair<int32_t, int32_t>> down, up;
  for (int32_t i = 0; i < tensors.nodes; ++i) {
    const auto at = static_cast<size_t>(i);
    for (int32_t e = tensors.producers.offset[at]; e < tensors.producers.offset[at + 1]; ++e)
      down.emplace(tensors.producers.index[static_cast<size_t>(e)], i);
    for (int32_t e = tensors.consumers.offset[at]; e < tensors.consumers.offset[at + 1]; ++e)
      up.emplace(i, tensors.consumers.index[static_cast<size_t>(e)]);
  }
  EXPECT_FALSE(down.empty());
  EXPECT_EQ(down, up);
}

TEST(Features, DoNotDependOnNames) {
  Graph graph = network("keyword-sound/1/11");
  const GraphTensors before = extract(graph, "ethos-u55-256");
  for (Tensor& tensor : graph.main().tensors) tensor.name.clear();
  const GraphTensors after = extract(graph, "ethos-u55-256");
  EXPECT_EQ(before.x, after.x);
  EXPECT_EQ(before.log_prior, after.log_prior);
}

TEST(Features, WhatFallsBackToTheCpuHasNoPriorOnAnNpu) {
  Graph graph = pointwise(8, 8);
  graph.main().tensors[0].type = graph.main().tensors[2].type = DataType::kFloat32;
  const GraphTensors tensors = extract(graph, "ethos-u55-256");
  ASSERT_EQ(tensors.nodes, 1);
  EXPECT_TRUE(std::isinf(tensors.log_prior[0]));
}

TEST(Features, GraphWithoutOperatorsHasNoNodes) {
  Graph graph;
  graph.subgraphs.resize(1);
  EXPECT_EQ(extract(graph, "ethos-u55-256").nodes, 0);
  EXPECT_EQ(extract(graph, "litert-xnnpack").nodes, 0);
}

TEST(Quantity, NamesRoundTripAndUnknownOnesAreRefused) {
  for (const Quantity quantity : kBoth)
    EXPECT_EQ(*quantity_from_name(quantity_name(quantity)), quantity);
  EXPECT_EQ(quantity_from_name("latency").error().code, ErrorCode::kInvalidArgument);
}

TEST(ExtractFeatures, LiveBytesAreTheSumOfWhatIsAliveAtEachRow) {
  for (const char* target : {"ethos-u55-256", "ethos-u85-512", "litert-xnnpack"}) {
    const Graph graph = network("mobile-classifier/1/10");
    const Lowering lowering = lower(graph, *target_from_name(target));
    const LoweringFacts facts = gather_facts(graph, lowering);
    const std::vector<double> stored = stored_bytes(graph, lowering.target);
    std::vector<double> expected(lowering.rows.size(), 0.0);
    for (const LiveRange& range : liveness(graph, lowering).ranges)
      for (int32_t row = range.first; row <= range.last; ++row)
        expected[static_cast<size_t>(row)] += stored[static_cast<size_t>(range.tensor)];
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_EQ(facts.rows[i].live_bytes, expected[i]) << target << ", row " << i;
    EXPECT_EQ(facts.peak_live_bytes, *std::ranges::max_element(expected)) << target;
  }
}

TEST(ExtractFeatures, ConsumersAreProducersTurnedRound) {
  const GraphTensors tensors = extract(network("mobile-classifier/1/10"), "ethos-u55-256");
  std::vector<std::pair<int32_t, int32_t>> forward, backward;
  for (int32_t i = 0; i < tensors.nodes; ++i) {
    const auto at = static_cast<size_t>(i);
    for (int32_t e = tensors.producers.offset[at]; e < tensors.producers.offset[at + 1]; ++e)
      forward.emplace_back(tensors.producers.index[static_cast<size_t>(e)], i);
    for (int32_t e = tensors.consumers.offset[at]; e < tensors.consumers.offset[at + 1]; ++e)
      backward.emplace_back(i, tensors.consumers.index[static_cast<size_t>(e)]);
  }
  std::ranges::sort(forward);
  EXPECT_EQ(forward, backward) << "sorted by node, readers ascending";
}

}  // namespace
}  // namespace edgesage
