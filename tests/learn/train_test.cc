// Training and evaluation on real labels: a few hundred small networks of the label file.
#include "src/learn/train.h"

#include <gtest/gtest.h>

#include <cmath>

#include "src/learn/controls.h"
#include "src/learn/evaluate.h"
#include "src/predict/predictor.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

constexpr Quantity kQuantities[] = {Quantity::kLatencyMs, Quantity::kSramBytes};

const std::vector<LabelRow>& small_labels() {
  static const std::vector<LabelRow> rows = [] {
    std::vector<LabelRow> chosen;
    auto all = read_labels(test::source_dir() / "labels" / "ethos-u55-256.csv.zst");
    if (!all) return chosen;
    for (LabelRow& row : *all)
      if (row.name.starts_with("keyword-sound/") && row.quantities.at("latency_ms") < 0.3 &&
          chosen.size() < 240)
        chosen.push_back(std::move(row));
    return chosen;
  }();
  return rows;
}

const Dataset& dataset() {
  static const Dataset data =
      *build_dataset(small_labels(), *target_from_name("ethos-u55-256"), kQuantities, 2);
  return data;
}

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

TEST(Training, SameSeedGivesSameBytesForOneAndTwoThreads) {
  TrainingOptions options = quick();
  options.epochs = 3;
  options.threads = 1;
  const auto one = trained_bytes(dataset(), options);
  options.threads = 2;
  EXPECT_EQ(one, trained_bytes(dataset(), options));
  options.seed = 2;
  EXPECT_NE(one, trained_bytes(dataset(), options));
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
  EXPECT_FALSE(train_predictor(dataset(), kSource, quick(), {}, &stop));
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
