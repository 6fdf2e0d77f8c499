// Counts allocations, so it is a program of its own.

#include <gtest/gtest.h>

#include "src/predict/incremental_prediction.h"
#include "src/predict/predictor.h"
#include "tests/predict/random_tensors.h"
#include "tests/predict/sample_predictor.h"
#include "tests/support/allocations.h"

namespace edgesage {
namespace {

TEST(PredictAllocation, PredictionAllocatesNothingOnceTheWorkspaceHasGrown) {
  const Predictor predictor = *Predictor::from(test::lively_predictor(3));
  Rng rng(1);
  std::vector<GraphTensors> graphs;
  for (int i = 0; i < 40; ++i)
    graphs.push_back(test::random_tensors(static_cast<int32_t>(rng.integer(1, 120)), rng));
  graphs.push_back(test::random_tensors(130, rng));
  PredictWorkspace workspace;
  for (const GraphTensors& tensors : graphs) predictor.estimate(tensors, workspace);
  double sum = 0;
  const int64_t before = test::allocations().count;
  for (const GraphTensors& tensors : graphs)
    sum += predictor.estimate(tensors, workspace).value.front();
  EXPECT_EQ(test::allocations().count, before);
  EXPECT_GT(sum, 0.0);
}

TEST(PredictAllocation, UpdatesAllocateNothingOnceGrown) {
  const Predictor predictor = *Predictor::from(test::lively_predictor(2));
  Rng rng(2);
  const GraphTensors large = test::random_tensors(120, rng), small = test::random_tensors(90, rng);
  GraphTensors changed = large;
  test::redraw_node(changed, 60, rng);
  const std::vector<int32_t> none(large.nodes, -1), same = [] {
    std::vector<int32_t> numbers;
    for (int32_t i = 0; i < 120; ++i) numbers.push_back(i);
    return numbers;
  }();
  IncrementalPrediction incremental(predictor, large);
  const auto round = [&] {
    incremental.update(small, std::span(none).first(90));
    incremental.update(large, none);
    incremental.update(changed, same);
    incremental.update(large, same);
  };
  round();
  const int64_t before = test::allocations().count;
  round();
  EXPECT_EQ(test::allocations().count, before);
}

}  // namespace
}  // namespace edgesage
