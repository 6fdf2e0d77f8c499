#include "src/learn/label_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "src/base/file.h"
#include "src/learn/label_summary.h"
#include "src/learn/label_verify.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

namespace fs = std::filesystem;

LabelRow row(const std::string& name, double latency_ms = 1) {
  LabelRow row;
  row.name = name;
  row.graph_hash = "graph of " + name;
  row.device = "ethos-u55-256";
  row.runtime = "vela";
  row.runtime_version = "5.2.0";
  row.statistic = "estimate";
  row.quantities = {{"latency_ms", latency_ms}, {"sram_bytes", 4096}};
  row.operator_unit = "cycles";
  row.operators.resize(2);
  row.operators[0].index = 0;
  row.operators[1].index = 1;
  row.operators[0].cycles = 10;
  row.operators[1].cycles = 1000;
  return row;
}

std::vector<std::string> names_of(std::span<const LabelRow> rows) {
  std::vector<std::string> names;
  for (const LabelRow& row : rows) names.push_back(row.name);
  return names;
}

TEST(LabelFolder, HoldsAFileASpaceAndBlockOfSeeds) {
  const test::TempDir dir;
  const std::vector<LabelRow> rows = {row("kws/1/7"),     row("kws/1/9999"),
                                      row("kws/1/10000"), row("kws/1/23456"),
                                      row("sr/1/3"),      row("nas/1/|a~0|+|b~0|c~1|")};
  const std::vector<FailureRow> failures = {
      {"kws/1/8", "ethos-u55-256", "vela", "5.2.0", "", "crashed, \"oddly\"\nhere"}};
  const auto written = write_label_folder(rows, failures, dir.path());
  ASSERT_TRUE(written) << written.error().to_string();
  const fs::path place = dir.path() / "ethos-u55-256";
  std::vector<std::string> files;
  for (const WrittenLabels& part : *written) files.push_back(part.file.filename().string());
  EXPECT_EQ(files,
            (std::vector<std::string>{"kws-00000.csv.zst", "kws-10000.csv.zst", "kws-20000.csv.zst",
                                      "nas-00000.csv.zst", "sr-00000.csv.zst"}));
  const auto paths = label_files(dir.path());
  ASSERT_TRUE(paths);
  const auto back = read_label_files(*paths);
  ASSERT_TRUE(back) << back.error().to_string();
  EXPECT_EQ(labels_to_csv(*back), labels_to_csv(std::vector<LabelRow>{rows[0], rows[1], rows[2],
                                                                      rows[3], rows[5], rows[4]}));
  const auto failed = read_failures(*failure_files(dir.path()));
  ASSERT_TRUE(failed) << failed.error().to_string();
  EXPECT_EQ(*failed, failures);
}

TEST(LabelFolder, ACompleteBlockNeverChanges) {
  const test::TempDir dir;
  std::vector<LabelRow> rows = {row("kws/1/1"), row("kws/1/10001")};
  ASSERT_TRUE(write_label_folder(rows, {}, dir.path()));
  const fs::path first = dir.path() / "ethos-u55-256" / "kws-00000.csv.zst";
  const auto before = read_text(first, ErrorCode::kBadStore);
  rows.push_back(row("kws/1/10002"));
  rows.push_back(row("sr/1/1"));
  ASSERT_TRUE(write_label_folder(rows, {}, dir.path()));
  EXPECT_EQ(*read_text(first, ErrorCode::kBadStore), *before);
}

