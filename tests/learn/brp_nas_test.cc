#include "src/learn/brp_nas.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "src/learn/few_shot_protocol.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

using Numbers = std::vector<double>;

NasBench201Cell cell_of(const std::string& code) { return *NasBench201Cell::parse(code); }

std::vector<NasBench201Cell> random_cells(size_t count, uint64_t seed) {
  Rng rng(seed);
  std::vector<NasBench201Cell> cells;
  while (cells.size() < count) cells.push_back(draw_nas_bench_201(rng));
  return cells;
}

// What the network answers for one cell, from its definition: dense, in double, nothing shared.
double reference_answer(const NasBench201Cell& cell, const Numbers& parameters,
                        const BrpNasNetwork& network) {
  constexpr size_t kNodes = BrpNasGraph::kNodes;
  const auto width = static_cast<size_t>(network.width());
  const BrpNasGraph graph = brp_nas_graph(cell);
  std::vector<Numbers> x(kNodes, Numbers(BrpNasGraph::kFeatures));
  for (size_t i = 0; i < kNodes; ++i)
    if (graph.feature[i] >= 0) x[i][static_cast<size_t>(graph.feature[i])] = 1;
  for (size_t l = 0; l < BrpNasNetwork::kLayers; ++l) {
    const BrpNasNetwork::Layer& layer = network.layer(l);
    const auto at = [&](int64_t begin, size_t i) {
      return parameters[static_cast<size_t>(begin) + i];
    };
    std::vector<Numbers> y(kNodes, Numbers(width));
    for (size_t i = 0; i < kNodes; ++i) {
      Numbers z(width);
      for (size_t j = 0; j < width; ++j) {
        z[j] = at(layer.bias, j);
        for (size_t other = 0; other < kNodes; ++other)
          if (other == i || (graph.leads_to[i] >> other & 1))
            for (size_t k = 0; k < x[other].size(); ++k)
              z[j] += x[other][k] * at(layer.weight, k * width + j);
      }
      double mean = 0, variance = 0;
      for (const double v : z) mean += v / static_cast<double>(width);
      for (const double v : z) variance += (v - mean) * (v - mean) / static_cast<double>(width);
      for (size_t j = 0; j < width; ++j)
        y[i][j] = std::max(0.0, (z[j] - mean) / std::sqrt(variance + 1e-5) * at(layer.gain, j) +
                                    at(layer.shift, j));
    }
    x = y;
  }
  const auto linear = static_cast<size_t>(network.linear());
  double answer = parameters[linear + width];
  for (size_t j = 0; j < width; ++j) answer += x[BrpNasGraph::kGlobal][j] * parameters[linear + j];
  return answer;
}

// Gains and shifts leave their first values, so that their slopes are tested.
Numbers stir(BrpNasNetwork& network, Rng& rng) {
  for (float& value : network.parameters()) value += static_cast<float>(rng.uniform(-0.2, 0.2));
  return Numbers(network.parameters().begin(), network.parameters().end());
}

TEST(BrpNasGraph, SkipsConnectAndNoneCutsOff) {
  const BrpNasGraph graph = brp_nas_graph(
      cell_of("|skip_connect~0|+|none~0|nor_conv_3x3~1|+|avg_pool_3x3~0|none~1|skip_connect~2|"));
  // Edges 0 -> 1 (skip), 1 -> 2 (3x3), 0 -> 3 (pool), 2 -> 3 (skip): nodes 2, 4, 5, 7 of nine.
  EXPECT_EQ(graph.feature, (std::array<int32_t, 9>{5, 3, -1, -1, 1, 2, -1, -1, 4}));
  EXPECT_EQ(graph.leads_to[BrpNasGraph::kInput], 1u << 4 | 1u << 5);
  EXPECT_EQ(graph.leads_to[4], 1u << BrpNasGraph::kOutput);
  EXPECT_EQ(graph.leads_to[5], 1u << BrpNasGraph::kOutput);
  EXPECT_EQ(graph.leads_to[BrpNasGraph::kOutput], 0);
  EXPECT_EQ(graph.leads_to[BrpNasGraph::kGlobal], 0b111111110);
}

TEST(BrpNasGraph, NodesOffEveryPathHaveNoFeature) {
  const BrpNasGraph graph = brp_nas_graph(
      cell_of("|nor_conv_1x1~0|+|none~0|none~1|+|nor_conv_3x3~0|none~1|nor_conv_1x1~2|"));
  EXPECT_EQ(graph.feature, (std::array<int32_t, 9>{5, 3, -1, -1, -1, 1, -1, -1, 4}));
  const BrpNasGraph nothing =
      brp_nas_graph(cell_of("|nor_conv_1x1~0|+|none~0|none~1|+|none~0|none~1|none~2|"));
  EXPECT_EQ(nothing.feature, (std::array<int32_t, 9>{5, 3, -1, -1, -1, -1, -1, -1, 4}));
  EXPECT_EQ(nothing.leads_to[BrpNasGraph::kInput], 0);
}

