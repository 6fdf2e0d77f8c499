// The hand-written backward pass against finite differences of an independent forward pass in
// double.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "src/nn/trainer.h"
#include "tests/nn/random_batch.h"
#include "tests/nn/reference_network.h"

namespace edgesage::nn {
namespace {

// Weights away from the zeros and ones they start with, so that every path carries a gradient.
Model random_model(const ModelConfig& config, Rng& rng) {
  Model model = *Model::create(config);
  std::vector<float> parameters(model.parameters().begin(), model.parameters().end());
  for (float& value : parameters) value += static_cast<float>(0.3 * rng.normal());
  EXPECT_TRUE(model.set_parameters(parameters));
  return model;
}

void expect_gradient(const Model& model, const Batch& batch, const LossOptions& options) {
  const ReferenceNetwork reference(model.config(), model.parameter_table());
  std::vector<double> parameters(model.parameters().begin(), model.parameters().end());
  std::vector<float> gradient(parameters.size());
  const double loss = loss_and_gradient(model, batch, options, gradient);
  EXPECT_NEAR(loss, reference.loss(parameters, batch, options), 1e-5 * std::max(1.0, loss));
  double largest = 0;
  for (const float value : gradient) largest = std::max(largest, std::abs(double{value}));
  for (const ParameterSlice& slice : model.parameter_table()) {
    for (int64_t i = 0; i < slice.size(); ++i) {
      double& value = parameters[static_cast<size_t>(slice.offset + i)];
      const double kept = value, step = 1e-6;
      value = kept + step;
      const double above = reference.loss(parameters, batch, options);
      value = kept - step;
      const double below = reference.loss(parameters, batch, options);
      value = kept;
      const double expected = (above - below) / (2 * step);
      EXPECT_NEAR(gradient[static_cast<size_t>(slice.offset + i)], expected,
                  1e-3 * std::abs(expected) + 1e-5 * largest)
          << slice.name << " element " << i;
    }
  }
}

ModelConfig with_quantities(std::vector<Quantity> quantities) {
  ModelConfig config = small_config();
  config.layers = 2;
  config.hidden = 6;
  config.quantities = std::move(quantities);
  return config;
}

void check(const ModelConfig& config, const LossOptions& options, uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  const Model model = random_model(config, rng);
  expect_gradient(model, random_batch(config, {}, rng), options);
}

TEST(Gradient, TotalLossOfASum) {
  const ModelConfig config = with_quantities({{"latency_ms", ReadOut::kSum, false, 0.5}});
  for (uint64_t seed = 1; seed <= 3; ++seed) check(config, {}, seed);
}

TEST(Gradient, TotalLossOfAMaximum) {
  const ModelConfig config = with_quantities({{"sram_bytes", ReadOut::kMax, false, 0.5}});
  for (uint64_t seed = 1; seed <= 3; ++seed) check(config, {}, seed);
}

TEST(Gradient, TotalLossOfMaximumPlusSum) {
  const ModelConfig config = with_quantities({{"dram_bytes", ReadOut::kMaxPlusSum, false, 0.5}});
  for (uint64_t seed = 1; seed <= 3; ++seed) check(config, {}, seed);
}

TEST(Gradient, NodeLossAlone) {
  const ModelConfig config = with_quantities({{"latency_ms", ReadOut::kSum, true, 0.5}});
  for (uint64_t seed = 1; seed <= 3; ++seed)
    check(config, {.total_weight = {0.0}, .node_weight = {1.0}}, seed);
}

TEST(Gradient, NodeLossOfAMaximum) {
  const ModelConfig config = with_quantities({{"sram_bytes", ReadOut::kMax, true, 0.0}});
  for (uint64_t seed = 1; seed <= 3; ++seed)
    check(config, {.total_weight = {0.0}, .node_weight = {1.0}}, seed);
  for (uint64_t seed = 4; seed <= 6; ++seed) check(config, {}, seed);
}

TEST(Gradient, InsideTheQuadraticPartOfTheLoss) {
  const ModelConfig config = with_quantities({{"latency_ms", ReadOut::kSum, true, 0.5}});
  check(config, {.delta = 50, .node_delta = 50}, 4);
}

TEST(Gradient, AllQuantitiesAndLossesTogether) {
  for (uint64_t seed = 1; seed <= 2; ++seed) check(small_config(), {}, seed);
}

// Each read-out with each loss that it can have, in the linear and in the quadratic part.
TEST(Gradient, EveryReadOutWithEveryLoss) {
  struct Kind {
    ReadOut read_out;
    bool node_labels;
  };
  for (const Kind& kind :
       {Kind{ReadOut::kSum, true}, Kind{ReadOut::kMax, true}, Kind{ReadOut::kMaxPlusSum, false}})
    for (const double total_weight : {0.0, 0.7})
      for (const double node_weight : {0.0, 1.3})
        for (const double delta : {0.02, 50.0}) {
          SCOPED_TRACE("read-out " + std::to_string(static_cast<int>(kind.read_out)) + ", total " +
                       std::to_string(total_weight) + ", nodes " + std::to_string(node_weight) +
                       ", delta " + std::to_string(delta));
          check(with_quantities({{"q", kind.read_out, kind.node_labels, 0.5}}),
                {.delta = delta,
                 .node_delta = 2 * delta,
                 .total_weight = {total_weight},
                 .node_weight = {node_weight}},
                11);
        }
}

TEST(Gradient, WeightsFloorsAndPowersOfTheLoss) {
  ModelConfig config = with_quantities(
      {{"latency_ms", ReadOut::kSum, true, 0.5}, {"sram_bytes", ReadOut::kMax, true, 0.0}});
  config.max_power = 5;
  check(config,
        {.total_weight = {0.3, 2},
         .node_weight = {1.5, 0.2},
         .node_floor = 0.1,
         .node_share_power = 1,
         .peak_share_power = 0},
        12);
}

TEST(Gradient, AnyNumberOfLayers) {
  for (const int32_t layers : {1, 5}) {
    ModelConfig config = small_config();
    config.layers = layers;
    check(config, {}, 13);
  }
}

TEST(Gradient, GraphsWithoutWeightsCountAlike) {
  const ModelConfig config = small_config();
  Rng rng(14);
  const Model model = random_model(config, rng);
  Batch batch = random_batch(config, {}, rng);
  batch.weight.clear();
  expect_gradient(model, batch, {});
}

// A path that carries nothing would agree with differences of nothing.
TEST(Gradient, ReachesEverySlice) {
  const ModelConfig config = small_config();
  Rng rng(15);
  const Model model = random_model(config, rng);
  std::vector<float> gradient(model.parameters().size());
  loss_and_gradient(model, random_batch(config, {.graphs = 8}, rng), {}, gradient);
  for (const ParameterSlice& slice : model.parameter_table()) {
    const auto first = gradient.begin() + slice.offset;
    EXPECT_TRUE(std::any_of(first, first + slice.size(), [](float value) { return value != 0; }))
        << slice.name;
  }
}

TEST(Gradient, GraphsWithoutNodesOrWithFreeNodesOnly) {
  const ModelConfig config = small_config();
  Rng rng(7);
  const Model model = random_model(config, rng);
  RandomBatchOptions options{.graphs = 4, .max_nodes = 1, .min_nodes = 0, .free_share = 0.5};
  expect_gradient(model, random_batch(config, options, rng), {});
}

TEST(Gradient, MissingLabelsGiveNone) {
  const ModelConfig config = small_config();
  Rng rng(8);
  const Model model = random_model(config, rng);
  Batch batch = random_batch(config, {.label_share = 0.0}, rng);
  std::vector<float> gradient(model.parameters().size(), 1.0f);
  EXPECT_EQ(loss_and_gradient(model, batch, {}, gradient), 0.0);
  for (const float value : gradient) EXPECT_EQ(value, 0.0f);
  batch.log_total.clear();
  batch.op_label.clear();
  batch.weight.clear();
  EXPECT_EQ(loss_and_gradient(model, batch, {}, gradient), 0.0);
  for (const float value : gradient) EXPECT_EQ(value, 0.0f);
}

// Loss of a batch with the dropout of one seed, and its gradient.
double loss_with_dropout(const Model& model, const std::vector<float>& parameters,
                         const Batch& batch, const Dropout& dropout, Workspace& workspace,
                         std::vector<float>& gradient) {
  PackedWeights packed, transposed;
  pack(model.layout(), parameters.data(), packed);
  pack_transposed(model.config(), model.layout(), parameters.data(), transposed);
  const Network network{model.config(), model.layout(), parameters.data(), packed};
  LabelWeights weights;
  weights.reset(model.config().quantity_count());
  for (int32_t g = 0; g < batch.graphs(); ++g) weights.add(model.config(), batch, g);
  LossSums sums;
  sums.reset(model.config().quantity_count());
  BackwardBuffers buffers;
  forward(network, batch, dropout, workspace);
  loss_and_head_gradient(model.config(), {.delta = 5, .node_delta = 5}, weights, batch, workspace,
                         sums, buffers);
  gradient.assign(parameters.size(), 0.0f);
  backward(network, transposed, batch, dropout, workspace, buffers, gradient.data());
  return sums.loss;
}

TEST(Gradient, GoesThroughDropout) {
  ModelConfig config = small_config();
  config.hidden = 32;
  Rng rng(9);
  const Model model = random_model(config, rng);
  const Batch batch = random_batch(config, {.graphs = 8, .max_nodes = 30, .min_nodes = 20}, rng);
  const Dropout dropout{.rate = 0.25, .seed = 77};
  const std::vector<float> parameters(model.parameters().begin(), model.parameters().end());
  std::vector<float> gradient, unused;
  Workspace workspace;
  loss_with_dropout(model, parameters, batch, dropout, workspace, gradient);
  const kernels::AlignedFloats& kept = workspace.layers[1].kept;
  const auto dropped = static_cast<double>(std::count(kept.begin(), kept.end(), 0.0f));
  EXPECT_NEAR(dropped / static_cast<double>(kept.size()), 0.25, 0.03);
  // The slope along the gradient is its length.
  double length = 0;
  for (const float value : gradient) length += double{value} * double{value};
  length = std::sqrt(length);
  const auto loss_at = [&](double distance) {
    std::vector<float> moved = parameters;
    for (size_t i = 0; i < moved.size(); ++i)
      moved[i] += static_cast<float>(distance * double{gradient[i]} / length);
    return loss_with_dropout(model, moved, batch, dropout, workspace, unused);
  };
  const double step = 1e-3;
  EXPECT_NEAR((loss_at(step) - loss_at(-step)) / (2 * step), length, 1e-2 * length);
}

}  // namespace
}  // namespace edgesage::nn
