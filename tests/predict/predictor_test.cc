#include "src/predict/predictor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "src/base/parallel.h"
#include "src/features/extract.h"
#include "src/spaces/space.h"
#include "tests/predict/random_tensors.h"
#include "tests/predict/sample_predictor.h"

namespace edgesage {
namespace {

Graph network(const std::string& name) { return *build_network(*NetworkName::parse(name)); }

Predictor sample(int members = 2) { return *Predictor::from(test::sample_predictor(members)); }

bool mentions(const std::vector<std::string>& texts, std::string_view part) {
  return std::any_of(texts.begin(), texts.end(),
                     [&](const std::string& text) { return text.find(part) != std::string::npos; });
}

TEST(Predictor, OperatorsAndOverheadSumToTheTotal) {
  for (const char* name : {"mobile-classifier/1/2", "keyword-sound/1/2", "keyword-sound/1/9"}) {
    const Prediction answer = sample().predict(network(name), name, {});
    ASSERT_TRUE(answer.latency_ms);
    double sum = answer.overhead_ms;
    for (const OperatorPrediction& op : answer.operators) sum += op.latency_ms.value_or(0);
    EXPECT_NEAR(sum, answer.latency_ms->value, 1e-9 * answer.latency_ms->value) << name;
    EXPECT_GE(answer.overhead_ms, 0.0);
  }
}

TEST(Predictor, IntervalHoldsTheValueAndGrowsWithTheLevel) {
  const Graph graph = network("mobile-classifier/1/2");
  const Predictor predictor = sample();
  double last = 0;
  for (const double level : {0.5, 0.8, 0.9, 0.95}) {
    const Prediction answer = predictor.predict(graph, "m", {.level = level});
    const Interval& interval = *answer.latency_ms;
    EXPECT_EQ(interval.level, level);
    EXPECT_LT(interval.lo, interval.value);
    EXPECT_GT(interval.hi, interval.value);
    EXPECT_GT(interval.hi / interval.lo, last);
    last = interval.hi / interval.lo;
  }
}

TEST(Predictor, NamesOperatorsThatWereNotInTraining) {
  const Prediction answer = sample().predict(network("mobile-classifier/1/2"), "m", {});
  EXPECT_FALSE(answer.in_range);
  EXPECT_TRUE(mentions(answer.reasons, "DEPTHWISE_CONV_2D int8) was not in training"));
  for (const OperatorPrediction& op : answer.operators) {
    if (op.kind == "CONV_2D") {
      EXPECT_TRUE(op.known);
    }
    if (op.kind != "DEPTHWISE_CONV_2D") continue;
    EXPECT_FALSE(op.known);
    EXPECT_GT(op.latency_ms.value_or(0), 0.0) << "never priced at zero";
  }
}

TEST(Predictor, CpuFallbacksHaveNoPriceAndAreSaid) {
  Graph graph = network("keyword-sound/1/2");
  for (Tensor& tensor : graph.main().tensors)
    if (tensor.type == DataType::kInt8) tensor.type = DataType::kFloat32;
  const Prediction answer = sample().predict(graph, "float", {});
  EXPECT_FALSE(answer.in_range);
  EXPECT_TRUE(mentions(answer.warnings, "fall back to the CPU"));
  EXPECT_FALSE(answer.latency_ms);
  EXPECT_TRUE(answer.missing.contains("latency_ms"));
  EXPECT_FALSE(answer.peak_ram_bytes) << "nothing of it is in the NPU's memory";
  EXPECT_TRUE(answer.missing.contains("peak_ram_bytes"));
  for (const OperatorPrediction& op : answer.operators) {
    if (op.placement == "cpu") {
      EXPECT_FALSE(op.latency_ms);
    }
  }
}

TEST(Predictor, AnotherHostIsNamedAndFlagged) {
  PredictorData data = test::sample_predictor(1);
  data.host_fingerprint = "aaaa";
  data.host_description = "a computer of test";
  const Predictor predictor = *Predictor::from(data);
  const Graph graph = network("keyword-sound/1/2");
  const Prediction elsewhere = predictor.predict(graph, "m", {.host_fingerprint = "bbbb"});
  EXPECT_TRUE(mentions(elsewhere.warnings, "learnt on another computer (a computer of test)"));
  EXPECT_TRUE(mentions(elsewhere.reasons, "not the computer of the training"));
  EXPECT_FALSE(elsewhere.in_range);
  EXPECT_FALSE(mentions(predictor.predict(graph, "m", {.host_fingerprint = "aaaa"}).warnings,
                        "another computer"));
}

TEST(Predictor, UnknownQuantitiesHaveAReason) {
  const Prediction answer = sample().predict(network("keyword-sound/1/2"), "m", {});
  EXPECT_TRUE(answer.missing.contains("energy_mj"));
}

TEST(Predictor, ModelsWithoutOperatorsGetAReasonInsteadOfNumbers) {
  Graph empty;
  EXPECT_TRUE(sample().predict(empty, "e", {}).missing.contains("latency_ms"));
  empty.subgraphs.resize(1);
  const Prediction answer = sample().predict(empty, "e", {});
  EXPECT_FALSE(answer.latency_ms);
  EXPECT_FALSE(answer.in_range);
}

TEST(Predictor, SharedBetweenThreadsAnswersTheSame) {
  const Predictor predictor = sample();
  const Graph graph = network("mobile-classifier/1/4");
  const double expected = predictor.predict(graph, "m", {}).latency_ms->value;
  std::vector<double> answers(16);
  parallel_for(16, 4, [&](int64_t i) {
    answers[static_cast<size_t>(i)] = predictor.predict(graph, "m", {}).latency_ms->value;
  });
  for (const double answer : answers) EXPECT_EQ(answer, expected);
}

void expect_same(const Estimate& a, const Estimate& b) {
  EXPECT_EQ(a.value, b.value);
  EXPECT_EQ(a.spread, b.spread);
  EXPECT_EQ(a.overhead, b.overhead);
  EXPECT_EQ(a.operators, b.operators);
}

TEST(Predictor, AnswersOfABatchHaveTheBitsOfSingleCalls) {
  const Predictor predictor = *Predictor::from(test::lively_predictor(3));
  Rng rng(7);
  std::vector<GraphTensors> graphs;
  for (const int32_t nodes : {30, 1, 700, 30, 2, 64, 511, 5, 33, 200, 30})
    graphs.push_back(test::random_tensors(nodes, rng));
  for (const int threads : {1, 2, 4, 0}) {
    const std::vector<Estimate> answers = predictor.estimate_batch(graphs, threads);
    ASSERT_EQ(answers.size(), graphs.size());
    for (size_t i = 0; i < graphs.size(); ++i)
      expect_same(answers[i], predictor.estimate(graphs[i]));
  }
  EXPECT_TRUE(predictor.estimate_batch({}, 2).empty());
}

TEST(Predictor, AnswersDoNotDependOnWhatTheWorkspaceSawBefore) {
  const Predictor predictor = *Predictor::from(test::lively_predictor(2));
  const Predictor other = *Predictor::from(test::lively_predictor(4, 32, 3));
  Rng rng(8);
  PredictWorkspace workspace;
  for (const int32_t nodes : {50, 3, 120, 1, 50}) {
    const GraphTensors tensors = test::random_tensors(nodes, rng);
    expect_same(predictor.estimate(tensors, workspace), predictor.estimate(tensors));
    expect_same(other.estimate(tensors, workspace), other.estimate(tensors));
  }
}

TEST(Predictor, ParametersOfAnotherNetworkAreRefused) {
  PredictorData data = test::sample_predictor(1);
  data.members[0].pop_back();
  EXPECT_EQ(Predictor::from(data).error().code, ErrorCode::kBadStore);
}

TEST(Range, SizesBeyondTrainingAreNamedWithTheBound) {
  PredictorData data = test::sample_predictor(1);
  data.range.kinds[0].high.assign(14, 3.0F);
  const Prediction answer =
      Predictor::from(data)->predict(network("mobile-classifier/1/2"), "m", {});
  EXPECT_TRUE(mentions(answer.reasons, "is above training's"));
  EXPECT_LE(answer.reasons.size(), 9u) << "a long list helps nobody";
}

TEST(Normaliser, CentresScalesAndIgnoresConstantColumns) {
  const std::vector<float> values{1, 5, 3, 5, 5, 5};  // columns: 1 3 5, 5 5 5
  const Normaliser normaliser = Normaliser::fit(values, 2);
  std::vector<float> out(6);
  normaliser.apply(values, out);
  EXPECT_NEAR(out[0], -std::sqrt(1.5F), 1e-5F);
  EXPECT_NEAR(out[2], 0.0F, 1e-6F);
  EXPECT_EQ(out[1], 0.0F);
  const std::vector<float> far{1e9F, 5};
  normaliser.apply(far, std::span(out).first(2));
  EXPECT_EQ(out[0], Normaliser::kLimit);
}

}  // namespace
}  // namespace edgesage