TEST(BrpNasBatch, EqualNodesShareARow) {
  const std::vector<NasBench201Cell> cells = random_cells(200, 3);
  const BrpNasBatch batch = brp_nas_batch(cells);
  EXPECT_EQ(batch.graphs(), 200);
  EXPECT_LT(batch.rows(), 200 * BrpNasGraph::kNodes / 3);
  for (int64_t row = 0; row < batch.rows(); ++row)
    for (int32_t i = batch.sums.offset[static_cast<size_t>(row)];
         i < batch.sums.offset[static_cast<size_t>(row) + 1]; ++i)
      ASSERT_LE(batch.sums.index[static_cast<size_t>(i)], row);
  const std::vector<NasBench201Cell> twice{cells[0], cells[0]};
  EXPECT_EQ(brp_nas_batch(twice).rows(), brp_nas_batch({cells.data(), 1}).rows());
}

TEST(BrpNasNetwork, AnswersAsDefined) {
  Rng rng(1);
  BrpNasNetwork network(24, rng);
  const Numbers parameters = stir(network, rng);
  const std::vector<NasBench201Cell> cells = random_cells(40, 2);
  std::vector<float> answers(cells.size());
  network.forward(brp_nas_batch(cells), 0, rng, answers);
  for (size_t i = 0; i < cells.size(); ++i)
    EXPECT_NEAR(answers[i], reference_answer(cells[i], parameters, network), 2e-4) << i;
}

TEST(BrpNasNetwork, GradientIsThatOfFiniteDifferences) {
  Rng rng(5);
  BrpNasNetwork network(12, rng);
  Numbers parameters = stir(network, rng);
  const std::vector<NasBench201Cell> cells = random_cells(6, 7);
  const BrpNasBatch batch = brp_nas_batch(cells);
  std::vector<float> answers(cells.size()), slopes;
  for (size_t i = 0; i < cells.size(); ++i) slopes.push_back(i % 2 == 0 ? 1.0f : -0.5f);
  network.forward(batch, 0, rng, answers);
  std::vector<float> gradient(parameters.size(), 99.0f);
  network.backward(batch, slopes, gradient);

  const auto loss = [&] {
    double sum = 0;
    for (size_t i = 0; i < cells.size(); ++i)
      sum += slopes[i] * reference_answer(cells[i], parameters, network);
    return sum;
  };
  double largest = 0;
  for (size_t p = 0; p < parameters.size(); ++p) {
    constexpr double kStep = 1e-6;
    const double middle = parameters[p];
    parameters[p] = middle + kStep;
    const double above = loss();
    parameters[p] = middle - kStep;
    const double expected = (above - loss()) / (2 * kStep);
    parameters[p] = middle;
    ASSERT_NEAR(gradient[p], expected, 1e-3 * std::max(1.0, std::abs(expected))) << p;
    largest = std::max(largest, std::abs(expected));
  }
  EXPECT_GT(largest, 0.1);
}

// A pass with dropout is a network in which the dropped numbers are zero: the loss is linear in the
// last layer's weights, so its slope there is what the pass put out.
TEST(BrpNasNetwork, DropoutDropsItsShareAndKeepsTheMean) {
  Rng rng(11);
  BrpNasNetwork network(64, rng);
  const std::vector<NasBench201Cell> cells = random_cells(1, 13);
  const BrpNasBatch batch = brp_nas_batch(cells);
  std::vector<float> gradient(network.parameters().size());
  std::vector<float> answer(1), one{1.0f};
  const auto outputs = [&](double dropout) {
    network.forward(batch, dropout, rng, answer);
    network.backward(batch, one, gradient);
    return std::vector<float>(gradient.begin() + network.linear(), gradient.end() - 1);
  };
  const auto positive = [](const std::vector<float>& values) {
    return std::count_if(values.begin(), values.end(), [](float v) { return v > 0; });
  };
  const auto all = static_cast<double>(positive(outputs(0)));
  double kept = 0;
  for (int i = 0; i < 200; ++i) kept += static_cast<double>(positive(outputs(0.5)));
  EXPECT_NEAR(kept / 200 / all, 0.5, 0.06);
}

// Latency as a sum over operations: what the network has to find out.
double toy_latency_ms(const NasBench201Cell& cell) {
  constexpr std::array<double, 5> kCost{0, 0, 1, 4, 0.5};
  double sum = 2;
  for (const CellOperation operation : cell.pruned().operations)
    sum += kCost[static_cast<size_t>(operation)];
  return sum;
}

