// What the shipped predictor promises: its accuracy on a sample of held-out networks, and on the
// published networks of MLPerf Tiny against the compiler itself.
#include <gtest/gtest.h>

#include <cmath>

#include "src/devices/measure.h"
#include "src/io/model_file.h"
#include "src/learn/evaluate.h"
#include "src/predict/predictor.h"
#include "tests/devices/open_worker.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

Predictor shipped() {
  return *Predictor::load(test::source_dir() / "predictors" / "ethos-u55-256.edgesage");
}

TEST(ShippedPredictor, IsAccurateOnHeldOutNetworks) {
  const Predictor predictor = shipped();
  auto labels = read_labels(test::source_dir() / "labels" / "ethos-u55-256.csv.zst");
  ASSERT_TRUE(labels) << labels.error().to_string();
  // Test networks alone, of a size that builds quickly.
  std::vector<LabelRow> sample;
  for (LabelRow& row : *labels) {
    Example probe;
    probe.graph_hash = row.graph_hash;
    if (part_of(probe, {}) == Part::kTest && row.quantities.at("original_weights_bytes") < 2e5 &&
        sample.size() < 200)
      sample.push_back(std::move(row));
  }
  const auto data = build_dataset(sample, predictor.target(), predictor.quantities(), 2);
  ASSERT_TRUE(data) << data.error().to_string();
  const Evaluation evaluation = evaluate_predictor(predictor, *data, {}, 2);
  int checked = 0;
  for (const EvaluationRow& row : evaluation.rows) {
    // Energy follows from a table that the label file does not have.
    if (row.model != "edgesage" || row.space != "all" || row.quantity == "energy_mj") continue;
    std::printf("%s: MAPE %.2f %% of %zu networks, %.1f %% flagged\n", row.quantity.c_str(),
                100 * row.accuracy.mape, row.accuracy.count, 100 * row.flagged);
    EXPECT_EQ(row.accuracy.count, 200u);
    EXPECT_LE(row.accuracy.mape, row.quantity == "latency_ms" ? 0.03 : 0.05) << row.quantity;
    EXPECT_LE(row.flagged, 0.05);
    EXPECT_GT(row.coverage_90, 0.8);
    ++checked;
  }
  EXPECT_EQ(checked, 2);
  ASSERT_FALSE(evaluation.attribution.empty());
  EXPECT_LE(evaluation.attribution.front().misplaced_share, 0.1);
}

TEST(ShippedPredictor, AgreesWithTheCompilerOnMlperfTiny) {
  const auto data = test::data_dir();
  EDGESAGE_REQUIRE(data.has_value(), "published models are not here (EDGESAGE_DATA_DIR)");
  EDGESAGE_REQUIRE(test::venv_python().has_value(), "Vela is not installed (./dev setup)");
  const DeviceDescription device = test::shipped_device("ethos-u55-256");
  WorkerClient worker = test::open_worker(device);
  const Predictor predictor = shipped();
  int files = 0, within_10 = 0, flagged = 0;
  for (const test::IndexedModel& model : test::indexed_models(*data)) {
    if (model.file.find("tflite/tiny/") != 0 || model.file.find("float32") != std::string::npos)
      continue;
    const Prediction answer = predictor.predict(*read_model(model.path), model.file, {});
    const auto measured = measure(worker, device, model.path);
    ASSERT_TRUE(measured && measured->error.empty()) << model.file;
    const double truth = measured->quantities.at("latency_ms");
    ASSERT_TRUE(answer.latency_ms) << model.file;
    const double error = std::abs(answer.latency_ms->value / truth - 1);
    std::printf("%s: %.4f ms, Vela %.4f ms, %.1f %%%s\n", model.file.c_str(),
                answer.latency_ms->value, truth, 100 * error, answer.in_range ? "" : ", flagged");
    ++files;
    within_10 += error <= 0.10 ? 1 : 0;
    flagged += answer.in_range ? 0 : 1;
    if (answer.in_range) {
      EXPECT_LE(error, 0.20) << model.file;
    }
  }
  EXPECT_EQ(files, 5);
  EXPECT_GE(within_10, 3);
  EXPECT_LE(flagged, 2);
}

}  // namespace
}  // namespace edgesage
