#include "src/report/few_shot.h"

#include <fmt/format.h>

#include "src/report/json_common.h"
#include "src/report/text_table.h"

namespace edgesage::report {
namespace {

std::string figure(const std::optional<double>& value, int places) {
  return value ? fmt::format("{:.{}f}", *value, places) : "";
}

std::string with_spread(double value, double spread, int64_t seeds, int places) {
  return seeds > 1 ? fmt::format("{:.{}f} +-{:.{}f}", value, places, spread, places)
                   : fmt::format("{:.{}f}", value, places);
}

// Coverages of the 50, 80, 90 and 95 % intervals in one cell.
std::string coverages(const FewShotResult& row) {
  std::string text;
  for (const double coverage : row.coverage)
    text += fmt::format("{}{:.0f}", text.empty() ? "" : " ", coverage);
  return text;
}

const std::vector<std::string>& headings() {
  static const std::vector<std::string> kHeadings{
      "set",     ">labels", "model", "device",    ">seeds",  ">tested",       ">within 10 %",
      ">MAPE %", ">median", ">p95",  ">Spearman", "covered", ">half width %", ">s"};
  return kHeadings;
}

std::vector<std::string> cells(const FewShotResult& row) {
  return {row.set,
          fmt::format("{}", row.labels),
          row.model,
          row.quantity == "latency_ms" ? row.device : row.device + " " + row.quantity,
          fmt::format("{}", row.seeds),
          fmt::format("{}", row.n_test),
          with_spread(row.within_10, row.within_10_spread, row.seeds, 1),
          with_spread(row.mape, row.mape_spread, row.seeds, 2),
          fmt::format("{:.2f}", row.median_ape),
          fmt::format("{:.1f}", row.p95_ape),
          figure(row.spearman, 4),
          coverages(row),
          figure(row.half_width_90, 1),
          fmt::format("{:.2f}", row.seconds)};
}

}  // namespace

std::string few_shot_text(const FewShotTable& table) {
  TextTable text(headings());
  for (const FewShotResult& row : table.rows) text.add(cells(row));
  return text.render();
}

std::string few_shot_markdown(const FewShotTable& table) {
  std::string text = "|", line = "|";
  for (const std::string& heading : headings()) {
    const bool right = heading.starts_with('>');
    text += fmt::format(" {} |", right ? heading.substr(1) : heading);
    line += right ? "---:|" : "---|";
  }
  text += '\n' + line + '\n';
  for (const FewShotResult& row : table.rows) {
    text += '|';
    for (const std::string& cell : cells(row)) text += fmt::format(" {} |", cell);
    text += '\n';
  }
  return text;
}

std::string few_shot_json(const FewShotTable& table) {
  Json rows = Json::array();
  for (const FewShotResult& row : table.rows)
    rows.push_back({{"set", row.set},
                    {"device", row.device},
                    {"quantity", row.quantity},
                    {"model", row.model},
                    {"n_train", row.labels},
                    {"n_test", row.n_test},
                    {"seeds", row.seeds},
                    {"mape", row.mape},
                    {"median_ape", row.median_ape},
                    {"p95_ape", row.p95_ape},
                    {"within_1", row.within_1},
                    {"within_5", row.within_5},
                    {"within_10", row.within_10},
                    {"within_10_spread", row.within_10_spread},
                    {"mape_spread", row.mape_spread},
                    {"spearman", or_null(row.spearman)},
                    {"kendall", or_null(row.kendall)},
                    {"coverage", row.coverage},
                    {"half_width_90", or_null(row.half_width_90)},
                    {"smoother_share", or_null(row.smoother_share)},
                    {"seconds", row.seconds}});
  return to_text({{"schema_version", kSchemaVersion}, {"rows", rows}}, 2) + '\n';
}

}  // namespace edgesage::report
