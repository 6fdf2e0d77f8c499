// The results of protocol "edgedlperf" as CSV, so that a run goes on where another ended.
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "src/base/csv.h"
#include "src/base/file.h"
#include "src/base/text.h"
#include "src/learn/many_spaces.h"

namespace edgesage {
namespace {

struct Figure {
  const char* name;
  double scale;  // in the file
  double (*get)(const SpacesRow&);
  void (*set)(SpacesRow&, double);
};

constexpr Figure kFigures[] = {
    {"own", 1, [](const SpacesRow& r) { return static_cast<double>(r.task.own); },
     [](SpacesRow& r, double v) { r.task.own = static_cast<size_t>(v); }},
    {"most", 1, [](const SpacesRow& r) { return static_cast<double>(r.task.most); },
     [](SpacesRow& r, double v) { r.task.most = static_cast<size_t>(v); }},
    {"seed", 1, [](const SpacesRow& r) { return static_cast<double>(r.task.seed); },
     [](SpacesRow& r, double v) { r.task.seed = r.row.seed = static_cast<uint64_t>(v); }},
    {"n_train", 1, [](const SpacesRow& r) { return static_cast<double>(r.row.n_train); },
     [](SpacesRow& r, double v) { r.row.n_train = static_cast<size_t>(v); }},
    {"n_test", 1, [](const SpacesRow& r) { return static_cast<double>(r.row.accuracy.count); },
     [](SpacesRow& r, double v) { r.row.accuracy.count = static_cast<size_t>(v); }},
    {"mape", 100, [](const SpacesRow& r) { return r.row.accuracy.mape; },
     [](SpacesRow& r, double v) { r.row.accuracy.mape = v; }},
    {"median_ape", 100, [](const SpacesRow& r) { return r.row.accuracy.median_ape; },
     [](SpacesRow& r, double v) { r.row.accuracy.median_ape = v; }},
    {"p95_ape", 100, [](const SpacesRow& r) { return r.row.accuracy.p95_ape; },
     [](SpacesRow& r, double v) { r.row.accuracy.p95_ape = v; }},
    {"within_1", 100, [](const SpacesRow& r) { return r.row.accuracy.within_1; },
     [](SpacesRow& r, double v) { r.row.accuracy.within_1 = v; }},
    {"within_5", 100, [](const SpacesRow& r) { return r.row.accuracy.within_5; },
     [](SpacesRow& r, double v) { r.row.accuracy.within_5 = v; }},
    {"within_10", 100, [](const SpacesRow& r) { return r.row.accuracy.within_10; },
     [](SpacesRow& r, double v) { r.row.accuracy.within_10 = v; }},
    {"worst_under", 100, [](const SpacesRow& r) { return r.row.accuracy.worst_under; },
     [](SpacesRow& r, double v) { r.row.accuracy.worst_under = v; }},
    {"spearman", 1, [](const SpacesRow& r) { return r.row.accuracy.spearman; },
     [](SpacesRow& r, double v) { r.row.accuracy.spearman = v; }},
    {"kendall", 1, [](const SpacesRow& r) { return r.row.accuracy.kendall; },
     [](SpacesRow& r, double v) { r.row.accuracy.kendall = v; }},
    {"best_5_recall", 100, [](const SpacesRow& r) { return r.row.accuracy.best_5_recall; },
     [](SpacesRow& r, double v) { r.row.accuracy.best_5_recall = v; }},
    {"coverage_90", 100, [](const SpacesRow& r) { return r.row.coverage_90; },
     [](SpacesRow& r, double v) { r.row.coverage_90 = v; }},
    {"half_width_90", 100, [](const SpacesRow& r) { return r.row.half_width_90; },
     [](SpacesRow& r, double v) { r.row.half_width_90 = v; }},
    {"flagged", 100, [](const SpacesRow& r) { return r.row.flagged; },
     [](SpacesRow& r, double v) { r.row.flagged = v; }},
    {"mape_unflagged", 100, [](const SpacesRow& r) { return r.row.mape_unflagged; },
     [](SpacesRow& r, double v) { r.row.mape_unflagged = v; }},
    {"seconds", 1, [](const SpacesRow& r) { return r.seconds; },
     [](SpacesRow& r, double v) { r.seconds = v; }},
    {"truth", 1, [](const SpacesRow& r) { return r.truth; },
     [](SpacesRow& r, double v) { r.truth = v; }},
    {"predicted", 1, [](const SpacesRow& r) { return r.predicted; },
     [](SpacesRow& r, double v) { r.predicted = v; }},
};

struct Text {
  const char* name;
  std::string& (*of)(SpacesRow&);
};

constexpr Text kTexts[] = {
    {"device", [](SpacesRow& r) -> std::string& { return r.row.device; }},
    {"setting", [](SpacesRow& r) -> std::string& { return r.task.setting; }},
    {"variant", [](SpacesRow& r) -> std::string& { return r.task.variant; }},
    {"left_out", [](SpacesRow& r) -> std::string& { return r.task.left_out; }},
    {"space", [](SpacesRow& r) -> std::string& { return r.row.space; }},
    {"quantity", [](SpacesRow& r) -> std::string& { return r.row.quantity; }},
    {"model", [](SpacesRow& r) -> std::string& { return r.row.model; }},
    {"placement", [](SpacesRow& r) -> std::string& { return r.row.placement; }},
    {"note", [](SpacesRow& r) -> std::string& { return r.note; }},
};

// Figures of a predictor that other models do not have are below zero in memory.
bool is_known(const Figure& figure, double value) {
  return std::isfinite(value) && (value >= 0 || figure.scale == 1);
}

}  // namespace

bool has_task(std::span<const SpacesRow> rows, const std::string& device, const SpacesTask& task) {
  for (const SpacesRow& row : rows)
    if (row.row.device == device && row.task.setting == task.setting &&
        row.task.variant == task.variant && row.task.left_out == task.left_out &&
        row.task.own == task.own && row.task.most == task.most && row.task.seed == task.seed)
      return true;
  return false;
}

Result<std::vector<SpacesRow>> read_spaces_rows(const std::filesystem::path& path) {
  std::vector<SpacesRow> rows;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return rows;
  EDGESAGE_ASSIGN_OR_RETURN(const std::string text, read_text(path, ErrorCode::kBadStore));
  EDGESAGE_ASSIGN_OR_RETURN(const CsvTable table,
                            parse_csv(text, path.string(), ErrorCode::kBadStore));
  for (size_t r = 0; r < table.rows.size(); ++r) {
    SpacesRow& row = rows.emplace_back();
    for (const Text& entry : kTexts)
      if (const auto column = table.column(entry.name)) entry.of(row) = table.rows[r][*column];
    for (const Figure& figure : kFigures) {
      const auto column = table.column(figure.name);
      if (!column || table.rows[r][*column].empty()) continue;
      const std::string& cell = table.rows[r][*column];
      double value = 0;
      const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
      if (error != std::errc() || end != cell.data() + cell.size())
        return make_error(ErrorCode::kBadStore, path.string(),
                          fmt::format("line {}, column {}: \"{}\" is not a number", table.lines[r],
                                      figure.name, cell));
      figure.set(row, value / figure.scale);
    }
  }
  return rows;
}

Status write_spaces_rows(std::span<const SpacesRow> rows, const std::filesystem::path& path) {
  std::vector<std::string> cells;
  for (const Text& entry : kTexts) cells.emplace_back(entry.name);
  for (const Figure& figure : kFigures) cells.emplace_back(figure.name);
  std::string text = join(cells, ",") + '\n';
  for (SpacesRow row : rows) {
    cells.clear();
    for (const Text& entry : kTexts) cells.push_back(csv_cell(entry.of(row)));
    for (const Figure& figure : kFigures) {
      const double value = figure.get(row);
      cells.push_back(is_known(figure, value) ? fmt::format("{:.6g}", value * figure.scale) : "");
    }
    text += join(cells, ",") + '\n';
  }
  return write_text(path, text);
}

}  // namespace edgesage
