// A calibration's steps on a virtual device: labels by graph hash, what is learnt, the network that
// ships.
#include "src/learn/calibrate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "src/learn/choose.h"
#include "src/predict/predictor.h"

namespace edgesage {
namespace {

struct World {
  PricedPool priced;
  std::vector<LabelRow> labels;  // of 60 networks
  std::vector<double> truth;     // logarithms, a network
};

const World& world() {
  static const World kWorld = [] {
    std::vector<std::string> names;
    for (int i = 0; i < 100; ++i)
      for (const char* space : {"mobile-classifier", "keyword-sound"})
        names.push_back(std::string(space) + "/1/" + std::to_string(9000 + i));
    const std::vector<Quantity> quantities{Quantity::kLatencyMs};
    auto pool = make_pool(names, *target_from_name("generic"), quantities, build_named, 0);
    EXPECT_TRUE(pool) << pool.error().to_string();
    World made;
    made.priced = price_pool(std::move(*pool), 1500, 1, 0);
    const auto device = simulate::DeviceSet::decode(simulate::draw_devices(55, 0, 1));
    const auto costs = simulate::log_costs(made.priced.pool.few_shot[0].sim, device,
                                           simulate::SimQuantity::kLatency, 0);
    made.truth.assign(costs.begin(), costs.end());
    for (const size_t i : choose_first(made.priced.components(), 60, made.priced.space_of, 1)) {
      LabelRow row;
      row.name = "under another name";
      row.graph_hash = made.priced.pool.dataset.examples[i].graph_hash;
      row.device = "virtual";
      row.quantities["latency_ms"] = std::exp(made.truth[i]);
      made.labels.push_back(row);
    }
    return made;
  }();
  return kWorld;
}

TEST(Calibrate, FindsLabelsByTheGraphWhateverTheNetworkIsCalled) {
  LabelRow stranger;
  stranger.graph_hash = "g1-of-no-network";
  stranger.quantities["latency_ms"] = 1;
  std::vector<LabelRow> rows = world().labels;
  rows.push_back(stranger);
  const PoolLabels labels = labels_in_pool(world().priced, rows);
  EXPECT_EQ(labels.network.size(), 60U);
  EXPECT_EQ(labels.log_value[0].size(), 60U);
  EXPECT_TRUE(std::is_sorted(labels.network.begin(), labels.network.end()));
}

TEST(Calibrate, ReportsWhatHeldOutNetworksSay) {
  const PoolLabels labels = labels_in_pool(world().priced, world().labels);
  auto learnt = learn_quantity(world().priced, 0, labels, {}, true);
  ASSERT_TRUE(learnt) << learnt.error().to_string();
  const CalibratedQuantity& report = learnt->report;
  EXPECT_EQ(report.labels, 60);
  EXPECT_EQ(report.networks.size(), 60U);
  EXPECT_LT(report.median_ape, 15);
  ASSERT_GE(report.curve.size(), 3U);
  EXPECT_GT(report.curve.front().median_ape, report.curve.back().median_ape);
  ASSERT_EQ(report.coverage.size(), 4U);
  EXPECT_NEAR(report.coverage[2], 90, 8);
  // Largest error first.
  const auto error = [&](size_t i) {
    return std::abs(std::log(report.networks[i].held_out / report.networks[i].measured));
  };
  EXPECT_GE(error(0), error(30));
  EXPECT_GE(error(30), error(59));
}

TEST(Calibrate, TheNetworkThatShipsAnswersAsItsTeacher) {
  const PoolLabels labels = labels_in_pool(world().priced, world().labels);
  CalibrateOptions options;
  options.teach.epochs = 40;
  options.teach.members = 2;
  options.teach.hidden = 32;
  auto learnt = learn_quantity(world().priced, 0, labels, options, false);
  ASSERT_TRUE(learnt);
  auto data = teach_from(world().priced, {&*learnt, 1}, labels, {.device = "virtual"}, options);
  ASSERT_TRUE(data) << data.error().to_string();
  ASSERT_TRUE(learnt->report.taught_difference);
  EXPECT_LT(*learnt->report.taught_difference, 8);

  // The file form keeps everything, and the operators' costs sum to the total.
  auto read = decode_predictor(encode_predictor(*data), "memory");
  ASSERT_TRUE(read) << read.error().to_string();
  auto predictor = Predictor::from(std::move(*read));
  ASSERT_TRUE(predictor);
  size_t inside = 0, networks = 0;
  for (size_t i = 0; i < world().truth.size(); ++i) {
    const Estimate answer = predictor->estimate(world().priced.pool.dataset.examples[i].tensors);
    double sum = answer.overhead[0];
    for (const double cost : answer.operators[0]) sum += cost;
    ASSERT_NEAR(sum, answer.value[0], 1e-6 * answer.value[0]);
    const Example& example = world().priced.pool.dataset.examples[i];
    const RangeVerdict verdict = judge_range(predictor->data().range, example.operator_signatures,
                                             example.tensors, answer.spread);
    const double width = predictor->half_width(0, 0.9, answer.spread[0], verdict);
    inside += std::abs(std::log(answer.value[0]) - world().truth[i]) <= width ? 1 : 0;
    ++networks;
  }
  EXPECT_GT(static_cast<double>(inside), 0.75 * static_cast<double>(networks));
}

}  // namespace
}  // namespace edgesage
