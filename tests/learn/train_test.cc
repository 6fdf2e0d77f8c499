// Training and evaluation on real labels: a few hundred small networks of the label file.
#include "src/learn/train.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <set>

#include "src/learn/checkpoint.h"
#include "src/learn/controls.h"
#include "src/learn/evaluate.h"
#include "src/learn/feature_build.h"
#include "src/predict/predictor.h"
#include "tests/learn/small_labels.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

constexpr std::span kQuantities(test::kSmallQuantities);

using test::small_labels;

const Dataset& dataset() { return test::small_dataset(); }

TrainingOptions quick() {
  TrainingOptions options;
  options.hidden = 16;
  options.embedding = 4;
  options.members = 2;
  options.epochs = 15;
  options.learning_rate = 1e-2;
  return options;
}

const LabelSource kSource{.device = "ethos-u55-256", .runtime = "vela", .statistic = "estimate"};

std::vector<std::byte> trained_bytes(const Dataset& data, const TrainingOptions& options) {
  const auto predictor = train_predictor(data, kSource, options);
  EXPECT_TRUE(predictor) << predictor.error().to_string();
  return predictor ? encode_predictor(*predictor) : std::vector<std::byte>();
}

TEST(Dataset, RebuildsNetworksFromTheirNames) {
  ASSERT_EQ(dataset().examples.size(), 240u);
  for (const Example& example : dataset().examples) {
    EXPECT_EQ(example.tensors.operators, static_cast<int32_t>(example.operator_signatures.size()));
    double sum = 0;
    for (const double label : example.operator_labels[0])
      if (!std::isnan(label)) sum += label;
    EXPECT_NEAR(sum, example.labels[0], 1e-6 * example.labels[0]) << example.name;
  }
}

TEST(Dataset, DoesNotDependOnTheNumberOfThreads) {
  const std::span<const LabelRow> few = std::span(small_labels()).first(20);
  const Target target = *target_from_name("ethos-u55-256");
  const Dataset one = *build_dataset(few, target, kQuantities, 1);
  const Dataset two = *build_dataset(few, target, kQuantities, 2);
  for (size_t i = 0; i < one.examples.size(); ++i)
    EXPECT_EQ(one.examples[i].tensors.x, two.examples[i].tensors.x);
}

TEST(Dataset, LabelsOfAnotherVersionOfTheSpaceAreRefused) {
  std::vector<LabelRow> rows(small_labels().begin(), small_labels().begin() + 2);
  rows[1].graph_hash = "g1-0123456789abcdef0123456789abcdef";
  const auto result = build_dataset(rows, *target_from_name("ethos-u55-256"), kQuantities, 1);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kBadStore);
  EXPECT_EQ(result.error().where, rows[1].name);
}

TEST(Split, PartsAreDisjointAndDoNotDependOnTheOrder) {
  const SplitOptions options;
  size_t count = 0;
  for (const Part part : {Part::kTrain, Part::kCalibration, Part::kTest})
    count += examples_of(dataset(), part, options).size();
  EXPECT_EQ(count, dataset().examples.size());
  Dataset reversed = dataset();
  std::reverse(reversed.examples.begin(), reversed.examples.end());
  EXPECT_EQ(part_of(reversed.examples.front(), options),
            part_of(dataset().examples.back(), options));
}

TEST(Training, BeatsEveryControlThatKnowsNoClosedForm) {
  const auto data = train_predictor(dataset(), kSource, quick());
  ASSERT_TRUE(data) << data.error().to_string();
  const Predictor predictor = *Predictor::from(*data);
  const Evaluation evaluation = evaluate_predictor(predictor, dataset(), quick().split, 2);
  double own = 0;
  for (const EvaluationRow& row : evaluation.rows) {
    if (row.space != "all" || row.quantity != "latency_ms") continue;
    if (row.model == "edgesage") {
      own = row.accuracy.mape;
      EXPECT_LT(own, 0.08);
      EXPECT_GT(row.coverage_90, 0.5);
    } else if (row.model != "closed-form" && row.model != "boosting") {
      EXPECT_LT(own, row.accuracy.mape) << row.model;
    }
  }
  ASSERT_FALSE(evaluation.attribution.empty());
  EXPECT_LT(evaluation.attribution.front().misplaced_share, 0.1);
}

TEST(Training, SameSeedGivesSameBytesForAnyThreadsInMemoryAndFromAFile) {
  const test::TempDir directory;
  const auto path = directory.path() / "a.features";
  const FeatureBuild build{
      .origin = {.target = "ethos-u55-256", .quantities = {kQuantities.begin(), kQuantities.end()}},
      .target = *target_from_name("ethos-u55-256")};
  ASSERT_TRUE(build_features(read_from(small_labels()), build, path));
  const FeatureFile file = *FeatureFile::open(path);
  TrainingOptions options = quick();
  options.epochs = 3;
  options.threads = 1;
  const auto one = trained_bytes(dataset(), options);
  for (const int threads : {1, 2, 4}) {
    options.threads = threads;
    EXPECT_EQ(one, trained_bytes(dataset(), options)) << threads;
    EXPECT_EQ(one, encode_predictor(*train_predictor(file, kSource, options))) << threads;
  }
  options.seed = 2;
  EXPECT_NE(one, trained_bytes(dataset(), options));
}

