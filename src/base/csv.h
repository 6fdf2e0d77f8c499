// CSV with a header line (RFC 4180 quoting). Columns are looked up by name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "edgesage/result.h"

namespace edgesage {

struct CsvTable {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  // each as long as `columns`
  std::vector<size_t> lines;                   // where each row begins, from 1

  [[nodiscard]] std::optional<size_t> column(std::string_view name) const;
};

// Rows with another number of cells than the header are an error that names the line.
[[nodiscard]] Result<CsvTable> parse_csv(std::string_view text, std::string_view where,
                                         ErrorCode code);

// Quotes where needed.
[[nodiscard]] std::string csv_cell(std::string_view text);

}  // namespace edgesage
