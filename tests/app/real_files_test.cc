// Published files that nothing was trained on: which they are, how they are judged, and that a run
// goes on where another ended.
#include "src/app/real_files.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "src/app/many_spaces.h"
#include "src/base/file.h"
#include "tests/support/test_paths.h"

namespace edgesage::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDevice = "ethos-u55-256";

Context context_here() {
  Context context;
  context.places.source_dir = test::source_dir();
  context.places.worker_dir = test::binary_dir() / "workers";
  if (const auto python = test::venv_python()) context.places.python = *python;
  context.device_directories = {test::source_dir() / "devices"};
  context.predictor_directories = {test::source_dir() / "predictors"};
  return context;
}

TEST(RealFiles, EvenRowsAndAllOfMlperfTinyAreForTesting) {
  const test::TempDir folder;
  ASSERT_TRUE(write_text(folder.path() / "index.csv",
                         "file,kind,ops\n"
                         "tflite/LiteRT/even.bin,tflite,9\n"
                         "tflite/LiteRT/odd.tflite,tflite,9\n"
                         "onnx/onnx/even.onnx,onnx,9\n"
                         "tflite/tiny/odd.tflite,tflite,12\n"
                         "tflite/LiteRT/last.lite,tflite,1\n"));
  const auto files = files_for_testing(folder.path());
  ASSERT_TRUE(files) << files.error().to_string();
  ASSERT_EQ(files->size(), 3u);
  EXPECT_EQ((*files)[0].name, "even.bin");
  EXPECT_EQ((*files)[1].path, folder.path() / "tflite" / "tiny" / "odd.tflite");
  EXPECT_EQ((*files)[1].operators, 12);
  EXPECT_EQ((*files)[2].operators, 1);
}

TEST(RealFiles, ADamagedIndexIsNamedWithItsLine) {
  const test::TempDir folder;
  EXPECT_FALSE(files_for_testing(folder.path()));
  ASSERT_TRUE(write_text(folder.path() / "index.csv", "file,kind\na,tflite\n"));
  EXPECT_FALSE(files_for_testing(folder.path()));
  ASSERT_TRUE(write_text(folder.path() / "index.csv", "file,kind,ops\na,tflite,many\n"));
  const auto files = files_for_testing(folder.path());
  ASSERT_FALSE(files);
  EXPECT_NE(files.error().message.find("line 2, column ops: \"many\""), std::string::npos);
}

SpacesRow row_of(const char* file, const char* placement, double truth, double predicted,
                 double flagged) {
  SpacesRow row;
  row.task = {.setting = kRealFiles, .variant = file};
  row.row.device = kDevice;
  row.row.space = kRealNetworks;
  row.row.quantity = "latency_ms";
  row.row.model = "edgesage";
  row.row.placement = placement;
  row.truth = truth;
  row.predicted = predicted;
  row.row.accuracy = accuracy(std::span(&truth, 1), std::span(&predicted, 1));
  row.row.coverage_90 = 1 - flagged;
  row.row.half_width_90 = 0.1;
  row.row.flagged = flagged;
  return row;
}

TEST(RealFiles, TotalsAreOfAllFilesAndByPlacement) {
  SpacesRow without = row_of("none", "placed", 1, 1, 0);
  without.row.accuracy = {};
  const std::vector<SpacesRow> rows = {row_of("a", "placed", 1, 1.02, 0),
                                       row_of("b", "placed", 2, 2.2, 0),
                                       row_of("c", "fallback", 4, 8, 1), without};
  const std::vector<SpacesRow> totals = real_file_totals(rows);
  ASSERT_EQ(totals.size(), 3u);  // all, fallback, placed
  EXPECT_EQ(totals[0].row.placement, "all");
  EXPECT_EQ(totals[0].row.accuracy.count, 3u);
  EXPECT_NEAR(totals[0].row.accuracy.median_ape, 0.1, 1e-9);
  EXPECT_NEAR(totals[0].row.flagged, 1.0 / 3, 1e-9);
  EXPECT_NEAR(totals[0].row.mape_unflagged, 0.06, 1e-9);
  EXPECT_EQ(totals[1].row.placement, "fallback");
  EXPECT_LT(totals[1].row.mape_unflagged, 0);  // none is unflagged
  EXPECT_EQ(totals[2].row.accuracy.count, 2u);
  EXPECT_TRUE(totals[2].task.variant.empty());
}

