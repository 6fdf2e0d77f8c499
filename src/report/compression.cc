#include "src/report/compression.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "src/report/json_common.h"
#include "src/report/text_table.h"

namespace edgesage::report {
namespace {

const std::vector<std::string> kHeadings{
    "network",         "device",    "arm",           ">seed",    ">evaluations",
    ">device runs",    ">seconds",  ">front",        ">MAPE, %", ">hypervolume",
    ">of hardware, %", ">noise, %", ">gap closed, %"};

std::vector<std::string> cells(const CompressionArm& row) {
  return {row.network,
          row.device,
          row.arm,
          fmt::format("{}", row.seed),
          fmt::format("{}", row.evaluations),
          fmt::format("{}", row.device_runs),
          fmt::format("{:.1f}", row.seconds),
          fmt::format("{}", row.front),
          figure(row.mape, 2),
          fmt::format("{:.4f}", row.hypervolume),
          row.of_hardware > 0 ? fmt::format("{:.2f}", row.of_hardware) : "",
          figure(row.noise_percent, 3),
          figure(row.gap_closed, 1)};
}

Json row_json(const CompressionArm& row) {
  return {{"network", row.network},
          {"device", row.device},
          {"arm", row.arm},
          {"seed", row.seed},
          {"evaluations", row.evaluations},
          {"device_runs", row.device_runs},
          {"seconds", row.seconds},
          {"front", row.front},
          {"mape", or_null(row.mape)},
          {"hypervolume", row.hypervolume},
          {"of_hardware", row.of_hardware},
          {"noise_percent", or_null(row.noise_percent)},
          {"gap_closed", or_null(row.gap_closed)}};
}

Json rows_json(const CompressionTable& table) {
  Json rows = Json::array();
  for (const CompressionArm& row : table.rows) rows.push_back(row_json(row));
  return rows;
}

const std::vector<std::string> kStairHeadings{"network",  "device", "group",     ">widths",
                                              ">MAPE, %", ">steps", ">foretold", ">of them right"};

Json staircase_json(const CompressionStaircase& stairs) {
  return {{"network", stairs.network},
          {"device", stairs.device},
          {"group", stairs.group},
          {"widths", stairs.widths},
          {"predicted_ms", stairs.predicted_ms},
          {"measured_ms", stairs.measured_ms},
          {"predicted_steps", stairs.predicted_steps},
          {"measured_steps", stairs.measured_steps}};
}

std::vector<std::string> stair_cells(const CompressionStaircase& stairs) {
  double error = 0;
  for (size_t i = 0; i < stairs.widths.size(); ++i)
    error += std::abs(stairs.predicted_ms[i] / stairs.measured_ms[i] - 1);
  const auto right = std::ranges::count_if(stairs.predicted_steps, [&](int32_t width) {
    return std::ranges::find(stairs.measured_steps, width) != stairs.measured_steps.end();
  });
  return {stairs.network,
          stairs.device,
          stairs.group,
          stairs.widths.empty()
              ? ""
              : fmt::format("{} to {}", stairs.widths.front(), stairs.widths.back()),
          stairs.widths.empty()
              ? ""
              : fmt::format("{:.2f}", 100 * error / static_cast<double>(stairs.widths.size())),
          fmt::format("{}", stairs.measured_steps.size()),
          fmt::format("{}", stairs.predicted_steps.size()),
          fmt::format("{}", right)};
}

std::string markdown(const std::vector<std::string>& headings,
                     const std::vector<std::vector<std::string>>& lines) {
  std::string head, rule, body;
  for (const std::string& heading : headings) {
    const bool right = heading.starts_with('>');
    head += fmt::format("| {} ", std::string_view(heading).substr(right ? 1 : 0));
    rule += right ? "|---:" : "|---";
  }
  for (const auto& line : lines) {
    for (const std::string& cell : line) body += fmt::format("| {} ", cell);
    body += "|\n";
  }
  return head + "|\n" + rule + "|\n" + body;
}

}  // namespace

std::string compression_text(const CompressionTable& table) {
  TextTable text(kHeadings);
  for (const CompressionArm& row : table.rows) text.add(cells(row));
  std::string out = text.render();
  if (!table.staircases.empty()) {
    TextTable stairs(kStairHeadings);
    for (const CompressionStaircase& one : table.staircases) stairs.add(stair_cells(one));
    out += '\n';
    out += stairs.render();
  }
  for (const std::string& what : table.unfinished) out += "not finished: " + what + "\n";
  return out;
}

std::string compression_markdown(const CompressionTable& table) {
  std::vector<std::vector<std::string>> rows, stairs;
  for (const CompressionArm& row : table.rows) rows.push_back(cells(row));
  for (const CompressionStaircase& one : table.staircases) stairs.push_back(stair_cells(one));
  std::string out = markdown(kHeadings, rows);
  if (!stairs.empty()) {
    out += '\n';
    out += markdown(kStairHeadings, stairs);
  }
  return out;
}

std::string compression_json(const CompressionTable& table) {
  Json staircases = Json::array();
  for (const CompressionStaircase& one : table.staircases)
    staircases.push_back(staircase_json(one));
  return to_text({{"schema_version", kSchemaVersion},
                  {"rows", rows_json(table)},
                  {"staircases", std::move(staircases)},
                  {"unfinished", table.unfinished}},
                 2) +
         "\n";
}

std::string compression_csv(const CompressionTable& table) { return rows_csv(rows_json(table)); }

}  // namespace edgesage::report
