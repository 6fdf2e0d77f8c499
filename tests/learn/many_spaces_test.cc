#include "src/learn/many_spaces.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "src/base/file.h"
#include "src/learn/graph_baselines.h"
#include "tests/learn/small_labels.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

const LabelSource kSource{.device = "ethos-u55-256"};

// Two spaces: every fourth network is called another's.
const FeatureFile& two_spaces() {
  static const FeatureFile kFile = [] {
    Dataset dataset = test::small_dataset();
    for (size_t i = 0; i < dataset.examples.size(); i += 4) {
      dataset.examples[i].name = fmt::format("mobile-classifier/1/{}", i);
      dataset.examples[i].cpu_operators = static_cast<int32_t>(i % 8 / 4);
    }
    return FeatureFile::of(dataset);
  }();
  return kFile;
}

SpacesRun quick() {
  SpacesRun run;
  run.training.hidden = 16;
  run.training.members = 2;
  run.training.epochs = 4;
  run.baseline_epochs = 2;
  return run;
}

std::vector<SpacesRow> rows_of(const SpacesTask& task, const SpacesRun& run = quick()) {
  const auto rows = run_spaces_task(two_spaces(), kSource, task, run);
  EXPECT_TRUE(rows) << rows.error().to_string();
  return rows ? *rows : std::vector<SpacesRow>();
}

const SpacesRow* find(const std::vector<SpacesRow>& rows, const std::string& space,
                      const std::string& model, const std::string& placement = "all") {
  for (const SpacesRow& row : rows)
    if (row.row.space == space && row.row.model == model && row.row.placement == placement &&
        row.row.quantity == "latency_ms")
      return &row;
  return nullptr;
}

TEST(ManySpaces, RandomSplitHasEverySpaceAndPlacementBesideControls) {
  SpacesRun run = quick();
  run.controls = {"constant", "closed-form"};
  run.baselines = {"perfsage-1", "brp-nas"};
  const std::vector<SpacesRow> rows = rows_of({}, run);
  size_t all = 0, spaces = 0, placed = 0;
  for (const std::string model : {"edgesage", "constant", "closed-form", "perfsage-1"}) {
    const SpacesRow* row = find(rows, "all", model);
    ASSERT_NE(row, nullptr) << model;
    all = row->row.accuracy.count;
    spaces = placed = 0;
    for (const std::string space : {"keyword-sound", "mobile-classifier"})
      spaces += find(rows, space, model)->row.accuracy.count;
    for (const std::string placement : {"placed", "fallback"})
      placed += find(rows, "all", model, placement)->row.accuracy.count;
    EXPECT_EQ(spaces, all) << model;
    EXPECT_EQ(placed, all) << model;
    EXPECT_GT(row->row.accuracy.mape, 0);
  }
  EXPECT_NEAR(static_cast<double>(all) / static_cast<double>(two_spaces().size()), 0.2, 0.08);
  EXPECT_GE(find(rows, "all", "edgesage")->row.coverage_90, 0);
  EXPECT_LT(find(rows, "all", "constant")->row.coverage_90, 0);
}

TEST(ManySpaces, LeftOutSpaceIsJudgedOnTheSameNetworksHoweverManyAreLearntFrom) {
  const std::vector<SpacesRow> none =
      rows_of({.setting = "left-out", .left_out = "mobile-classifier"});
  const std::vector<SpacesRow> some =
      rows_of({.setting = "left-out", .left_out = "mobile-classifier", .own = 10});
  EXPECT_EQ(find(none, "keyword-sound", "edgesage"), nullptr);
  const SpacesRow* row = find(none, "mobile-classifier", "edgesage");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->row.accuracy.count, 30u);  // half of sixty are kept for learning
  EXPECT_EQ(find(some, "mobile-classifier", "edgesage")->row.accuracy.count, 30u);
  EXPECT_EQ(some.front().row.n_train, none.front().row.n_train + 10);
}

