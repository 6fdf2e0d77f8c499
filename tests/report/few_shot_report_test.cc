#include "src/report/few_shot.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "src/base/csv.h"
#include "src/base/json.h"
#include "src/report/compression.h"

namespace edgesage::report {
namespace {

FewShotTable two_rows() {
  FewShotResult process;
  process.set = "a, b";
  process.device = "board";
  process.quantity = "latency_ms";
  process.model = "process";
  process.labels = 100;
  process.mape = 4.25;
  process.coverage = {51, 80.5, 90, 95};
  process.half_width_90 = std::numeric_limits<double>::infinity();
  FewShotResult control = process;
  control.model = "constant";
  control.coverage.clear();
  control.half_width_90.reset();
  return {{process, control}};
}

// Cells by the name of their column, one map a row.
std::vector<std::map<std::string, std::string>> parsed(const std::string& text) {
  const auto table = parse_csv(text, "report", ErrorCode::kBadStore);
  EXPECT_TRUE(table.has_value());
  std::vector<std::map<std::string, std::string>> rows;
  if (!table) return rows;
  for (const auto& cells : table->rows) {
    rows.emplace_back();
    for (size_t c = 0; c < cells.size(); ++c) rows.back()[table->columns[c]] = cells[c];
  }
  return rows;
}

TEST(FewShotReport, CsvHasARowAModelWithAColumnAnInterval) {
  const auto rows = parsed(few_shot_csv(two_rows()));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].at("set"), "a, b");
  EXPECT_EQ(rows[0].at("n_train"), "100");
  EXPECT_EQ(rows[0].at("mape"), "4.25");
  EXPECT_EQ(rows[0].at("coverage_80"), "80.5");
  EXPECT_FALSE(rows[0].contains("coverage"));
}

TEST(FewShotReport, CsvLeavesWhatIsNotKnownEmpty) {
  const auto rows = parsed(few_shot_csv(two_rows()));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].at("half_width_90"), "");  // too few labels for the level
  EXPECT_EQ(rows[1].at("coverage_50"), "");
  EXPECT_EQ(rows[1].at("left_out"), "");
  EXPECT_EQ(few_shot_csv({}), "");
}

TEST(FewShotReport, CompressionHasCsvToo) {
  CompressionArm arm;
  arm.network = "net";
  arm.arm = "random";
  arm.hypervolume = 0.5;
  const auto rows = parsed(compression_csv({{arm}, {}, {}}));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].at("arm"), "random");
  EXPECT_EQ(rows[0].at("hypervolume"), "0.5");
  EXPECT_EQ(rows[0].at("mape"), "");
}

TEST(FewShotReport, CompressionTellsStepsOfTheDeviceBesideThoseForetold) {
  CompressionStaircase stairs{.network = "net", .device = "npu", .group = "width of operator 3"};
  stairs.widths = {30, 31, 32};
  stairs.predicted_ms = {1.1, 2.2, 2.2};
  stairs.measured_ms = {1, 2, 2};
  stairs.predicted_steps = {30, 31, 32};
  stairs.measured_steps = {30, 32};
  const CompressionTable table{{}, {stairs}, {}};
  EXPECT_NE(compression_markdown(table).find(
                "| net | npu | width of operator 3 | 30 to 32 | 10.00 | 2 | 3 | 2 |"),
            std::string::npos)
      << compression_markdown(table);
  EXPECT_NE(compression_text(table).find("30 to 32"), std::string::npos);
  const auto json = parse_json(compression_json(table), "", ErrorCode::kInternal).value();
  EXPECT_EQ(json["staircases"][0]["measured_steps"], (std::vector<int>{30, 32}));
}

}  // namespace
}  // namespace edgesage::report
