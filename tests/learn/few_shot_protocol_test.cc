// Who is learnt from and who is judged when a space is left out, and the rows as a file.
#include "src/learn/few_shot_protocol.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "src/base/rng.h"
#include "src/learn/few_shot_errors.h"
#include "src/learn/few_shot_results.h"
#include "src/learn/metrics.h"

namespace edgesage {
namespace {

// 160 networks of two spaces on one virtual device that the prior did not draw.
const MeasuredSet& measured() {
  static const MeasuredSet kSet = [] {
    MeasuredSet set;
    set.id = "virtual";
    std::vector<std::string> names;
    for (int i = 0; i < 80; ++i)
      for (const char* space : {"mobile-classifier", "keyword-sound"})
        names.push_back(std::string(space) + "/1/" + std::to_string(9000 + i));
    const std::vector<Quantity> quantities{Quantity::kLatencyMs};
    auto made = make_pool(names, *target_from_name("generic"), quantities, build_named, 0);
    EXPECT_TRUE(made) << made.error().to_string();
    set.pool = std::move(*made);
    const auto device = simulate::DeviceSet::decode(simulate::draw_devices(77, 3, 1));
    const std::vector<float> costs =
        simulate::log_costs(set.pool.few_shot[0].sim, device, simulate::SimQuantity::kLatency, 1);
    MeasuredSet::Board board{"virtual", 0, {}, 0};
    for (size_t i = 0; i < names.size(); ++i) {
      set.rows.push_back({names[i], *set.pool.place[i], *set.pool.place[i]});
      board.labels.push_back(std::exp(static_cast<double>(costs[*set.pool.place[i]])));
    }
    set.boards.push_back(std::move(board));
    return set;
  }();
  return kSet;
}

const DeviceLibrary& library() {
  static const DeviceLibrary kLibrary =
      make_device_library(measured().pool.few_shot[0], 1000, 1, 0);
  return kLibrary;
}

std::string space_of(size_t row) {
  return measured().pool.dataset.examples[measured().rows[row].network].space;
}

TEST(LeaveSpaceOut, JudgesTheSpaceAndLearnsFromNoneOfItsTestedNetworks) {
  std::vector<size_t> tested;
  for (const size_t own : {size_t{0}, size_t{10}, size_t{30}}) {
    const FewShotDraw draw =
        draw_rows(measured(), 0, library(),
                  {.n = 30, .seed = 2, .left_out = "keyword-sound", .own = own}, true);
    EXPECT_EQ(draw.train.size(), 30 + own);
    std::set<size_t> seen;
    for (const auto* rows : {&draw.train, &draw.test, &draw.in_space, &draw.unlabelled})
      for (const size_t row : *rows) EXPECT_TRUE(seen.insert(row).second) << row;
    for (const size_t row : draw.test) EXPECT_EQ(space_of(row), "keyword-sound");
    for (const auto* rows : {&draw.in_space, &draw.unlabelled})
      for (const size_t row : *rows) EXPECT_EQ(space_of(row), "mobile-classifier");
    EXPECT_EQ(std::count_if(draw.train.begin(), draw.train.end(),
                            [](size_t row) { return space_of(row) == "keyword-sound"; }),
              static_cast<ptrdiff_t>(own));
    if (tested.empty()) tested = draw.test;
    EXPECT_EQ(draw.test, tested);  // whatever the number of own ones
  }
  EXPECT_GE(tested.size(), 45u);
}

TEST(LeaveSpaceOut, ChosenNetworksAreThoseOfSampleAndOthersAreTested) {
  const FewShotTask random{.n = 24, .seed = 5}, chosen{.n = 24, .seed = 5, .chosen = true};
  const FewShotDraw a = draw_rows(measured(), 0, library(), random, true);
  const FewShotDraw b = draw_rows(measured(), 0, library(), chosen, true);
  EXPECT_NE(std::set<size_t>(a.train.begin(), a.train.end()),
            std::set<size_t>(b.train.begin(), b.train.end()));
  EXPECT_EQ(b.train.size(), 24u);
  EXPECT_EQ(b.test.size(), a.test.size());
  EXPECT_EQ(std::count_if(b.train.begin(), b.train.end(),
                          [](size_t row) { return space_of(row) == "keyword-sound"; }),
            12);  // equal spaces, equal shares
}

TEST(LeaveSpaceOut, GivesAVerdictAndSurvivesItsFile) {
  FewShotRun run;
  run.taught = true;
  run.teach = {.hidden = 16, .embedding = 4, .layers = 2, .members = 2, .epochs = 4};
  auto rows = run_few_shot(measured(), 0, library(),
                           {.n = 40, .seed = 1, .left_out = "keyword-sound"}, run);
  ASSERT_TRUE(rows) << rows.error().to_string();
  ASSERT_EQ(rows->size(), 2u);
  for (const FewShotRow& row : *rows) {
    EXPECT_EQ(row.left_out, "keyword-sound");
    EXPECT_GE(row.range.flagged_known, 0);
    EXPECT_LE(row.range.flagged_known, 1);
    EXPECT_GT(row.range.half_width_90_known, 0);
    EXPECT_TRUE(row.range.auroc >= 0 && row.range.auroc <= 1) << row.range.auroc;
  }
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / "edgesage-few-shot-rows.csv";
  ASSERT_TRUE(write_few_shot_rows(*rows, file));
  const auto read = read_few_shot_rows(file);
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(few_shot_csv(*read), few_shot_csv(*rows));
  std::filesystem::remove(file);
}

TEST(RunFewShot, FitsOnlyWhatIsAskedFor) {
  FewShotRun run;
  run.process = false;
  run.controls = {"constant"};
  const auto rows = run_few_shot(measured(), 0, library(), {.n = 40, .seed = 1}, run);
  ASSERT_TRUE(rows) << rows.error().to_string();
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ(rows->front().model, "constant");
}

TEST(ErrorScale, FollowsTheErrorsThatLabelsShow) {
  // Components: the first says how large errors are, which the process does not know.
  constexpr size_t kNetworks = 400, kLabels = 100;
  Rng rng(3);
  Points components(kNetworks, 6);
  for (Eigen::Index i = 0; i < components.rows(); ++i)
    for (Eigen::Index c = 0; c < components.cols(); ++c)
      components(i, c) = static_cast<float>(rng.normal());
  std::vector<size_t> labelled;
  std::vector<double> residuals;
  for (size_t i = 0; i < kLabels; ++i) {
    labelled.push_back(i);
    residuals.push_back(rng.normal() *
                        std::exp(static_cast<double>(components(static_cast<Eigen::Index>(i), 0))));
  }
  const std::vector<double> held(kLabels, 1.0), sd(kNetworks, 1.0);
  const ErrorScale scale = error_scale(components, labelled, residuals, held, sd);
  std::vector<bool> large;
  for (Eigen::Index i = 0; i < components.rows(); ++i) large.push_back(components(i, 0) > 0.5F);
  EXPECT_GT(auroc(scale.network, large), 0.9);
  // A label's own residual does not set its own scale.
  std::vector<double> changed = residuals;
  changed[17] *= 1000;
  const ErrorScale after = error_scale(components, labelled, changed, held, sd);
  EXPECT_NEAR(std::log(after.label[17] / scale.label[17]), 0, 0.15);
}

TEST(Auroc, IsTheShareOfPairsInOrder) {
  const std::vector<double> scores{0.1, 0.4, 0.35, 0.8, 0.4};
  // Pairs of (positive, negative): 0.4 and 0.8 against 0.1, 0.35, 0.4 - five and a half of six.
  EXPECT_DOUBLE_EQ(auroc(scores, {false, true, false, true, false}), 5.5 / 6);
  EXPECT_TRUE(std::isnan(auroc(scores, {true, true, true, true, true})));
  const std::vector<double> infinite{1, 2, INFINITY};
  EXPECT_DOUBLE_EQ(auroc(infinite, {false, false, true}), 1);
}

}  // namespace
}  // namespace edgesage