TEST(ManySpaces, CurveLearnsFromSoManyLabelsIntervalsIncluded) {
  const std::vector<SpacesRow> rows = rows_of({.setting = "curve", .most = 120});
  EXPECT_EQ(rows.front().row.n_train, 120u);
}

TEST(ManySpaces, EveryAblationChangesTheAnswer) {
  std::set<double> errors;
  errors.insert(find(rows_of({.setting = "ablation"}), "all", "edgesage")->row.accuracy.mape);
  for (const std::string& name : ablation_names())
    errors.insert(find(rows_of({.setting = "ablation", .variant = name}), "all", "edgesage")
                      ->row.accuracy.mape);
  EXPECT_EQ(errors.size(), ablation_names().size() + 1);
}

TEST(ManySpaces, UnknownNamesAreRefusedWithTheKnownOnes) {
  const auto variant = run_spaces_task(two_spaces(), kSource, {.variant = "no-luck"}, quick());
  ASSERT_FALSE(variant);
  EXPECT_NE(variant.error().message.find("no-tiles"), std::string::npos);
  SpacesRun run = quick();
  run.baselines = {"perfsage"};
  const auto baseline = run_spaces_task(two_spaces(), kSource, {}, run);
  ASSERT_FALSE(baseline);
  EXPECT_NE(baseline.error().message.find("perfsage-1"), std::string::npos);
}

TEST(ManySpaces, ResultsComeBackFromTheirFile) {
  const test::TempDir directory;
  const auto path = directory.path() / "rows.csv";
  EXPECT_TRUE(read_spaces_rows(path)->empty());
  const SpacesTask task{
      .setting = "left-out", .left_out = "mobile-classifier", .own = 10, .seed = 3};
  const std::vector<SpacesRow> rows = rows_of(task);
  ASSERT_TRUE(write_spaces_rows(rows, path));
  const std::vector<SpacesRow> back = *read_spaces_rows(path);
  ASSERT_EQ(back.size(), rows.size());
  EXPECT_TRUE(has_task(back, "ethos-u55-256", task));
  SpacesTask other = task;
  other.own = 30;
  EXPECT_FALSE(has_task(back, "ethos-u55-256", other));
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(back[i].row.space, rows[i].row.space);
    EXPECT_EQ(back[i].row.accuracy.count, rows[i].row.accuracy.count);
    EXPECT_NEAR(back[i].row.accuracy.mape, rows[i].row.accuracy.mape, 1e-5);
    EXPECT_NEAR(back[i].row.coverage_90, rows[i].row.coverage_90, 1e-5);
  }
  std::string text = *read_text(path, ErrorCode::kBadStore);
  text[text.rfind(',') + 1] = 'x';
  ASSERT_TRUE(write_text(path, text));
  const auto damaged = read_spaces_rows(path);
  ASSERT_FALSE(damaged);
  EXPECT_NE(damaged.error().message.find("column predicted"), std::string::npos);
}

// Cost proportional to the number of rows, which a mean over 200 slots can express.
TEST(GraphBaselines, LearnWhatTheirReadOutCanExpress) {
  const Dataset& dataset = test::small_dataset();
  std::vector<const Example*> examples;
  std::vector<double> labels;
  for (const Example& example : dataset.examples) {
    examples.push_back(&example);
    labels.push_back(example.tensors.nodes);
  }
  for (const std::string& name : baseline_names()) {
    const auto fitted =
        fit_baseline(name, examples, labels, {.epochs = 30, .width = name == "brp-nas" ? 32 : 0});
    double sum = 0;
    for (size_t i = 0; i < examples.size(); ++i)
      sum += std::abs(fitted->predict(*examples[i]) / labels[i] - 1);
    EXPECT_LT(sum / static_cast<double>(examples.size()), 0.15) << name;
  }
}

}  // namespace
}  // namespace edgesage
