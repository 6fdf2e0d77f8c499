#include "src/nn/trainer.h"

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "tests/nn/random_batch.h"

namespace edgesage::nn {
namespace {

std::vector<int32_t> all_graphs(const Batch& batch) {
  std::vector<int32_t> graphs(static_cast<size_t>(batch.graphs()));
  std::iota(graphs.begin(), graphs.end(), 0);
  return graphs;
}

struct Problem {
  explicit Problem(int32_t count, double dropout = 0) {
    config.hidden = 32;
    config.dropout = dropout;
    Rng rng(21);
    data = random_batch(config, {.graphs = count, .max_nodes = 20, .min_nodes = 3}, rng);
    graphs = all_graphs(data);
  }
  ModelConfig config = small_config();
  Batch data;
  std::vector<int32_t> graphs;
};

std::vector<float> weights_after(const Problem& problem, TrainOptions options) {
  Model model = *Model::create(problem.config);
  const auto report = train(model, problem.data, problem.graphs, options);
  EXPECT_TRUE(report);
  return {model.parameters().begin(), model.parameters().end()};
}

TEST(Trainer, LearnsThirtyTwoRandomGraphsByHeart) {
  const Problem problem(32);
  Model model = *Model::create(problem.config);
  std::vector<double> log_error;
  const TrainOptions options{.epochs = 300,
                             .batch_graphs = 8,
                             .learning_rate = 1e-2,
                             .weight_decay = 0,
                             .average_decay = 0.98,
                             .loss = {.node_weight = {0.0, 0.0, 0.0}}};
  const auto report = train(model, problem.data, problem.graphs, options,
                            [&](const EpochReport& epoch) { log_error = epoch.log_error; });
  ASSERT_TRUE(report);
  EXPECT_EQ(report->epochs, 300);
  EXPECT_EQ(report->steps, 1200);
  EXPECT_EQ(report->skipped_steps, 0);
  for (const double error : log_error) EXPECT_LT(error, 0.05);
  // The averaged weights that the model was left with are as good.
  Workspace workspace;
  const Outputs& out = model.predict(problem.data, workspace);
  for (size_t i = 0; i < out.totals.size(); ++i)
    if (!std::isnan(problem.data.log_total[i])) {
      EXPECT_NEAR(std::log(out.totals[i]), problem.data.log_total[i], 0.25);
    }
}

// An operator's label: each of its nodes costs what the prior says, times a factor of its kind.
void label_operators_by_kind(const ModelConfig& config, Batch& data) {
  std::fill(data.op_label.begin(), data.op_label.end(), 0.0f);
  const auto columns = static_cast<size_t>(config.columns());
  const auto quantities = static_cast<size_t>(config.quantity_count());
  for (size_t i = 0; i < data.kind.size(); ++i)
    data.op_label[static_cast<size_t>(data.node_op[i]) * quantities] +=
        std::exp(data.log_prior[i * columns]) * static_cast<float>(1 + data.kind[i]);
}

TEST(Trainer, NodeLossPullsOperatorsToTheirLabels) {
  Problem problem(16);
  label_operators_by_kind(problem.config, problem.data);
  const LossOptions nodes_only{.total_weight = {0, 0, 0}, .node_weight = {1, 0, 0}};
  Model model = *Model::create(problem.config);
  std::vector<float> gradient(model.parameters().size());
  const double before = loss_and_gradient(model, problem.data, nodes_only, gradient);
  ASSERT_TRUE(train(model, problem.data, problem.graphs,
                    {.epochs = 150,
                     .batch_graphs = 8,
                     .learning_rate = 1e-2,
                     .weight_decay = 0,
                     .average_decay = 0.9,
                     .loss = nodes_only}));
  EXPECT_LT(loss_and_gradient(model, problem.data, nodes_only, gradient), 0.1 * before);
}

TEST(Trainer, SameSeedGivesSameBytesForAnyNumberOfThreads) {
  const Problem problem(37, 0.2);
  TrainOptions options{.epochs = 3, .batch_graphs = 10, .threads = 1, .seed = 5};
  const std::vector<float> one = weights_after(problem, options);
  for (const int threads : {2, 4, 7}) {
    options.threads = threads;
    EXPECT_EQ(weights_after(problem, options), one) << threads << " threads";
  }
  EXPECT_EQ(weights_after(problem, options), one) << "second run";
  options.seed = 6;
  EXPECT_NE(weights_after(problem, options), one) << "another seed";
}

TEST(Trainer, TrainsOnTheNamedGraphsOnly) {
  Problem problem(12);
  const std::vector<int32_t> chosen{1, 4, 6, 9};
  Problem poisoned = problem;
  for (size_t g = 0; g < 12; ++g)
    if (std::find(chosen.begin(), chosen.end(), static_cast<int32_t>(g)) == chosen.end())
      for (size_t q = 0; q < 3; ++q) poisoned.data.log_total[g * 3 + q] = 50;
  problem.graphs = poisoned.graphs = chosen;
  const TrainOptions options{.epochs = 2, .batch_graphs = 3};
  EXPECT_EQ(weights_after(problem, options), weights_after(poisoned, options));
}

TEST(Trainer, MiniBatchSmallerThanItsPartsWorks) {
  const Problem problem(3);
  EXPECT_FALSE(weights_after(problem, {.epochs = 2, .batch_graphs = 1}).empty());
}

TEST(Trainer, StopFlagKeepsTheWeightsSoFar) {
  const Problem problem(8);
  Model model = *Model::create(problem.config);
  const Model fresh = model;
  std::atomic<bool> stop{false};
  const auto report = train(
      model, problem.data, problem.graphs, {.epochs = 100, .batch_graphs = 4},
      [&](const EpochReport& epoch) { stop = epoch.epoch == 2; }, &stop);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->stopped);
  EXPECT_EQ(report->epochs, 2);
  EXPECT_EQ(report->steps, 5);
  EXPECT_FALSE(
      std::equal(model.parameters().begin(), model.parameters().end(), fresh.parameters().begin()));
}

TEST(Trainer, EpochReportHoldsTheWeightsThatTheModelEndsWith) {
  const Problem problem(8);
  Model model = *Model::create(problem.config);
  std::vector<float> last;
  ASSERT_TRUE(train(model, problem.data, problem.graphs, {.epochs = 3, .batch_graphs = 4},
                    [&](const EpochReport& epoch) {
                      last.assign(epoch.parameters.begin(), epoch.parameters.end());
                    }));
  EXPECT_TRUE(std::equal(last.begin(), last.end(), model.parameters().begin()));
}

TEST(Trainer, LearningRateRisesThenFalls) {
  const TrainOptions options{.learning_rate = 1.0, .warm_up = 0.1};
  EXPECT_LT(one_cycle_rate(options, 0, 1000), 0.1);
  EXPECT_NEAR(one_cycle_rate(options, 99, 1000), 1.0, 1e-3);
  EXPECT_NEAR(one_cycle_rate(options, 549, 1000), 0.5, 0.01);
  EXPECT_LT(one_cycle_rate(options, 999, 1000), 2e-3);
  EXPECT_GT(one_cycle_rate(options, 999, 1000), 0.0);
}

TEST(Trainer, RefusesBadOptionsAndData) {
  const Problem problem(3);
  const auto refused = [&](TrainOptions options, std::vector<int32_t> graphs) {
    Model model = *Model::create(problem.config);
    const auto report = train(model, problem.data, graphs, options);
    return !report && report.error().code == ErrorCode::kInvalidArgument;
  };
  EXPECT_TRUE(refused({.epochs = 0}, {0}));
  EXPECT_TRUE(refused({.batch_graphs = 0}, {0}));
  EXPECT_TRUE(refused({.learning_rate = 0}, {0}));
  EXPECT_TRUE(refused({.average_decay = 1}, {0}));
  EXPECT_TRUE(refused({.loss = {.delta = 0}}, {0}));
  EXPECT_TRUE(refused({.loss = {.total_weight = {1}}}, {0}));
  EXPECT_TRUE(refused({}, {}));
  EXPECT_TRUE(refused({}, {3}));
  EXPECT_FALSE(refused({.epochs = 1}, {0}));
}

}  // namespace
}  // namespace edgesage::nn
