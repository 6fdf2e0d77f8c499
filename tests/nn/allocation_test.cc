// Counts allocations, so it is a program of its own.

#include <gtest/gtest.h>

#include "src/nn/model.h"
#include "src/nn/stepper.h"
#include "tests/nn/random_batch.h"
#include "tests/support/allocations.h"

namespace edgesage::nn {
namespace {

TEST(Allocation, PredictionAllocatesNothingOnceTheWorkspaceHasGrown) {
  const ModelConfig config = small_config();
  Rng rng(1);
  Model model = *Model::create(config);
  const Batch large = random_batch(config, {.graphs = 4, .max_nodes = 50, .min_nodes = 50}, rng);
  const Batch small = random_batch(config, {.graphs = 3, .max_nodes = 20}, rng);
  for (const Precision precision : {Precision::kFloat32, Precision::kBfloat16}) {
    model.set_precision(precision);
    Workspace workspace;
    model.predict(large, workspace);
    const int64_t before = test::allocations().count;
    model.predict(small, workspace);
    model.predict(large, workspace);
    EXPECT_EQ(test::allocations().count, before);
  }
}

TEST(Allocation, DrawingGraphsIntoABatchAllocatesNothingOnceItHasGrown) {
  const ModelConfig config = small_config();
  Rng rng(2);
  const Batch data = random_batch(config, {.graphs = 6, .max_nodes = 20}, rng);
  Batch batch;
  for (int32_t g = 0; g < 6; ++g) append_graph(data, g, batch);
  const int64_t before = test::allocations().count;
  for (int round = 0; round < 3; ++round) {
    batch.clear();
    for (int32_t g = 5; g >= 0; --g) append_graph(data, g, batch);
  }
  EXPECT_EQ(test::allocations().count, before);
}

TEST(Allocation, TrainingStepAllocatesNothingOnceBuffersHaveGrown) {
  ModelConfig config = small_config();
  config.dropout = 0.1;
  Rng rng(3);
  const Model model = *Model::create(config);
  const Batch data = random_batch(config, {.graphs = 8, .max_nodes = 20}, rng);
  const TrainOptions options{.threads = 1};
  const BatchSource source(data);
  Stepper stepper(model, source, options);
  const std::vector<int32_t> graphs{0, 1, 2, 3, 4, 5, 6, 7};
  stepper.step(graphs, 1e-3);
  const int64_t before = test::allocations().count;
  stepper.step(graphs, 1e-3);
  stepper.step(std::span(graphs).first(3), 1e-3);
  EXPECT_EQ(test::allocations().count, before);
}

}  // namespace
}  // namespace edgesage::nn
