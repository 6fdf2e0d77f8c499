#include "src/learn/few_shot_results.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "src/base/csv.h"
#include "src/base/file.h"

namespace edgesage {
namespace {

// A figure of a row: how it is called, what it is, and its scale in the file.
struct Column {
  const char* name;
  double scale;
  double (*get)(const FewShotRow&);
  void (*set)(FewShotRow&, double);
};

constexpr Column kColumns[] = {
    {"mape", 100, [](const FewShotRow& r) { return r.accuracy.mape; },
     [](FewShotRow& r, double v) { r.accuracy.mape = v; }},
    {"median_ape", 100, [](const FewShotRow& r) { return r.accuracy.median_ape; },
     [](FewShotRow& r, double v) { r.accuracy.median_ape = v; }},
    {"p95_ape", 100, [](const FewShotRow& r) { return r.accuracy.p95_ape; },
     [](FewShotRow& r, double v) { r.accuracy.p95_ape = v; }},
    {"within_1", 100, [](const FewShotRow& r) { return r.accuracy.within_1; },
     [](FewShotRow& r, double v) { r.accuracy.within_1 = v; }},
    {"within_5", 100, [](const FewShotRow& r) { return r.accuracy.within_5; },
     [](FewShotRow& r, double v) { r.accuracy.within_5 = v; }},
    {"within_10", 100, [](const FewShotRow& r) { return r.accuracy.within_10; },
     [](FewShotRow& r, double v) { r.accuracy.within_10 = v; }},
    {"spearman", 1, [](const FewShotRow& r) { return r.accuracy.spearman; },
     [](FewShotRow& r, double v) { r.accuracy.spearman = v; }},
    {"kendall", 1, [](const FewShotRow& r) { return r.accuracy.kendall; },
     [](FewShotRow& r, double v) { r.accuracy.kendall = v; }},
    {"best_5_recall", 100, [](const FewShotRow& r) { return r.accuracy.best_5_recall; },
     [](FewShotRow& r, double v) { r.accuracy.best_5_recall = v; }},
    {"smoother_share", 1, [](const FewShotRow& r) { return r.smoother_share; },
     [](FewShotRow& r, double v) { r.smoother_share = v; }},
    {"auroc", 1, [](const FewShotRow& r) { return r.range.auroc; },
     [](FewShotRow& r, double v) { r.range.auroc = v; }},
    {"flagged_known", 100, [](const FewShotRow& r) { return r.range.flagged_known; },
     [](FewShotRow& r, double v) { r.range.flagged_known = v; }},
    {"flagged_left_out", 100, [](const FewShotRow& r) { return r.range.flagged_left_out; },
     [](FewShotRow& r, double v) { r.range.flagged_left_out = v; }},
    {"median_ape_known", 100, [](const FewShotRow& r) { return r.range.median_ape_known; },
     [](FewShotRow& r, double v) { r.range.median_ape_known = v; }},
    {"coverage_90_known", 100, [](const FewShotRow& r) { return r.range.coverage_90_known; },
     [](FewShotRow& r, double v) { r.range.coverage_90_known = v; }},
    {"half_width_90_known", 100, [](const FewShotRow& r) { return r.range.half_width_90_known; },
     [](FewShotRow& r, double v) { r.range.half_width_90_known = v; }},
    {"seconds", 1, [](const FewShotRow& r) { return r.seconds; },
     [](FewShotRow& r, double v) { r.seconds = v; }},
};

std::string number(double value) {
  return std::isfinite(value) ? fmt::format("{:.4f}", value) : std::string();
}

double parsed(const std::string& text) {
  double value = std::numeric_limits<double>::quiet_NaN();
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string level_name(const char* what, double level) {
  return fmt::format("{}_{:.0f}", what, 100 * level);
}

}  // namespace

std::string few_shot_csv(std::span<const FewShotRow> rows) {
  std::string text = "set,device,quantity,model,draw,left_out,own,n,seed,n_test";
  for (const Column& column : kColumns) text += fmt::format(",{}", column.name);
  for (const double level : kLevels) text += fmt::format(",{}", level_name("coverage", level));
  for (const double level : kLevels) text += fmt::format(",{}", level_name("half_width", level));
  text += '\n';
  for (const FewShotRow& row : rows) {
    text += fmt::format("{},{},{},{},{},{},{},{},{},{}", csv_cell(row.set), csv_cell(row.device),
                        row.quantity, row.model, row.draw, row.left_out, row.own, row.n, row.seed,
                        row.accuracy.count);
    for (const Column& column : kColumns)
      text += fmt::format(",{}", number(column.scale * column.get(row)));
    for (const auto* values : {&row.coverage, &row.half_width})
      for (size_t i = 0; i < std::size(kLevels); ++i)
        text += fmt::format(",{}", i < values->size() ? number(100 * (*values)[i]) : std::string());
    text += '\n';
  }
  return text;
}

Result<std::vector<FewShotRow>> read_few_shot_rows(const std::filesystem::path& path) {
  std::vector<FewShotRow> rows;
  if (!std::filesystem::exists(path)) return rows;
  EDGESAGE_ASSIGN_OR_RETURN(const std::string text, read_text(path, ErrorCode::kBadStore));
  EDGESAGE_ASSIGN_OR_RETURN(const CsvTable table,
                            parse_csv(text, path.string(), ErrorCode::kBadStore));
  const auto at = [&](size_t row, std::string_view name) -> std::string {
    const auto column = table.column(name);
    return column ? table.rows[row][*column] : std::string();
  };
  for (size_t i = 0; i < table.rows.size(); ++i) {
    FewShotRow row;
    row.set = at(i, "set");
    row.device = at(i, "device");
    row.quantity = at(i, "quantity");
    row.model = at(i, "model");
    // Files of before there was a choice have only random draws.
    row.draw = at(i, "draw").empty() ? "random" : at(i, "draw");
    row.left_out = at(i, "left_out");
    row.own = static_cast<size_t>(std::max(0.0, parsed(at(i, "own"))));
    const double n = parsed(at(i, "n")), seed = parsed(at(i, "seed")),
                 tests = parsed(at(i, "n_test"));
    if (row.model.empty() || !(n > 0) || !(seed >= 0) || !(tests >= 0))
      return make_error(
          ErrorCode::kBadStore, path.string(),
          fmt::format("row {} is not one of a few-shot evaluation: remove the file to "
                      "start again",
                      i + 1));
    row.n = static_cast<size_t>(n);
    row.seed = static_cast<uint64_t>(seed);
    row.accuracy.count = static_cast<size_t>(tests);
    for (const Column& column : kColumns)
      column.set(row, parsed(at(i, column.name)) / column.scale);
    for (const double level : kLevels) {
      const double coverage = parsed(at(i, level_name("coverage", level)));
      if (std::isnan(coverage)) continue;
      row.coverage.push_back(coverage / 100);
      const double width = parsed(at(i, level_name("half_width", level)));
      row.half_width.push_back(std::isnan(width) ? std::numeric_limits<double>::infinity()
                                                 : width / 100);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Status write_few_shot_rows(std::span<const FewShotRow> rows, const std::filesystem::path& path) {
  return write_text(path, few_shot_csv(rows));
}

}  // namespace edgesage
