// Few-shot learning on devices whose truth is known: virtual ones that the prior did not draw, and
// the published cells where they are there.
#include "src/learn/few_shot.h"

#include <gtest/gtest.h>

#include <cmath>

#include "src/learn/choose.h"
#include "src/learn/few_shot_protocol.h"
#include "src/learn/measured_set.h"
#include "src/learn/metrics.h"
#include "src/learn/network_pool.h"
#include "src/spaces/space.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

constexpr int32_t kDevices = 1500;
constexpr uint64_t kOtherSeed = 77;

// 160 networks of two sampled spaces, lowered for any device.
const NetworkPool& pool() {
  static const NetworkPool kPool = [] {
    std::vector<std::string> names;
    for (int i = 0; i < 80; ++i)
      for (const char* space : {"mobile-classifier", "keyword-sound"})
        names.push_back(std::string(space) + "/1/" + std::to_string(9000 + i));
    const std::vector<Quantity> quantities{Quantity::kLatencyMs, Quantity::kEnergyMj};
    auto made = make_pool(names, *target_from_name("generic"), quantities, build_named, 0);
    EXPECT_TRUE(made) << made.error().to_string();
    return std::move(*made);
  }();
  return kPool;
}

const DeviceLibrary& library() {
  static const DeviceLibrary kLibrary = make_device_library(pool().few_shot[0], kDevices, 1, 0);
  return kLibrary;
}

// Logarithms of what virtual device `index` of another seed says of every network, in milliseconds
// of its own.
std::vector<double> truth_of(int32_t index, const FewShotSet& set, simulate::SimQuantity quantity) {
  const auto device = simulate::DeviceSet::decode(simulate::draw_devices(kOtherSeed, index, 1));
  const std::vector<float> costs = simulate::log_costs(set.sim, device, quantity, 1);
  std::vector<double> truth(costs.begin(), costs.end());
  for (double& value : truth) value += 3.25;
  return truth;
}

struct Task {
  std::vector<size_t> labelled;
  std::vector<double> y;
};

Task task_of(std::span<const double> truth, size_t labels) {
  Task task;
  for (size_t i = 0; i < labels; ++i) {
    task.labelled.push_back(i * truth.size() / labels);
    task.y.push_back(truth[task.labelled.back()]);
  }
  return task;
}

double median_error(const FewShotFit& fit, std::span<const double> truth, const Task& task) {
  std::vector<double> t, p;
  for (size_t i = 0; i < truth.size(); ++i) {
    if (std::find(task.labelled.begin(), task.labelled.end(), i) != task.labelled.end()) continue;
    t.push_back(std::exp(truth[i]));
    p.push_back(std::exp(fit.log_cost[i]));
  }
  return accuracy(t, p).median_ape;
}

TEST(FewShot, LearnsVirtualDevicesThatThePriorDidNotDraw) {
  double error = 0;
  for (const int32_t device : {0, 1, 2}) {
    const std::vector<double> truth =
        truth_of(device, pool().few_shot[0], simulate::SimQuantity::kLatency);
    const Task task = task_of(truth, 50);
    auto fit = fit_few_shot(pool().few_shot[0], library(), task.labelled, task.y);
    ASSERT_TRUE(fit) << fit.error().to_string();
    error += median_error(*fit, truth, task) / 3;
  }
  EXPECT_LT(error, 0.08);  // the networks' costs span four orders of magnitude
}

TEST(FewShot, TheSmootherHelpsOnADeviceOfItsFamily) {
  const std::vector<double> truth =
      truth_of(4, pool().few_shot[0], simulate::SimQuantity::kLatency);
  const Task task = task_of(truth, 60);
  FewShotOptions plain, fitted;
  plain.smoother = false;
  fitted.fixed_share = 1;
  auto without = fit_few_shot(pool().few_shot[0], library(), task.labelled, task.y, plain);
  auto with = fit_few_shot(pool().few_shot[0], library(), task.labelled, task.y, fitted);
  ASSERT_TRUE(without && with);
  EXPECT_LT(median_error(*with, truth, task), median_error(*without, truth, task));
}

TEST(FewShot, LearnsEnergyToo) {
  const FewShotSet& set = pool().few_shot[1];
  const std::vector<double> truth = truth_of(5, set, simulate::SimQuantity::kEnergy);
  const Task task = task_of(truth, 50);
  const DeviceLibrary energy = make_device_library(set, kDevices, 1, 0);
  auto fit = fit_few_shot(set, energy, task.labelled, task.y);
  ASSERT_TRUE(fit);
  EXPECT_LT(median_error(*fit, truth, task), 0.1);
}