TEST(RealFiles, RowsOfFilesAreReadAsTheyWereWritten) {
  const test::TempDir folder;
  SpacesRow without = row_of("odd, \"name\"", "all", 1, 1, 0);
  without.truth = without.predicted = std::nan("");
  without.row.accuracy = {};
  without.note = "nothing of it runs, says the device";
  ASSERT_TRUE(write_spaces_rows(std::vector{row_of("a", "placed", 0.25, 0.26, 0), without},
                                folder.path() / "rows.csv"));
  const auto rows = read_spaces_rows(folder.path() / "rows.csv");
  ASSERT_TRUE(rows) << rows.error().to_string();
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[0].truth, 0.25);
  EXPECT_EQ((*rows)[0].predicted, 0.26);
  EXPECT_EQ((*rows)[1].note, without.note);
  EXPECT_EQ((*rows)[1].task.variant, without.task.variant);
  EXPECT_TRUE(std::isnan((*rows)[1].truth));
  EXPECT_EQ((*rows)[1].row.accuracy.count, 0u);
}

TEST(RealFiles, IsAskedForWithADeviceAndAFolder) {
  ManySpacesRequest request;
  request.settings = {kRealFiles};
  const auto table = evaluate_many_spaces(context_here(), request);
  ASSERT_FALSE(table);
  EXPECT_NE(table.error().message.find("--board"), std::string::npos);
}

TEST(RealFiles, MeasuresEachFileOnceHoweverOftenItIsRun) {
  const auto data = test::data_dir();
  EDGESAGE_REQUIRE(data, "published models");
  EDGESAGE_REQUIRE(test::venv_python(), "the device runtimes");
  const test::TempDir folder;
  const fs::path tiny = folder.path() / "tflite" / "tiny";
  fs::create_directories(tiny);
  std::string index = "file,kind,ops\n";
  for (const test::IndexedModel& model : test::indexed_models(*data)) {
    const bool wanted = model.file.find("pretrainedResnet_quant") != std::string::npos ||
                        model.file.find("kws_ref_model_float32") != std::string::npos;
    if (!wanted) continue;
    fs::create_symlink(model.path, folder.path() / model.file);
    index += model.file + ",tflite," + std::to_string(model.operators) + "\n";
  }
  ASSERT_TRUE(write_text(folder.path() / "index.csv", index));
  ManySpacesRequest request;
  request.settings = {kRealFiles};
  request.devices = {kDevice};
  request.real_models = folder.path();
  request.results = folder.path() / "rows.csv";
  const auto table = evaluate_many_spaces(context_here(), request);
  ASSERT_TRUE(table) << table.error().to_string();
  // The float file has nothing to run on the NPU.
  EXPECT_EQ(table->unanswered.size(), 1u);
  bool seen = false;
  for (const AccuracyRow& row : table->rows) {
    if (row.quantity != "latency_ms" || row.variant.empty()) continue;
    seen = true;
    EXPECT_EQ(row.space, kRealNetworks);
    EXPECT_EQ(row.placement, "placed");
    ASSERT_TRUE(row.truth && row.predicted);
    EXPECT_NEAR(*row.predicted / *row.truth, 1, 0.15);
    EXPECT_NEAR(row.mape, 100 * std::abs(*row.predicted / *row.truth - 1), 1e-9);
  }
  EXPECT_TRUE(seen);

  const std::string written = *read_text(request.results, ErrorCode::kBadStore);
  fs::remove_all(tiny);  // so that measuring again would fail
  const auto again = evaluate_many_spaces(context_here(), request);
  ASSERT_TRUE(again) << again.error().to_string();
  EXPECT_EQ(again->rows.size(), table->rows.size());
  EXPECT_EQ(*read_text(request.results, ErrorCode::kBadStore), written);
}

}  // namespace
}  // namespace edgesage::app
