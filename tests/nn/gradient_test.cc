// The hand-written backward pass against finite differences of an independent forward pass in
// double.
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

TEST(Gradient, InsideTheQuadraticPartOfTheLoss) {
  const ModelConfig config = with_quantities({{"latency_ms", ReadOut::kSum, true, 0.5}});
  check(config, {.delta = 50, .node_delta = 50}, 4);
}

TEST(Gradient, AllQuantitiesAndLossesTogether) {
  for (uint64_t seed = 1; seed <= 2; ++seed) check(small_config(), {}, seed);
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

}  // namespace
}  // namespace edgesage::nn