TEST(Training, SmallSpacesAreDrawnMoreOftenAndNothingIsLeftOut) {
  Dataset mixed = dataset();
  for (size_t i = 0; i < 40; ++i) mixed.examples[i * 5].name.insert(0, "other");
  const FeatureFile file = FeatureFile::of(mixed);
  std::vector<uint32_t> train;
  for (uint32_t i = 0; i < file.size(); i += 1) train.push_back(i);
  const double small = 40, large = static_cast<double>(train.size()) - small;
  for (const double balance : {0.0, 0.5, 1.0}) {
    const std::vector<int32_t> draw = balanced_draw(file, train, balance);
    double other = 0;
    for (const int32_t i : draw)
      other += mixed.examples[static_cast<size_t>(i)].name.starts_with("other") ? 1 : 0;
    EXPECT_NEAR(other, small * std::pow(large / small, balance), 0.5);
    EXPECT_EQ(static_cast<double>(draw.size()) - other, large);
    EXPECT_EQ(std::set<int32_t>(draw.begin(), draw.end()).size(), train.size());
    EXPECT_EQ(draw, balanced_draw(file, train, balance));
  }
}

TEST(Training, ManyNetworksAreShownLessOften) {
  EXPECT_EQ(epochs_for(20), 80);
  EXPECT_EQ(epochs_for(10'000), 50);
  EXPECT_EQ(epochs_for(100'000), 12);
  TrainingOptions options = quick();
  options.epochs = 0;
  options.hidden = 8;
  options.members = 1;
  const auto data = train_predictor(dataset(), kSource, options);
  ASSERT_TRUE(data) << data.error().to_string();
  EXPECT_NE(data->facts.find("\"epochs\":80"), std::string::npos) << data->facts;
}

TEST(Training, NeverLooksAtTheTestPart) {
  TrainingOptions options = quick();
  options.epochs = 2;
  Dataset changed = dataset();
  for (const size_t index : examples_of(changed, Part::kTest, options.split)) {
    for (double& label : changed.examples[index].labels) label *= 100;
    for (float& value : changed.examples[index].tensors.x) value = 1e6F;
  }
  EXPECT_EQ(trained_bytes(dataset(), options), trained_bytes(changed, options));
}

TEST(Training, TooFewNetworksAreRefusedWithTheNumberNeeded) {
  Dataset few = dataset();
  few.examples.resize(15);
  const auto result = train_predictor(few, kSource, quick());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(result.error().message.find("annotate more"), std::string::npos);
}

TEST(Training, StopsWhenAsked) {
  const std::atomic<bool> stop = true;
  EXPECT_FALSE(train_predictor(dataset(), kSource, quick(), {.stop = &stop}));
}

TrainingOptions short_run() {
  TrainingOptions options = quick();
  options.epochs = 3;
  options.dropout = 0.1;
  options.threads = 2;
  return options;
}

// In a process of its own, which dies without warning after so many steps.
void train_and_be_killed(const std::filesystem::path& checkpoint, int steps) {
  const pid_t child = fork();
  if (child == 0) {
    TrainingRun run{.checkpoint = checkpoint, .checkpoint_seconds = 0};
    run.progress = [&](const TrainingProgress&) {
      if (--steps == 0) kill(getpid(), SIGKILL);
    };
    static_cast<void>(train_predictor(dataset(), kSource, short_run(), run));
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

TEST(Checkpoint, KilledRunGoesOnToTheSameBytes) {
  const test::TempDir directory;
  const auto path = directory.path() / "run.checkpoint";
  const auto whole = trained_bytes(dataset(), short_run());
  train_and_be_killed(path, 4);   // in the first epoch
  train_and_be_killed(path, 9);   // in the second, having gone on
  train_and_be_killed(path, 12);  // in the second member
  const Checkpoint checkpoint = *load_checkpoint(path);
  EXPECT_EQ(checkpoint.members.size(), 1u);
  EXPECT_GT(checkpoint.state.steps, 0);
  int64_t first_done = 0;
  TrainingRun run{.checkpoint = path};
  run.progress = [&](const TrainingProgress& progress) {
    if (first_done == 0) first_done = progress.done;
  };
  const auto resumed = train_predictor(dataset(), kSource, short_run(), run);
  ASSERT_TRUE(resumed) << resumed.error().to_string();
  EXPECT_EQ(encode_predictor(*resumed), whole);
  EXPECT_GT(first_done, 600) << "began anew";
}

TEST(Checkpoint, StoppedRunSaysHowToGoOn) {
  const test::TempDir directory;
  const auto path = directory.path() / "run.checkpoint";
  std::atomic<bool> stop = false;
  TrainingRun run{.stop = &stop, .checkpoint = path};
  run.progress = [&](const TrainingProgress& progress) { stop = progress.epoch == 2; };
  const auto stopped = train_predictor(dataset(), kSource, short_run(), run);
  ASSERT_FALSE(stopped);
  EXPECT_NE(stopped.error().message.find("the same command goes on"), std::string::npos);
  const auto resumed = train_predictor(dataset(), kSource, short_run(), {.checkpoint = path});
  ASSERT_TRUE(resumed) << resumed.error().to_string();
  EXPECT_EQ(encode_predictor(*resumed), trained_bytes(dataset(), short_run()));
}

TEST(Checkpoint, OfAnotherRunIsRefusedWithWhatDiffers) {
  const test::TempDir directory;
  const auto path = directory.path() / "run.checkpoint";
  const std::atomic<bool> stop = true;
  ASSERT_FALSE(
      train_predictor(dataset(), kSource, short_run(), {.stop = &stop, .checkpoint = path}));
  const auto why = [&](const Dataset& data, const TrainingOptions& options) {
    const auto result = train_predictor(data, kSource, options, {.checkpoint = path});
    if (result) return std::string();
    EXPECT_EQ(result.error().code, ErrorCode::kBadStore);
    return result.error().message;
  };
  TrainingOptions other = short_run();
  other.epochs = 4;
  EXPECT_NE(why(dataset(), other).find("epochs 3, not 4"), std::string::npos);
  Dataset changed = dataset();
  changed.examples[0].labels[0] *= 2;
  EXPECT_NE(why(changed, short_run()).find("other data"), std::string::npos);
  TrainingOptions threads = short_run();
  threads.threads = 1;
  EXPECT_EQ(why(dataset(), threads), "") << "threads do not change the result";
}

TEST(Checkpoint, EveryDamageIsNoticed) {
  Checkpoint checkpoint{.options = "{}", .data_hash = 7, .members = {{1, 2}, {}, {3}}};
  checkpoint.state.steps = 5;
  checkpoint.state.sums.log_error = {0.5, 1.5};
  checkpoint.state.parameters = {1, 2, 3};
  const std::vector<std::byte> bytes = encode_checkpoint(checkpoint);
  EXPECT_EQ(*decode_checkpoint(bytes, "file"), checkpoint);
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::vector<std::byte> changed = bytes;
    changed[at] ^= std::byte{4};
    EXPECT_FALSE(decode_checkpoint(changed, "file")) << at;
    EXPECT_FALSE(decode_checkpoint(std::span(bytes).first(at), "file")) << at;
  }
}

TEST(Training, ByNodesLearnsAsWell) {
  TrainingOptions options = quick();
  options.batch_nodes = 600;
  const auto data = train_predictor(dataset(), kSource, options);
  ASSERT_TRUE(data) << data.error().to_string();
  const Evaluation evaluation =
      evaluate_predictor(*Predictor::from(*data), dataset(), options.split, 2);
  for (const EvaluationRow& row : evaluation.rows)
    if (row.space == "all" && row.quantity == "latency_ms" && row.model == "edgesage") {
      EXPECT_LT(row.accuracy.mape, 0.08);
    }
}

TEST(Training, ReportsEveryStep) {
  TrainingOptions options = short_run();
  std::vector<TrainingProgress> reports;
  ASSERT_TRUE(train_predictor(dataset(), kSource, options, {.progress = [&](const auto& progress) {
                                reports.push_back(progress);
                              }}));
  ASSERT_FALSE(reports.empty());
  int64_t before = 0;
  for (const TrainingProgress& report : reports) {
    EXPECT_GT(report.done, before);
    EXPECT_GT(report.nodes_per_second, 0);
    EXPECT_TRUE(std::isfinite(report.loss));
    ASSERT_EQ(report.log_error.size(), 2u);
    before = report.done;
  }
  EXPECT_EQ(reports.back().done, reports.back().total);
  EXPECT_EQ(reports.back().member, 2);
  EXPECT_EQ(reports.back().epoch, 3);
}

TEST(Controls, ConstantIsTheConstantOfLeastMape) {
  std::vector<size_t> all(dataset().examples.size());
  std::vector<double> truth;
  for (size_t i = 0; i < all.size(); ++i) {
    all[i] = i;
    truth.push_back(dataset().examples[i].labels[0]);
  }
  const auto control = fit_control("constant", dataset(), all, 0);
  const double best = control->predict(dataset().examples[0]);
  const auto mape = [&](double value) {
    return accuracy(truth, std::vector<double>(truth.size(), value)).mape;
  };
  for (const double factor : {0.5, 0.9, 0.99, 1.01, 1.1, 2.0})
    EXPECT_LE(mape(best), mape(best * factor) + 1e-12) << factor;
}

}  // namespace
}  // namespace edgesage