TEST(LabelFolder, DevicesAndMachinesStandApart) {
  const test::TempDir dir;
  std::vector<LabelRow> one = {row("kws/1/1")}, other = one;
  one[0].device = other[0].device = "host-litert";
  one[0].host_fingerprint = "0123456789abcdef";
  other[0].host_fingerprint = "fedcba9876543210";
  for (const auto& rows : {std::vector<LabelRow>{row("kws/1/1")}, one, other})
    ASSERT_TRUE(write_label_folder(rows, {}, dir.path()));
  EXPECT_TRUE(fs::exists(dir.path() / "host-litert@01234567" / "kws-00000.csv.zst"));
  EXPECT_TRUE(fs::exists(dir.path() / "host-litert@fedcba98" / "kws-00000.csv.zst"));
  EXPECT_EQ(label_files(dir.path())->size(), 3u);
  EXPECT_EQ(label_files(dir.path(), "host-litert")->size(), 2u);
  EXPECT_EQ(label_files(dir.path(), "ethos-u55-256")->size(), 1u);
  EXPECT_EQ(label_files(dir.path(), "ethos-u55").error().code, ErrorCode::kBadStore);
  // A folder of one device is a set of its own.
  EXPECT_EQ(label_files(dir.path() / "ethos-u55-256")->size(), 1u);
  EXPECT_EQ(read_label_files(*label_files(dir.path()))->size(), 3u);
}

TEST(LabelFolder, ANetworkInTwoFilesIsRefused) {
  const test::TempDir dir;
  ASSERT_TRUE(write_labels(std::vector{row("kws/1/1")}, dir.path() / "a.csv.zst"));
  ASSERT_TRUE(write_labels(std::vector{row("kws/1/1")}, dir.path() / "b.csv.zst"));
  const auto rows = read_label_files(*label_files(dir.path()));
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().code, ErrorCode::kBadStore);
  EXPECT_NE(rows.error().message.find("kws/1/1"), std::string::npos);
}

TEST(LabelFolder, UglyFoldersAreErrors) {
  const test::TempDir dir;
  EXPECT_EQ(label_files(dir.path()).error().code, ErrorCode::kBadStore);
  EXPECT_FALSE(write_label_folder({}, {}, dir.path()));
  EXPECT_FALSE(write_label_folder(std::vector{row("kws/1/1")}, {}, dir.path(), 0));
  std::ofstream(dir.path() / "file") << "x";
  EXPECT_FALSE(write_label_folder(std::vector{row("kws/1/1")}, {}, dir.path() / "file"));
  std::ofstream(dir.path() / "failures.csv.zst") << "not zstd";
  EXPECT_EQ(read_failures(*failure_files(dir.path())).error().code, ErrorCode::kBadStore);
  // Failures are not labels.
  EXPECT_FALSE(label_files(dir.path()));
}

TEST(LabelSummary, CountsAndRangesOfEachSpace) {
  std::vector<LabelRow> rows;
  for (int i = 1; i <= 100; ++i) rows.push_back(row("kws/1/" + std::to_string(i), i));
  rows[3].cpu_operators = 2;
  rows.push_back(row("sr/2/1", 0.5));
  const auto parts = summarize_labels(rows);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].space, "kws/1");
  EXPECT_EQ(parts[0].networks, 100);
  EXPECT_EQ(parts[0].with_fallback, 1);
  EXPECT_EQ(parts[1].space, "sr/2");
  const auto latency = std::ranges::find(parts[0].quantities, "latency_ms", &DatasetQuantity::name);
  ASSERT_NE(latency, parts[0].quantities.end());
  EXPECT_EQ(latency->min, 1);
  EXPECT_EQ(latency->max, 100);
  EXPECT_NEAR(latency->median, 50, 1);
  EXPECT_NEAR(latency->p90, 90, 1);
  int64_t counted = latency->zeros;
  for (const auto& bin : latency->histogram) {
    counted += bin.count;
    EXPECT_NEAR(bin.to / bin.from, std::pow(10, 0.25), 1e-9);
  }
  EXPECT_EQ(counted, 100);
}

TEST(LabelSummary, ReasonsThatDifferInNumbersAloneAreOne) {
  const auto failures =
      summarize_failures(std::vector<FailureRow>{{"a/1/1", "d", "", "", "", "needs 17 bytes"},
                                                 {"a/1/2", "d", "", "", "", "crashed"},
                                                 {"a/1/3", "d", "", "", "", "needs 4096 bytes"}});
  ASSERT_EQ(failures.size(), 2u);
  EXPECT_EQ(failures[0].count, 2);
  EXPECT_EQ(failures[0].error, "needs 17 bytes");
  EXPECT_EQ(failures[0].example, "a/1/1");
}

