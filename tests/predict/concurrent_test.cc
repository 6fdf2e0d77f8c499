// One predictor shared by many threads while others train networks: every answer and every weight
// has the bits of a run on its own. The thread sanitizer watches (./dev tsan).
#include <gtest/gtest.h>

#include <barrier>
#include <memory>
#include <numeric>
#include <thread>

#include "src/features/extract.h"
#include "src/nn/trainer.h"
#include "src/predict/predictor.h"
#include "src/spaces/space.h"
#include "tests/nn/random_batch.h"
#include "tests/predict/large_graphs.h"
#include "tests/predict/sample_predictor.h"

namespace edgesage {
namespace {

constexpr int kPredictors = 4;  // threads that predict
constexpr int kTrainers = 2;    // threads that train
constexpr int kRounds = 3;

std::vector<Graph> graphs() {
  std::vector<Graph> all;
  for (const char* name : {"keyword-sound/1/2", "keyword-sound/1/9", "mobile-classifier/1/2"})
    all.push_back(*build_network(*NetworkName::parse(name)));
  for (const test::LargeGraph shape : test::kLargeGraphs)
    all.push_back(test::large_graph(shape, 60));
  return all;
}

// Everything that is computed, in one list.
std::vector<double> numbers_of(const Prediction& answer) {
  std::vector<double> numbers{answer.overhead_ms, static_cast<double>(answer.macs),
                              static_cast<double>(answer.activations_bytes),
                              answer.in_range ? 1.0 : 0.0};
  for (const auto* interval : {&answer.latency_ms, &answer.peak_ram_bytes})
    if (*interval) {
      numbers.push_back((*interval)->value);
      numbers.push_back((*interval)->lo);
      numbers.push_back((*interval)->hi);
    }
  for (const OperatorPrediction& op : answer.operators)
    numbers.push_back(op.latency_ms.value_or(-1));
  return numbers;
}

std::vector<double> numbers_of(const Estimate& estimate) {
  std::vector<double> numbers = estimate.value;
  numbers.insert(numbers.end(), estimate.spread.begin(), estimate.spread.end());
  numbers.insert(numbers.end(), estimate.overhead.begin(), estimate.overhead.end());
  for (const std::vector<double>& operators : estimate.operators)
    numbers.insert(numbers.end(), operators.begin(), operators.end());
  return numbers;
}

// Networks of few weights on data that all of them share.
class Training {
 public:
  Training() {
    Rng rng(1);
    data_ = nn::random_batch(config_, {.graphs = 24, .max_nodes = 15}, rng);
    graphs_.resize(24);
    std::iota(graphs_.begin(), graphs_.end(), 0);
  }
  [[nodiscard]] std::vector<float> weights(uint64_t seed, int threads) const {
    nn::ModelConfig config = config_;
    config.seed = seed;
    config.dropout = 0.1;
    nn::Model model = *nn::Model::create(config);
    EXPECT_TRUE(nn::train(model, data_, graphs_,
                          {.epochs = 3, .batch_graphs = 8, .threads = threads, .seed = seed}));
    return {model.parameters().begin(), model.parameters().end()};
  }

 private:
  nn::ModelConfig config_ = nn::small_config();
  nn::Batch data_;
  std::vector<int32_t> graphs_;
};

class Concurrent : public ::testing::Test {
 protected:
  Concurrent() {
    for (const Graph& graph : graphs_) {
      tensors_.push_back(
          extract_features(graph, lower(graph, predictor_.target()), predictor_.quantities()));
      answers_.push_back(numbers_of(predictor_.predict(graph, "m", {})));
      estimates_.push_back(numbers_of(predictor_.estimate(tensors_.back())));
    }
  }

  // Each thread begins with another graph; it keeps its workspace over graphs of all sizes.
  void predict_all(size_t thread) const {
    PredictWorkspace workspace;
    for (size_t i = 0; i < kRounds * graphs_.size(); ++i) {
      const size_t g = (thread + i) % graphs_.size();
      EXPECT_EQ(numbers_of(predictor_.predict(graphs_[g], "m", {}, workspace)), answers_[g]);
      EXPECT_EQ(numbers_of(predictor_.predict(graphs_[g], "m", {})), answers_[g]);
      EXPECT_EQ(numbers_of(predictor_.estimate(tensors_[g], workspace)), estimates_[g]);
    }
    const std::vector<Estimate> batch = predictor_.estimate_batch(tensors_, 2);
    for (size_t g = 0; g < batch.size(); ++g) EXPECT_EQ(numbers_of(batch[g]), estimates_[g]);
  }

  const Predictor predictor_ = *Predictor::from(test::sample_predictor(3));
  const std::vector<Graph> graphs_ = graphs();
  std::vector<GraphTensors> tensors_;
  std::vector<std::vector<double>> answers_, estimates_;
};

TEST_F(Concurrent, PredictionAndTrainingHaveTheBitsOfASerialRun) {
  const Training training;
  std::vector<std::vector<float>> serial;
  for (uint64_t seed = 1; seed <= kTrainers; ++seed) serial.push_back(training.weights(seed, 1));
  std::barrier start(kPredictors + kTrainers);
  std::vector<std::jthread> threads;
  for (size_t t = 0; t < kPredictors; ++t)
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      predict_all(t);
    });
  for (size_t t = 0; t < kTrainers; ++t)
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      for (int round = 0; round < kRounds; ++round)
        EXPECT_EQ(training.weights(t + 1, 2), serial[t]) << "seed " << t + 1;
    });
}

// A copy shares nothing with what it was copied from, which may go first.
TEST_F(Concurrent, CopiesOfAPredictorOutliveItInOtherThreads) {
  auto original = std::make_unique<Predictor>(predictor_);
  std::vector<std::jthread> threads;
  for (size_t t = 0; t < kPredictors; ++t)
    threads.emplace_back([&, t, copy = *original] {
      for (size_t g = t % 2; g < graphs_.size(); g += 2)
        EXPECT_EQ(numbers_of(copy.predict(graphs_[g], "m", {})), answers_[g]);
    });
  original.reset();
}

}  // namespace
}  // namespace edgesage
