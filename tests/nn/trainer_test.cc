#include "src/nn/trainer.h"

#include <algorithm>
#include <barrier>
#include <cmath>
#include <numeric>
#include <thread>

#include <gtest/gtest.h>

#include "src/nn/batch_plan.h"
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

// The graphs of a batch, without the overload for batches.
std::vector<float> weights_from_source(const Problem& problem, const TrainOptions& options,
                                       const TrainHooks& hooks = {}) {
  Model model = *Model::create(problem.config);
  const auto report = train(model, BatchSource(problem.data), problem.graphs, options, hooks);
  EXPECT_TRUE(report) << report.error().to_string();
  return {model.parameters().begin(), model.parameters().end()};
}

TEST(Trainer, SourceGivesTheBytesOfTheBatch) {
  const Problem problem(23, 0.1);
  for (const int64_t batch_nodes : {0, 60}) {
    const TrainOptions options{.epochs = 2, .batch_graphs = 5, .batch_nodes = batch_nodes};
    EXPECT_EQ(weights_from_source(problem, options), weights_after(problem, options));
  }
}

// Threads in place of processes: what the owner has written when all have come is copied by all.
class Meeting {
 public:
  explicit Meeting(int size) : barrier_(size), size_(size) {}

  class Member final : public Ranks {
   public:
    Member(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}
    int rank() const override { return rank_; }
    int size() const override { return meeting_.size_; }
    void broadcast(std::span<float> values, int owner) override { copy(values, owner); }
    void broadcast(std::span<double> values, int owner) override { copy(values, owner); }

   private:
    template <class T>
    void copy(std::span<T> values, int owner) {
      if (rank_ == owner) meeting_.from_ = values.data();
      meeting_.barrier_.arrive_and_wait();
      if (rank_ != owner)
        std::copy_n(static_cast<const T*>(meeting_.from_), values.size(), values.data());
      meeting_.barrier_.arrive_and_wait();
    }
    Meeting& meeting_;
    int rank_;
  };

 private:
  std::barrier<> barrier_;
  int size_;
  const void* from_ = nullptr;
};

TEST(Trainer, SeveralProcessesGiveTheBytesOfOne) {
  const Problem problem(37, 0.2);
  for (const int64_t batch_nodes : {0, 90}) {
    const TrainOptions options{
        .epochs = 3, .batch_graphs = 10, .batch_nodes = batch_nodes, .threads = 1, .seed = 5};
    const std::vector<float> one = weights_from_source(problem, options);
    for (const int size : {2, 3, 4, 5}) {
      Meeting meeting(size);
      std::vector<std::vector<float>> weights(static_cast<size_t>(size));
      std::vector<std::jthread> threads;
      for (int rank = 0; rank < size; ++rank)
        threads.emplace_back([&, rank] {
          Meeting::Member member(meeting, rank);
          weights[static_cast<size_t>(rank)] =
              weights_from_source(problem, options, {.ranks = &member});
        });
      threads.clear();
      for (const std::vector<float>& each : weights) EXPECT_EQ(each, one) << size << " processes";
    }
  }
}

TEST(Trainer, BatchesByNodesDoNotDependOnThreads) {
  const Problem problem(37, 0.2);
  TrainOptions options{.epochs = 3, .batch_nodes = 90, .threads = 1};
  const std::vector<float> one = weights_from_source(problem, options);
  for (const int threads : {2, 4}) {
    options.threads = threads;
    EXPECT_EQ(weights_from_source(problem, options), one) << threads << " threads";
  }
}

TEST(BatchPlan, FillsBatchesUpToTheirNodes) {
  const Problem problem(40);
  const BatchSource source(problem.data);
  std::vector<BatchRange> plan;
  plan_batches(source, problem.graphs, 1, 50, plan);
  size_t expected_first = 0;
  for (size_t b = 0; b < plan.size(); ++b) {
    EXPECT_EQ(plan[b].first, expected_first);
    ASSERT_GT(plan[b].last, plan[b].first);
    int64_t nodes = 0;
    for (size_t i = plan[b].first; i < plan[b].last; ++i)
      nodes += source.nodes_of(problem.graphs[i]);
    EXPECT_LE(nodes, 50);
    if (b + 1 < plan.size()) {
      EXPECT_GT(nodes + source.nodes_of(problem.graphs[plan[b].last]), 50) << "room was left";
    }
    expected_first = plan[b].last;
  }
  EXPECT_EQ(expected_first, problem.graphs.size());
}

TEST(BatchPlan, LargeGraphIsABatchOfItsOwn) {
  const Problem problem(10);
  std::vector<BatchRange> plan;
  plan_batches(BatchSource(problem.data), problem.graphs, 1, 1, plan);
  EXPECT_EQ(plan.size(), 10u);
}

TEST(BatchPlan, ByGraphsTheLastMayBeSmaller) {
  const Problem problem(10);
  std::vector<BatchRange> plan;
  plan_batches(BatchSource(problem.data), problem.graphs, 4, 0, plan);
  EXPECT_EQ(plan, (std::vector<BatchRange>{{0, 4}, {4, 8}, {8, 10}}));
}

