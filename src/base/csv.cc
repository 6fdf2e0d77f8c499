#include "src/base/csv.h"

#include <fmt/format.h>

#include <algorithm>

namespace edgesage {

std::optional<size_t> CsvTable::column(std::string_view name) const {
  const auto it = std::find(columns.begin(), columns.end(), name);
  if (it == columns.end()) return std::nullopt;
  return static_cast<size_t>(it - columns.begin());
}

Result<CsvTable> parse_csv(std::string_view text, std::string_view where, ErrorCode code) {
  CsvTable table;
  std::vector<std::string> cells(1);
  size_t line = 1, row_line = 1;
  bool quoted = false, row_has_text = false;
  Status status;
  const auto end_row = [&] {
    if (!row_has_text && cells.size() == 1) {
      // A blank line.
    } else if (table.columns.empty()) {
      table.columns = cells;
    } else if (cells.size() != table.columns.size()) {
      if (status)
        status = make_error(
            code, fmt::format("{}:{}", where, row_line),
            fmt::format("{} cells; the header has {}", cells.size(), table.columns.size()));
    } else {
      table.rows.push_back(cells);
      table.lines.push_back(row_line);
    }
    cells.assign(1, {});
    row_has_text = false;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') ++line;
    if (quoted) {
      if (c != '"') {
        cells.back() += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        cells.back() += c;
        ++i;
      } else {
        quoted = false;
      }
    } else if (c == '"') {
      quoted = true;
      row_has_text = true;
    } else if (c == ',') {
      cells.emplace_back();
      row_has_text = true;
    } else if (c == '\n') {
      end_row();
      row_line = line;
    } else if (c != '\r') {
      cells.back() += c;
      row_has_text = true;
    }
  }
  if (quoted)
    return make_error(code, fmt::format("{}:{}", where, row_line), "a quote is never closed");
  end_row();
  EDGESAGE_RETURN_IF_ERROR(status);
  return table;
}

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string cell = "\"";
  for (const char c : text) {
    if (c == '"') cell += '"';
    cell += c;
  }
  return cell + '"';
}

}  // namespace edgesage