TEST(LabelVerify, WithinTheToolsRepeatabilityHolds) {
  const std::vector<LabelRow> labels = {row("kws/1/1"), row("kws/1/2")};
  std::vector<LabelRow> again = labels;
  again[0].quantities["latency_ms"] *= 1 + 5e-5;
  const VerifyTolerance tolerance;
  const auto result = compare_labels(labels, again, tolerance);
  EXPECT_TRUE(result.passed(tolerance));
  EXPECT_EQ(result.compared, 2);
  EXPECT_NEAR(result.worst_exact, 5e-5, 1e-8);
}

TEST(LabelVerify, EveryKindOfDifferenceIsFound) {
  const VerifyTolerance tolerance;
  const std::pair<const char*, void (*)(LabelRow&)> changes[] = {
      {"graph", [](LabelRow& r) { r.graph_hash = "another"; }},
      {"latency_ms", [](LabelRow& r) { r.quantities["latency_ms"] *= 1.001; }},
      {"sram_bytes", [](LabelRow& r) { r.quantities.erase("sram_bytes"); }},
      {"dram_bytes", [](LabelRow& r) { r.quantities["dram_bytes"] = 1; }},
      {"cpu_operators", [](LabelRow& r) { r.cpu_operators = 1; }},
      {"cycles of operator 1", [](LabelRow& r) { r.operators[1].cycles += 1; }},
      {"number of operators", [](LabelRow& r) { r.operators.pop_back(); }}};
  for (const auto& [quantity, change] : changes) {
    const std::vector<LabelRow> labels = {row("kws/1/1"), row("kws/1/2")};
    std::vector<LabelRow> again = labels;
    change(again[1]);
    const auto result = compare_labels(labels, again, tolerance);
    EXPECT_FALSE(result.passed(tolerance)) << quantity;
    EXPECT_EQ(result.different, 1) << quantity;
    ASSERT_EQ(result.differences.size(), 1u) << quantity;
    EXPECT_EQ(result.differences[0].quantity, quantity);
    EXPECT_EQ(result.differences[0].name, "kws/1/2");
  }
  EXPECT_FALSE(compare_labels(std::vector{row("a/1/1")}, {}, tolerance).passed(tolerance));
}

TEST(LabelVerify, TimedLatenciesMayBeOffInATenthOfTheNetworks) {
  std::vector<LabelRow> labels;
  for (int i = 0; i < 20; ++i) {
    labels.push_back(row("kws/1/" + std::to_string(i)));
    labels.back().statistic = "min";
    labels.back().quantities["load_ms"] = 1;
  }
  const VerifyTolerance tolerance;
  std::vector<LabelRow> again = labels;
  for (LabelRow& r : again) {
    r.quantities["latency_ms"] *= 1.05;
    r.quantities["load_ms"] *= 3;
  }
  EXPECT_TRUE(compare_labels(labels, again, tolerance).passed(tolerance));
  for (int i = 0; i < 3; ++i) {
    again[static_cast<size_t>(i)].quantities["latency_ms"] = 2;
    const auto result = compare_labels(labels, again, tolerance);
    EXPECT_EQ(result.off_in_time, i + 1);
    EXPECT_EQ(result.passed(tolerance), i < 2);
  }
}

TEST(LabelVerify, TheChoiceDependsOnSeedAndSetAlone) {
  std::vector<LabelRow> rows;
  for (int i = 0; i < 50; ++i) rows.push_back(row("kws/1/" + std::to_string(i)));
  const auto first = names_of(choose_labels(rows, 10, 1));
  EXPECT_EQ(first.size(), 10u);
  std::reverse(rows.begin(), rows.end());
  EXPECT_EQ(names_of(choose_labels(rows, 10, 1)), first);
  EXPECT_NE(names_of(choose_labels(rows, 10, 2)), first);
  EXPECT_EQ(choose_labels(rows, 500, 1).size(), 50u);
}

}  // namespace
}  // namespace edgesage
