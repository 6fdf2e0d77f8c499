// Others' measurements by code: what is taken, what is refused and by which line.
#include "src/learn/label_import.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "src/base/file.h"
#include "src/graph/graph_hash.h"
#include "src/learn/dataset.h"
#include "src/lower/target.h"
#include "src/spaces/space.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

constexpr const char* kA = "0-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8";
constexpr const char* kB = "1-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8";
constexpr const char* kC = "2-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8";

LabelImport fbnet() {
  LabelImport import;
  import.space = "fbnet";
  import.code_column = "code";
  import.label_column = "ms";
  import.device = "phone";
  return import;
}

std::string error_of(const std::string& csv, const LabelImport& import) {
  const auto labels = import_labels(csv, "x.csv", import);
  EXPECT_FALSE(labels);
  if (labels) return {};
  EXPECT_EQ(labels.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(labels.error().to_string().find('\n'), std::string::npos);
  return labels.error().to_string();
}

TEST(LabelImport, NamesRebuildTheNetworksThatWereMeasured) {
  const std::string csv = fmt::format("code,other,ms\n{},x,1.5\n\n{},x,\n{},x,2e-1\n", kA, kB, kC);
  LabelImport import = fbnet();
  import.runtime = "tflite";
  import.statistic = "p50";
  const ImportedLabels labels = import_labels(csv, "x.csv", import).value();
  ASSERT_EQ(labels.rows.size(), 2U);
  EXPECT_EQ(labels.not_measured, 1);
  EXPECT_EQ(labels.rows[0].name, std::string("fbnet/") + kA);
  EXPECT_EQ(labels.rows[0].quantities.at("latency_ms"), 1.5);
  EXPECT_EQ(labels.rows[1].quantities.at("latency_ms"), 0.2);
  EXPECT_EQ(labels.rows[1].statistic, "p50");
  for (const LabelRow& row : labels.rows) {
    const Graph graph = build_network(NetworkName::parse(row.name).value()).value();
    EXPECT_EQ(graph_hash(graph), row.graph_hash);
  }
  // Through the file and back, and into a data set.
  const auto again = labels_from_csv(labels_to_csv(labels.rows), "y").value();
  ASSERT_EQ(again.size(), 2U);
  EXPECT_EQ(again[1].name, labels.rows[1].name);
  const std::vector<Quantity> quantities{Quantity::kLatencyMs};
  const auto dataset =
      build_dataset(again, target_from_name("litert-xnnpack").value(), quantities, 1);
  ASSERT_TRUE(dataset) << dataset.error().to_string();
  ASSERT_EQ(dataset->examples.size(), 2U);
  EXPECT_EQ(dataset->examples[0].space, "fbnet");
  EXPECT_EQ(dataset->examples[0].labels[0], 1.5);
}

TEST(LabelImport, VariantsArePartOfTheName) {
  LabelImport import = fbnet();
  import.resolution = 64;
  import.float32 = true;
  const auto labels = import_labels(fmt::format("code,ms\n{},1\n", kA), "x.csv", import).value();
  EXPECT_EQ(labels.rows[0].name, std::string("fbnet/") + kA + "@64@float32");
}

TEST(LabelImport, UnitsAreConvertedToTheQuantitys) {
  LabelImport import = fbnet();
  import.unit = "us";
  const auto labels = import_labels(fmt::format("code,ms\n{},250\n", kA), "x.csv", import).value();
  EXPECT_DOUBLE_EQ(labels.rows[0].quantities.at("latency_ms"), 0.25);
  EXPECT_EQ(unit_factor("energy_mj", "j").value(), 1000);
  EXPECT_EQ(unit_factor("energy_mj", "").value(), 1);
  EXPECT_EQ(unit_factor("peak_ram_bytes", "kib").value(), 1024);
  EXPECT_FALSE(unit_factor("latency_ms", "mj"));
  EXPECT_FALSE(unit_factor("latency", "ms"));
}

TEST(LabelImport, OfSeveralRowsOfANetworkTheLeastIsKept) {
  const std::string csv = fmt::format("code,ms\n{},3\n{},1\n{},2\n{},5\n", kA, kB, kA, kA);
  const auto labels = import_labels(csv, "x.csv", fbnet()).value();
  ASSERT_EQ(labels.rows.size(), 2U);
  EXPECT_EQ(labels.repeated, 2);
  EXPECT_EQ(labels.rows[0].quantities.at("latency_ms"), 2);
  EXPECT_EQ(labels.rows[0].repeats, 3);
}

TEST(LabelImport, LinesAreRefusedByNumber) {
  for (const char* label : {"0", "-1", "nan", "inf", "-inf", "1e999", "1.5ms", "x", "1,5", "0.0"}) {
    const std::string csv = fmt::format("code,ms\n{},1\n\n{},\"{}\"\n", kA, kB, label);
    EXPECT_NE(error_of(csv, fbnet()).find("x.csv:4:"), std::string::npos) << label;
  }
  EXPECT_NE(error_of(fmt::format("code,ms\n{},1\n9{},2\n", kA, kB), fbnet()).find("x.csv:3:"),
            std::string::npos);
  EXPECT_NE(error_of(fmt::format("code,ms\n{},0\nx,2\n{},-2\n", kA, kB), fbnet()).find("x.csv:2:"),
            std::string::npos);
  EXPECT_NE(
      error_of(fmt::format("code,ms\n{},0\nx,2\n{},-2\n", kA, kB), fbnet()).find("2 more lines"),
      std::string::npos);
}

TEST(LabelImport, ColumnsSpacesAndEmptyFilesAreNamed) {
  LabelImport import = fbnet();
  import.label_column = "milliseconds";
  EXPECT_NE(error_of("code,ms\n", import).find("there are code, ms"), std::string::npos);
  import = fbnet();
  import.space = "mobile-classifier";
  EXPECT_NE(error_of("code,ms\n", import).find("nas-bench-201"), std::string::npos);
  import = fbnet();
  import.code_column = "ms:code";
  EXPECT_NE(error_of("code,ms\n", import).find("not before"), std::string::npos);
  EXPECT_NE(error_of("", fbnet()).find("no column"), std::string::npos);
  EXPECT_NE(error_of("code,ms\n", fbnet()).find("no row"), std::string::npos);
  EXPECT_NE(error_of(fmt::format("code,ms\n{},\n", kA), fbnet()).find("no row"), std::string::npos);
}

TEST(LabelImport, TakesTheMeasurementsOfAllFourSpaces) {
  EDGESAGE_REQUIRE(test::data_dir(), "published measurements; set EDGESAGE_DATA_DIR");
  struct Case {
    const char *file, *space, *code, *label;
    size_t rows;
    int64_t constants, not_measured;
  };
  const Case cases[] = {
      {"nb201_pi5_energy.csv", "nas-bench-201", "arch_str", "pi5_litert_32x32_latency_ms", 15'284,
       341, 0},
      {"fbnet.csv", "fbnet", "op_idx_list", "samsung_s7_latency_ms", 5'000, 0, 0},
      {"ofa_mbv3.csv", "ofa-mobilenet-v3", "arch_json", "v100_latency_ms", 5'000, 0, 0},
      {"accel_nasbench.csv", "mnasnet-accel", "block0_e:block6_se", "zcu102_latency_ms", 5'123, 0,
       2},
  };
  for (const Case& one : cases) {
    LabelImport import;
    import.space = one.space;
    import.code_column = one.code;
    import.label_column = one.label;
    import.device = "device";
    const auto text = read_text(*test::data_dir() / "data" / one.file, ErrorCode::kInternal);
    const auto labels = import_labels(*text, one.file, import);
    ASSERT_TRUE(labels) << labels.error().to_string();
    fmt::print("{}: {} labels, {} constants, {} not measured\n", one.space, labels->rows.size(),
               labels->constants, labels->not_measured);
    EXPECT_EQ(labels->rows.size(), one.rows);
    EXPECT_EQ(labels->repeated, std::string(one.space) == "mnasnet-accel" ? 13 : 0);
    EXPECT_EQ(labels->constants, one.constants);
    EXPECT_EQ(labels->not_measured, one.not_measured);
  }
}

}  // namespace
}  // namespace edgesage
