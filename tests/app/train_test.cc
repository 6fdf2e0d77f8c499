// `edgesage train` as the command runs it: from a label file to a predictor file.
#include "src/app/train.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "src/base/file.h"
#include "src/devices/energy.h"
#include "src/learn/label_file.h"
#include "src/predict/predictor_file.h"
#include "tests/support/test_paths.h"

namespace edgesage::app {
namespace {

// The smallest networks of the repository's labels, as a file of their own.
void write_small_labels(const std::filesystem::path& path) {
  const auto all = read_labels(test::source_dir() / "labels" / "ethos-u55-256.csv.zst");
  EXPECT_TRUE(all) << all.error().to_string();
  std::vector<LabelRow> few;
  for (const LabelRow& row : *all)
    if (row.name.starts_with("keyword-sound/") && few.size() < 80 &&
        row.quantities.at("original_weights_bytes") < 30'000)
      few.push_back(row);
  EXPECT_EQ(few.size(), 80u);
  EXPECT_TRUE(write_labels(few, path));
}

std::string predictor_file(const std::filesystem::path& folder, int threads, uint64_t seed) {
  Context context;
  context.device_directories = {test::source_dir() / "devices"};
  TrainRequest request;
  request.labels.labels = (folder / "labels.csv.zst").string();
  request.output = (folder / "out.edgesage").string();
  request.training.hidden = 16;
  request.training.members = 2;
  request.training.epochs = 3;
  request.training.seed = seed;
  request.training.split.calibration = 0.25;
  request.training.threads = threads;
  const auto trained = train(context, request);
  EXPECT_TRUE(trained) << trained.error().to_string();
  return *read_text(request.output, ErrorCode::kBadStore);
}

TEST(TrainCommand, OneSeedGivesOneFileForAnyNumberOfThreads) {
  const test::TempDir folder;
  write_small_labels(folder.path() / "labels.csv.zst");
  const std::string one = predictor_file(folder.path(), 1, 7);
  ASSERT_GT(one.size(), 1000u);
  for (const int threads : {2, 4})
    EXPECT_TRUE(predictor_file(folder.path(), threads, 7) == one) << threads << " threads";
  EXPECT_FALSE(predictor_file(folder.path(), 2, 8) == one) << "another seed";
}

TEST(TrainCommand, APredictorNamesTheTableThatItsEnergyIsModelledWith) {
  const test::TempDir folder;
  write_small_labels(folder.path() / "labels.csv.zst");
  const std::filesystem::path shipped = test::source_dir() / "devices" / "energy" / "ethos-u.toml";
  const auto trained_with = [&](const std::string& table, std::vector<std::string> quantities) {
    Context context;
    context.device_directories = {test::source_dir() / "devices"};
    context.places.source_dir = test::source_dir();
    TrainRequest request;
    request.labels.labels = (folder.path() / "labels.csv.zst").string();
    request.labels.energy_table = table;
    request.labels.quantities = std::move(quantities);
    request.output = (folder.path() / "out.edgesage").string();
    request.training.hidden = 8;
    request.training.layers = 1;
    request.training.members = request.training.epochs = 1;
    request.training.split.calibration = 0.25;
    EXPECT_TRUE(train(context, request));
    return *load_predictor(request.output);
  };
  const auto table = EnergyTable::read(shipped);
  ASSERT_TRUE(table);
  const PredictorData own = trained_with("", {});
  EXPECT_EQ(own.energy_table, table->name);
  EXPECT_EQ(own.energy_table_hash, table->hash());

  std::string text = *read_text(shipped, ErrorCode::kBadStore);
  text.replace(text.find("ethos-u published 1"), 19, "my board");
  const std::filesystem::path file = folder.path() / "mine.toml";
  ASSERT_TRUE(write_text(file, text));
  // The features of the other table are beside the labels by now.
  EXPECT_EQ(trained_with(file.string(), {}).energy_table, "my board");
  EXPECT_EQ(trained_with("", {"latency_ms"}).energy_table, "");
}

}  // namespace
}  // namespace edgesage::app
