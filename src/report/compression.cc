#include "src/report/compression.h"

#include <fmt/format.h>

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

}  // namespace

std::string compression_text(const CompressionTable& table) {
  TextTable text(kHeadings);
  for (const CompressionArm& row : table.rows) text.add(cells(row));
  std::string out = text.render();
  for (const std::string& what : table.unfinished) out += "not finished: " + what + "\n";
  return out;
}

std::string compression_markdown(const CompressionTable& table) {
  std::string head, rule, body;
  for (const std::string& heading : kHeadings) {
    const bool right = heading.starts_with('>');
    head += "| " + heading.substr(right ? 1 : 0) + " ";
    rule += right ? "|---:" : "|---";
  }
  for (const CompressionArm& row : table.rows) {
    for (const std::string& cell : cells(row)) body += "| " + cell + " ";
    body += "|\n";
  }
  return head + "|\n" + rule + "|\n" + body;
}

std::string compression_json(const CompressionTable& table) {
  return to_text({{"schema_version", kSchemaVersion},
                  {"rows", rows_json(table)},
                  {"unfinished", table.unfinished}},
                 2) +
         "\n";
}

std::string compression_csv(const CompressionTable& table) { return rows_csv(rows_json(table)); }

}  // namespace edgesage::report
