#include "src/learn/feature_file.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "src/base/file.h"
#include "src/learn/feature_build.h"
#include "src/learn/feature_graphs.h"
#include "src/nn/trainer.h"
#include "src/predict/tensors_to_batch.h"
#include "tests/learn/small_labels.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

using test::small_dataset;
using test::small_labels;

const Target& target() {
  static const Target value = *target_from_name("ethos-u55-256");
  return value;
}

FeatureOrigin origin() {
  FeatureOrigin origin;
  origin.source = {.device = "ethos-u55-256", .runtime = "vela", .host_description = "a \"CPU\"\n"};
  origin.labels_hash = "abc";
  origin.target = target().name;
  origin.quantities.assign(std::begin(test::kSmallQuantities), std::end(test::kSmallQuantities));
  return origin;
}

void write(std::span<const Example> examples, const std::filesystem::path& path) {
  auto writer = FeatureWriter::create(path, origin());
  ASSERT_TRUE(writer);
  for (const Example& example : examples) ASSERT_TRUE(writer->add(example));
  writer->leave_out();
  ASSERT_TRUE(writer->finish());
}

std::span<const Example> some_examples() { return std::span(small_dataset().examples).first(20); }

bool same(const std::vector<double>& a, const std::vector<double>& b) {
  return std::ranges::equal(
      a, b, [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

void expect_same(const Example& a, const Example& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.space, b.space);
  EXPECT_EQ(a.graph_hash, b.graph_hash);
  EXPECT_EQ(a.operator_signatures, b.operator_signatures);
  EXPECT_EQ(a.cpu_operators, b.cpu_operators);
  EXPECT_TRUE(same(a.labels, b.labels));
  ASSERT_EQ(a.operator_labels.size(), b.operator_labels.size());
  for (size_t q = 0; q < a.operator_labels.size(); ++q)
    EXPECT_TRUE(same(a.operator_labels[q], b.operator_labels[q])) << q;
  EXPECT_EQ(a.tensors.x, b.tensors.x);
  EXPECT_EQ(a.tensors.globals, b.tensors.globals);
  EXPECT_EQ(a.tensors.log_prior, b.tensors.log_prior);
  EXPECT_EQ(a.tensors.kind, b.tensors.kind);
  EXPECT_EQ(a.tensors.op, b.tensors.op);
  EXPECT_EQ(a.tensors.producers.offset, b.tensors.producers.offset);
  EXPECT_EQ(a.tensors.producers.index, b.tensors.producers.index);
  EXPECT_EQ(a.tensors.consumers.offset, b.tensors.consumers.offset);
  EXPECT_EQ(a.tensors.consumers.index, b.tensors.consumers.index);
  EXPECT_EQ(a.tensors.operators, b.tensors.operators);
  EXPECT_EQ(a.tensors.nodes, b.tensors.nodes);
  EXPECT_EQ(a.tensors.features, b.tensors.features);
  EXPECT_EQ(a.tensors.quantities, b.tensors.quantities);
}

TEST(FeatureFile, GivesBackWhatWasWritten) {
  const test::TempDir directory;
  const auto path = directory.path() / "a.features";
  std::vector<Example> examples(some_examples().begin(), some_examples().end());
  examples[3].operator_labels[1].clear();
  examples[4].labels[0] = std::nan("");
  examples[5].operator_signatures.clear();
  write(examples, path);
  const auto file = FeatureFile::open(path);
  ASSERT_TRUE(file) << file.error().to_string();
  ASSERT_EQ(file->size(), 20u);
  EXPECT_EQ(file->origin(), origin());
  EXPECT_EQ(file->left_out(), 1);
  for (size_t i = 0; i < 20; ++i) {
    expect_same(file->example(i), examples[i]);
    EXPECT_EQ(file->nodes_of(i), examples[i].tensors.nodes);
  }
}

TEST(FeatureFile, InMemoryIsTheSame) {
  const FeatureFile file = FeatureFile::of(small_dataset());
  ASSERT_EQ(file.size(), small_dataset().examples.size());
  for (size_t i = 0; i < file.size(); i += 37)
    expect_same(file.example(i), small_dataset().examples[i]);
}

TEST(FeatureFile, EveryDamageIsNoticed) {
  const test::TempDir directory;
  const auto path = directory.path() / "a.features";
  write(some_examples().first(3), path);
  const std::string whole = *read_text(path, ErrorCode::kBadStore);
  const auto refused = [&](const std::string& bytes) {
    EXPECT_TRUE(write_text(path, bytes));
    const auto file = FeatureFile::open(path);
    return !file && file.error().code == ErrorCode::kBadStore;
  };
  EXPECT_FALSE(refused(whole));
  for (size_t at = 0; at < whole.size(); at += at < 128 ? 1 : 97) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    EXPECT_TRUE(refused(changed)) << at;
  }
  for (const size_t size : {size_t{0}, size_t{1}, size_t{127}, size_t{128}, whole.size() - 1})
    EXPECT_TRUE(refused(whole.substr(0, size))) << size;
  EXPECT_TRUE(refused(whole + "x"));
}

TEST(FeatureFile, UnfinishedFileLeavesNothing) {
  const test::TempDir directory;
  {
    auto writer = FeatureWriter::create(directory.path() / "a.features", origin());
    ASSERT_TRUE(writer && writer->add(some_examples()[0]));
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
  EXPECT_FALSE(FeatureWriter::create(directory.path() / "none" / "a.features", origin()));
}

TEST(FeatureBuild, DoesNotDependOnThreads) {
  const test::TempDir directory;
  const auto rows = std::span(small_labels()).first(70);
  std::string first;
  for (const int threads : {1, 2}) {
    FeatureBuild build{.origin = origin(), .target = target(), .threads = threads};
    int64_t done = 0;
    build.progress = [&](int64_t count, int64_t) { done = count; };
    ASSERT_TRUE(build_features(read_from(rows), build, directory.path() / "a.features"));
    EXPECT_EQ(done, 70);
    const std::string bytes = *read_text(directory.path() / "a.features", ErrorCode::kBadStore);
    if (first.empty()) first = bytes;
    EXPECT_EQ(bytes, first);
  }
  const auto file = open_features(directory.path() / "a.features", "abc", target());
  ASSERT_TRUE(file) << file.error().to_string();
  for (size_t i = 0; i < 70; i += 9) expect_same(file->example(i), small_dataset().examples[i]);
}

TEST(FeatureBuild, StaleFileIsRefusedWithItsReason) {
  const test::TempDir directory;
  const auto path = directory.path() / "a.features";
  write(some_examples(), path);
  EXPECT_TRUE(open_features(path, "abc", target()));
  const auto why = [&](std::string_view hash, const Target& other) {
    const auto file = open_features(path, hash, other);
    return file ? std::string() : file.error().message;
  };
  EXPECT_NE(why("abd", target()).find("other labels"), std::string::npos);
  EXPECT_NE(why("abc", *target_from_name("litert-xnnpack")).find("other labels"),
            std::string::npos);
  std::vector<Example> changed(some_examples().begin(), some_examples().end());
  for (Example& example : changed) example.tensors.x[7] += 1;
  write(changed, path);
  EXPECT_NE(why("abc", target()).find("another version"), std::string::npos);
}

TEST(FeatureBuild, StopsWhenAskedAndLeavesNothing) {
  const test::TempDir directory;
  const std::atomic<bool> stop = true;
  const FeatureBuild build{.origin = origin(), .target = target(), .threads = 1, .stop = &stop};
  EXPECT_FALSE(build_features(read_from(small_labels()), build, directory.path() / "a.features"));
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

// Normalisers and scales that change every value.
PredictorData some_data() {
  PredictorData data;
  const GraphTensors& tensors = small_dataset().examples[0].tensors;
  data.node_normaliser = Normaliser::fit(tensors.x, static_cast<size_t>(tensors.features));
  data.global_normaliser = {std::vector<float>(tensors.globals.size(), 0.5F),
                            std::vector<float>(tensors.globals.size(), 0.1F)};
  data.hidden = 16;
  data.embedding = 4;
  data.layers = 2;
  data.quantities = {{.name = "latency_ms", .log_offset = 0.25F},
                     {.name = "sram_bytes", .readout = 1, .log_offset = -0.5F}};
  return data;
}

TEST(FeatureGraphs, AreWhatPredictionReads) {
  const FeatureFile file = FeatureFile::of(small_dataset());
  const PredictorData data = some_data();
  const FeatureGraphs graphs(file, {5, 0, 17}, data);
  nn::Batch drawn, expected;
  for (const int32_t graph : {0, 1, 2, 0}) graphs.append(graph, drawn);
  for (const size_t i : {5, 0, 17, 5})
    append_tensors(small_dataset().examples[i].tensors, data, expected);
  EXPECT_EQ(drawn.x, expected.x);
  EXPECT_EQ(drawn.globals, expected.globals);
  EXPECT_EQ(drawn.log_prior, expected.log_prior);
  EXPECT_EQ(drawn.kind, expected.kind);
  EXPECT_EQ(drawn.node_op, expected.node_op);
  EXPECT_EQ(drawn.producers.offset, expected.producers.offset);
  EXPECT_EQ(drawn.producers.index, expected.producers.index);
  EXPECT_EQ(drawn.consumers.offset, expected.consumers.offset);
  EXPECT_EQ(drawn.consumers.index, expected.consumers.index);
  EXPECT_EQ(drawn.graph_offset, expected.graph_offset);
  EXPECT_EQ(drawn.op_graph_offset, expected.op_graph_offset);
  EXPECT_TRUE(nn::validate(drawn, model_config(data)));
  EXPECT_FLOAT_EQ(drawn.log_total[2],
                  static_cast<float>(std::log(small_dataset().examples[0].labels[0])));
}

// Trains one epoch on the same networks `times` over; what memory grew by meanwhile.
int64_t memory_of_training(size_t times, const std::filesystem::path& path) {
  {
    auto writer = FeatureWriter::create(path, origin());
    for (size_t t = 0; t < times; ++t)
      for (const Example& example : small_dataset().examples) EXPECT_TRUE(writer->add(example));
    EXPECT_TRUE(writer->finish());
  }
  const int64_t before = test::anonymous_memory();
  const FeatureFile file = *FeatureFile::open(path);
  const PredictorData data = some_data();
  std::vector<uint32_t> indexes(file.size());
  std::vector<int32_t> all(file.size());
  for (size_t i = 0; i < all.size(); ++i)
    indexes[i] = static_cast<uint32_t>(all[i] = static_cast<int32_t>(i));
  const FeatureGraphs graphs(file, indexes, data);
  nn::Model model = *nn::Model::create(model_config(data));
  int64_t most = 0;
  nn::TrainHooks hooks;
  hooks.on_step = [&](const nn::StepReport&) {
    most = std::max(most, test::anonymous_memory() - before);
  };
  EXPECT_TRUE(
      nn::train(model, graphs, all, {.epochs = 1, .batch_graphs = 32, .threads = 2}, hooks));
  return most;
}

TEST(FeatureGraphs, MemoryOfTrainingDoesNotGrowWithTheNetworks) {
  EDGESAGE_REQUIRE(test::anonymous_memory() > 0, "the system does not tell anonymous memory");
  const test::TempDir directory;
  const auto path = directory.path() / "a.features";
  const int64_t once = memory_of_training(1, path);
  const int64_t many = memory_of_training(16, path);
  const auto file_bytes = static_cast<int64_t>(std::filesystem::file_size(path));
  std::printf("240 networks: %.1f MB; 3,840 networks, a file of %.1f MB: %.1f MB\n",
              1e-6 * static_cast<double>(once), 1e-6 * static_cast<double>(file_bytes),
              1e-6 * static_cast<double>(many));
  EXPECT_LT(many - once, file_bytes / 10);
}

}  // namespace
}  // namespace edgesage