TEST(BrpNas, LearnsASumOverOperations) {
  const std::vector<NasBench201Cell> cells = random_cells(400, 17);
  Numbers labels;
  for (const NasBench201Cell& cell : cells) labels.push_back(toy_latency_ms(cell));
  const size_t n = 200;
  auto model = BrpNas::train({cells.data(), n}, {labels.data(), n},
                             {.epochs = 60, .width = 48, .learning_rate = 3e-3});
  ASSERT_TRUE(model) << model.error().to_string();
  const std::vector<double> answers = model->predict({cells.data() + n, n});
  double error = 0, spread = 0, mean = 0;
  for (size_t i = 0; i < n; ++i) mean += labels[n + i] / n;
  for (size_t i = 0; i < n; ++i) {
    error += std::abs(answers[i] - labels[n + i]);
    spread += std::abs(mean - labels[n + i]);
  }
  EXPECT_LT(error / spread, 0.08);
}

TEST(BrpNas, TheSameSeedGivesTheSameAnswersAndAnotherOthers) {
  const std::vector<NasBench201Cell> cells = random_cells(23, 19);
  Numbers labels;
  for (const NasBench201Cell& cell : cells) labels.push_back(toy_latency_ms(cell));
  const auto answers = [&](uint64_t seed) {
    return BrpNas::train(cells, labels, {.epochs = 3, .width = 16, .seed = seed})->predict(cells);
  };
  EXPECT_EQ(answers(1), answers(1));
  EXPECT_NE(answers(1), answers(2));
}

TEST(BrpNas, AnAnswerDoesNotDependOnTheOtherCells) {
  const std::vector<NasBench201Cell> cells = random_cells(600, 23);
  Numbers labels;
  for (const NasBench201Cell& cell : cells) labels.push_back(toy_latency_ms(cell));
  auto model = BrpNas::train({cells.data(), 10}, {labels.data(), 10}, {.epochs = 2, .width = 16});
  ASSERT_TRUE(model);
  const std::vector<double> together = model->predict(cells);
  for (const size_t i : {size_t{0}, size_t{511}, size_t{512}, size_t{599}})
    EXPECT_NEAR(model->predict({&cells[i], 1}).front(), together[i], 1e-5 * together[i]);
  EXPECT_TRUE(model->predict({}).empty());
}

TEST(BrpNas, EqualLabelsAreAnsweredAboutAsTheyAre) {
  const std::vector<NasBench201Cell> cells = random_cells(12, 29);
  const Numbers labels(cells.size(), 7.0);
  auto model = BrpNas::train(cells, labels, {.epochs = 60, .width = 16, .learning_rate = 3e-3});
  ASSERT_TRUE(model);
  for (const double answer : model->predict(cells)) EXPECT_NEAR(answer, 7, 0.2);
}

TEST(BrpNas, RejectsWhatCannotBeLearned) {
  const std::vector<NasBench201Cell> cells = random_cells(2, 31);
  const auto code = [&](const Numbers& labels, const BrpNasOptions& options) {
    const auto model = BrpNas::train({cells.data(), 2}, labels, options);
    return model ? ErrorCode::kInternal : model.error().code;
  };
  EXPECT_EQ(code({1}, {}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({1, std::nan("")}, {}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({1, 2}, {.epochs = 0}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({1, 2}, {.batch = 0}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({1, 2}, {.dropout = 1}), ErrorCode::kInvalidArgument);
  EXPECT_FALSE(BrpNas::train({}, {}, {}));
}

TEST(BrpNas, IsJudgedOnTheSameDrawAsTheProcess) {
  const auto data = test::data_dir();
  EDGESAGE_REQUIRE(data.has_value(), "the published measurements are not there");
  auto set = load_published_set("latbench", *data / "data", 0, 300);
  ASSERT_TRUE(set) << set.error().to_string();
  ASSERT_TRUE(brp_nas_learns(*set));
  const DeviceLibrary library = make_device_library(set->pool.few_shot[0], 1500, 1, 0);
  FewShotRun run;
  run.brp_nas = true;
  run.controls = {"constant"};
  const auto rows = run_few_shot(*set, 0, library, {.n = 40, .seed = 1}, run);
  ASSERT_TRUE(rows) << rows.error().to_string();
  ASSERT_EQ(rows->size(), 3u);
  const FewShotRow &process = (*rows)[0], &learned = (*rows)[1], &constant = (*rows)[2];
  EXPECT_EQ(learned.model, "brp-nas");
  EXPECT_EQ(learned.n, 40u);
  EXPECT_EQ(learned.accuracy.count, process.accuracy.count);
  EXPECT_LT(learned.accuracy.mape, constant.accuracy.mape / 2);
  set->id = "labels of a user";
  EXPECT_FALSE(brp_nas_learns(*set));
}

}  // namespace
}  // namespace edgesage
