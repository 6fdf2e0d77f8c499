// Tables for people: columns as wide as their cells, two blanks between them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace edgesage::report {

class TextTable {
 public:
  // A heading that starts with '>' is right-aligned (and loses the '>').
  explicit TextTable(std::vector<std::string> headings, size_t cell_limit = 60);
  // Missing cells are blank; cells are cut to the limit. Characters of a terminal's control
  // sequences in names are replaced.
  void add(std::vector<std::string> cells);
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  // Lines with line ends; each starts with `indent`. Columns without any cell are left out.
  [[nodiscard]] std::string render(std::string_view indent = "") const;
  // The same as a table of Markdown.
  [[nodiscard]] std::string markdown() const;

 private:
  [[nodiscard]] std::vector<size_t> used_columns() const;

  std::vector<std::string> headings_;
  size_t cell_limit_;
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

// Cuts at `limit` characters with "..." in the middle, and replaces what is not printable ASCII.
[[nodiscard]] std::string shown(std::string_view text, size_t limit = 60);

// Names of files and operators as Markdown: nothing in them is a mark or a tag.
[[nodiscard]] std::string markdown_text(std::string_view text, size_t limit = 60);

// "1x96x96x3", "scalar", "?x96" (dynamic), "unranked"
[[nodiscard]] std::string shape_text(const std::vector<int64_t>& shape, bool has_rank = true);

// 1,234,567
[[nodiscard]] std::string grouped(int64_t value);
// Empty optionals are "-".
[[nodiscard]] std::string grouped(std::optional<int64_t> value);

// Four significant digits, no exponent for the sizes that occur: "12.34", "0.001234".
[[nodiscard]] std::string decimal(double value);

// With so many places; empty where it is not known.
[[nodiscard]] std::string figure(const std::optional<double>& value, int places);

}  // namespace edgesage::report
