#include "src/report/few_shot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "src/report/json_common.h"
#include "src/report/text_table.h"

namespace edgesage::report {
namespace {

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

using Row = FewShotResult;

// A column, and whether a row gives it reason to be shown.
struct Column {
  const char* heading;  // '>' before it: numbers, to the right
  std::string (*cell)(const Row&);
  bool (*needed)(const Row&) = [](const Row&) { return true; };
};

bool left_out(const Row& row) { return !row.left_out.empty(); }
bool has_range(const Row& row) { return row.flagged_known.has_value(); }

std::string whole(int64_t value) { return fmt::format("{}", value); }

constexpr Column kColumns[] = {
    {"set", [](const Row& r) { return r.set; }},
    {">labels", [](const Row& r) { return whole(r.labels); }},
    {"drawn", [](const Row& r) { return r.draw; }, [](const Row& r) { return r.draw != "random"; }},
    {"left out", [](const Row& r) { return r.left_out; }, left_out},
    {">of it", [](const Row& r) { return whole(r.own); }, left_out},
    {"model", [](const Row& r) { return r.model; }},
    {"device",
     [](const Row& r) {
       return r.quantity == "latency_ms" ? r.device : r.device + " " + r.quantity;
     }},
    {">seeds", [](const Row& r) { return whole(r.seeds); }},
    {">tested", [](const Row& r) { return whole(r.n_test); }},
    {">within 10 %",
     [](const Row& r) { return with_spread(r.within_10, r.within_10_spread, r.seeds, 1); }},
    {">MAPE %", [](const Row& r) { return with_spread(r.mape, r.mape_spread, r.seeds, 2); }},
    {">median", [](const Row& r) { return fmt::format("{:.2f}", r.median_ape); }},
    {">p95", [](const Row& r) { return fmt::format("{:.1f}", r.p95_ape); }},
    {">Spearman", [](const Row& r) { return figure(r.spearman, 4); }},
    {"covered", [](const Row& r) { return coverages(r); }},
    {">half width %", [](const Row& r) { return figure(r.half_width_90, 1); }},
    {">known: median", [](const Row& r) { return figure(r.median_ape_known, 2); }, has_range},
    {">known: 90 % covers", [](const Row& r) { return figure(r.coverage_90_known, 1); }, has_range},
    {">known: half width %", [](const Row& r) { return figure(r.half_width_90_known, 1); },
     has_range},
    {">flagged known %", [](const Row& r) { return figure(r.flagged_known, 1); }, has_range},
    {">flagged left out %", [](const Row& r) { return figure(r.flagged_left_out, 1); }, has_range},
    {">AUROC", [](const Row& r) { return figure(r.auroc, 3); }, has_range},
    {">s", [](const Row& r) { return fmt::format("{:.2f}", r.seconds); }},
};

std::vector<const Column*> columns_of(const FewShotTable& table) {
  std::vector<const Column*> columns;
  for (const Column& column : kColumns)
    if (table.rows.empty() ? column.needed(Row{}) : std::ranges::any_of(table.rows, column.needed))
      columns.push_back(&column);
  return columns;
}

Json row_json(const Row& row) {
  return {{"set", row.set},
          {"device", row.device},
          {"quantity", row.quantity},
          {"model", row.model},
          {"draw", row.draw},
          {"left_out", row.left_out.empty() ? Json(nullptr) : Json(row.left_out)},
          {"own", row.own},
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
          {"seconds", row.seconds},
          {"auroc", or_null(row.auroc)},
          {"flagged_known", or_null(row.flagged_known)},
          {"flagged_left_out", or_null(row.flagged_left_out)},
          {"median_ape_known", or_null(row.median_ape_known)},
          {"coverage_90_known", or_null(row.coverage_90_known)},
          {"half_width_90_known", or_null(row.half_width_90_known)}};
}

}  // namespace

std::string few_shot_text(const FewShotTable& table) {
  const std::vector<const Column*> columns = columns_of(table);
  std::vector<std::string> headings;
  for (const Column* column : columns) headings.emplace_back(column->heading);
  TextTable text(headings);
  for (const Row& row : table.rows) {
    std::vector<std::string> cells;
    for (const Column* column : columns) cells.push_back(column->cell(row));
    text.add(cells);
  }
  return text.render();
}

std::string few_shot_markdown(const FewShotTable& table) {
  const std::vector<const Column*> columns = columns_of(table);
  std::string text = "|", line = "|";
  for (const Column* column : columns) {
    const std::string_view heading = column->heading;
    const bool right = heading.starts_with('>');
    text += fmt::format(" {} |", right ? heading.substr(1) : heading);
    line += right ? "---:|" : "---|";
  }
  text += '\n' + line + '\n';
  for (const Row& row : table.rows) {
    text += '|';
    for (const Column* column : columns) text += fmt::format(" {} |", column->cell(row));
    text += '\n';
  }
  return text;
}

std::string few_shot_json(const FewShotTable& table) {
  Json rows = Json::array();
  for (const Row& row : table.rows) rows.push_back(row_json(row));
  return to_text({{"schema_version", kSchemaVersion}, {"rows", rows}}, 2) + '\n';
}

std::string few_shot_csv(const FewShotTable& table) {
  Json rows = Json::array();
  for (const Row& row : table.rows) {
    Json cells = object_with_room(40);
    const Json fields = row_json(row);
    for (const auto& [name, value] : fields.items()) {
      if (name != "coverage") {
        cells[name] = value;
        continue;
      }
      constexpr std::array<std::string_view, 4> kLevels{"50", "80", "90", "95"};
      for (size_t level = 0; level < kLevels.size(); ++level)
        cells[fmt::format("coverage_{}", kLevels[level])] =
            level < row.coverage.size() ? Json(row.coverage[level]) : Json(nullptr);
    }
    rows.push_back(std::move(cells));
  }
  return rows_csv(rows);
}

}  // namespace edgesage::report