TEST(FewShot, HeldOutAnswersDidNotSeeTheirLabel) {
  const std::vector<double> truth =
      truth_of(1, pool().few_shot[0], simulate::SimQuantity::kLatency);
  Task task = task_of(truth, 50);
  auto before = fit_few_shot(pool().few_shot[0], library(), task.labelled, task.y);
  task.y[13] += 1.5;
  auto after = fit_few_shot(pool().few_shot[0], library(), task.labelled, task.y);
  ASSERT_TRUE(before && after);
  // Its own answer stays where the others put it, so the residual shows the wrong label.
  EXPECT_NEAR(before->held_out[13], after->held_out[13], 0.25);
  EXPECT_GT(std::abs(after->held_out[13] - task.y[13]), 1.0);
}

TEST(FewShot, SameAnswerForAnyNumberOfThreads) {
  const std::vector<double> truth =
      truth_of(2, pool().few_shot[0], simulate::SimQuantity::kLatency);
  const Task task = task_of(truth, 30);
  std::vector<double> first;
  for (const int threads : {1, 2, 4}) {
    FewShotOptions options;
    options.threads = threads;
    const DeviceLibrary own = make_device_library(pool().few_shot[0], 600, 1, threads);
    auto fit = fit_few_shot(pool().few_shot[0], own, task.labelled, task.y, options);
    ASSERT_TRUE(fit);
    if (first.empty()) first = fit->log_cost;
    EXPECT_EQ(fit->log_cost, first) << threads << " threads";
  }
}

TEST(FewShot, RefusesTooFewLabelsAndLabelsThatAreNone) {
  const std::vector<size_t> seven{0, 1, 2, 3, 4, 5, 6};
  EXPECT_EQ(
      fit_few_shot(pool().few_shot[0], library(), seven, std::vector<double>(7, 1.0)).error().code,
      ErrorCode::kInvalidArgument);
  std::vector<size_t> ten(10);
  for (size_t i = 0; i < 10; ++i) ten[i] = i;
  std::vector<double> y(10, 1.0);
  y[3] = std::nan("");
  EXPECT_FALSE(fit_few_shot(pool().few_shot[0], library(), ten, y));
}

TEST(ConformalWidths, AreQuantilesOfTheResidualsAndInfiniteWhereLabelsAreFew) {
  std::vector<double> y(9, 0.0), held_out;
  for (int i = 1; i <= 9; ++i) held_out.push_back(i % 2 == 0 ? 0.1 * i : -0.1 * i);
  const std::vector<double> widths = conformal_widths(held_out, y);
  ASSERT_EQ(widths.size(), 4U);
  EXPECT_DOUBLE_EQ(widths[0], 0.5);  // the fifth of nine
  EXPECT_DOUBLE_EQ(widths[1], 0.8);
  EXPECT_DOUBLE_EQ(widths[2], 0.9);
  EXPECT_TRUE(std::isinf(widths[3]));  // 95 % needs 19 labels
}

TEST(DrawRows, TestsNothingThatWasTrainedOnUpToIsomorphism) {
  const auto data = test::data_dir();
  EDGESAGE_REQUIRE(data.has_value(), "the published measurements are not there");
  auto set = load_published_set("latbench", *data / "data", 0, 600);
  ASSERT_TRUE(set) << set.error().to_string();
  const FewShotDraw draw = draw_rows(*set, 0, {}, {.n = 100, .seed = 3}, true);
  const FewShotDraw all = draw_rows(*set, 0, {}, {.n = 100, .seed = 3}, false);
  EXPECT_EQ(draw.train, all.train);
  EXPECT_EQ(all.test.size() + all.train.size(), set->rows.size());
  EXPECT_LT(draw.test.size(), all.test.size());
  for (const size_t tested : draw.test)
    for (const size_t trained : draw.train)
      ASSERT_NE(set->rows[tested].group, set->rows[trained].group);
  const FewShotDraw smaller = draw_rows(*set, 0, {}, {.n = 20, .seed = 3}, true);
  EXPECT_TRUE(std::equal(smaller.train.begin(), smaller.train.end(), draw.train.begin()));
}

TEST(FewShot, ReachesItsAccuracyOnPublishedCells) {
  const auto data = test::data_dir();
  EDGESAGE_REQUIRE(data.has_value(), "the published measurements are not there");
  auto set = load_published_set("latbench", *data / "data", 0, 3000);
  ASSERT_TRUE(set) << set.error().to_string();
  const DeviceLibrary cells = make_device_library(set->pool.few_shot[0], 4000, 1, 0);
  // The desktop GPU and the edge TPU: overlap of branches, and what a matrix engine is slow at.
  double within = 0;
  for (const size_t board : {size_t{1}, size_t{3}}) {
    auto rows = run_few_shot(*set, board, cells, {.n = 100, .seed = 1}, {});
    ASSERT_TRUE(rows) << rows.error().to_string();
    within += rows->front().accuracy.within_10 / 2;
  }
  EXPECT_GT(within, 0.91);  // BRP-NAS with as many labels: 80
}

}  // namespace
}  // namespace edgesage