// The gradient of an epoch at fixed weights must not depend on how it is cut.
TEST(Trainer, ByNodesAGraphCountsTheSameWhateverItIsGroupedWith) {
  const Problem problem(24);
  const auto first_losses = [&](int64_t batch_nodes) {
    std::vector<double> sums;
    Model model = *Model::create(problem.config);
    // So small a rate leaves the weights where they are.
    const TrainOptions options{
        .epochs = 1, .batch_nodes = batch_nodes, .learning_rate = 1e-12, .weight_decay = 0};
    int64_t steps = 0;
    double loss = 0;
    EXPECT_TRUE(train(model, BatchSource(problem.data), problem.graphs, options,
                      {.on_step = [&](const StepReport& report) {
                        ++steps;
                        loss = report.loss;
                      }}));
    return loss * static_cast<double>(steps) * static_cast<double>(batch_nodes);
  };
  const double reference = first_losses(40);
  for (const int64_t batch_nodes : {25, 70, 110})
    EXPECT_NEAR(first_losses(batch_nodes), reference, 1e-4 * reference) << batch_nodes;
}

// What a run saves, step for step.
std::vector<TrainState> saved_states(const Problem& problem, const TrainOptions& options) {
  std::vector<TrainState> states;
  weights_from_source(problem, options,
                      {.save = [&](const TrainState& state) -> Status {
                         states.push_back(state);
                         return {};
                       },
                       .save_seconds = 0});
  return states;
}

TEST(Trainer, ResumesToTheSameBytesFromEveryStep) {
  const Problem problem(17, 0.2);
  for (const int64_t batch_nodes : {0, 60}) {
    const TrainOptions options{.epochs = 3, .batch_graphs = 5, .batch_nodes = batch_nodes};
    const std::vector<float> whole = weights_from_source(problem, options);
    const std::vector<TrainState> states = saved_states(problem, options);
    ASSERT_GE(states.size(), 12u);
    for (const TrainState& state : states) {
      std::vector<double> losses;
      const std::vector<float> resumed = weights_from_source(
          problem, options,
          {.on_epoch = [&](const EpochReport& epoch) { losses.push_back(epoch.loss); },
           .resume = &state});
      EXPECT_EQ(resumed, whole) << "from step " << state.steps;
      EXPECT_EQ(losses.size(), static_cast<size_t>(options.epochs - state.epochs));
    }
  }
}

TEST(Trainer, StoppedRunSavesWhereItStopped) {
  const Problem problem(17, 0.2);
  const TrainOptions options{.epochs = 4, .batch_graphs = 5};
  const std::vector<float> whole = weights_from_source(problem, options);
  for (const int64_t last : {1, 4, 6, 16}) {  // 4 and 16 end an epoch
    std::atomic<bool> stop{false};
    TrainState state;
    int64_t steps = 0;
    weights_from_source(problem, options,
                        {.on_step = [&](const StepReport&) { stop = ++steps == last; },
                         .stop = &stop,
                         .save = [&](const TrainState& saved) -> Status {
                           state = saved;
                           return {};
                         }});
    EXPECT_EQ(state.steps, last);
    EXPECT_EQ(weights_from_source(problem, options, {.resume = &state}), whole) << last;
  }
}

TEST(Trainer, StateOfAnotherModelIsRefused) {
  const Problem problem(6), other(40);
  const TrainOptions options{.epochs = 2, .batch_graphs = 4};
  const TrainState good = saved_states(problem, options)[1];
  const auto refused = [&](const TrainState& state) {
    Model model = *Model::create(problem.config);
    const auto report =
        train(model, BatchSource(problem.data), problem.graphs, options, {.resume = &state});
    return !report && report.error().code == ErrorCode::kInvalidArgument;
  };
  EXPECT_FALSE(refused(good));
  TrainState bad = good;
  bad.parameters.pop_back();
  EXPECT_TRUE(refused(bad));
  bad = good;
  bad.second_moment[3] = std::nanf("");
  EXPECT_TRUE(refused(bad));
  bad = good;
  bad.graphs_done = 7;
  EXPECT_TRUE(refused(bad));
  bad = good;
  bad.epochs = 3;
  EXPECT_TRUE(refused(bad));
  bad = good;
  bad.sums.weight.clear();
  EXPECT_TRUE(refused(bad));
}

TEST(Trainer, FailingToSaveEndsTheRun) {
  const Problem problem(6);
  Model model = *Model::create(problem.config);
  const auto report = train(model, BatchSource(problem.data), problem.graphs, {},
                            {.save = [](const TrainState&) -> Status {
                              return make_error(ErrorCode::kInvalidArgument, "disk", "is full");
                            }});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().where, "disk");
}

TEST(Trainer, BadGraphOfASourceIsNamed) {
  Problem problem(6);
  problem.data.x[0] = std::nanf("");
  Model model = *Model::create(problem.config);
  const auto report = train(model, BatchSource(problem.data), problem.graphs, {}, TrainHooks{});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(report.error().where, "graph 0");
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
  EXPECT_TRUE(refused({.batch_nodes = -1}, {0}));
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
