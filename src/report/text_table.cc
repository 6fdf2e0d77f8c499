#include "src/report/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace edgesage::report {
namespace {

void append_cell(std::string& line, std::string_view cell, size_t width, bool right, bool last) {
  const size_t blanks = width - std::min(width, cell.size());
  if (right) line.append(blanks, ' ');
  line += cell;
  if (!right && !last) line.append(blanks, ' ');
}

}  // namespace

TextTable::TextTable(std::vector<std::string> headings, size_t cell_limit)
    : headings_(std::move(headings)), cell_limit_(cell_limit) {
  for (std::string& heading : headings_) {
    right_.push_back(heading.starts_with('>'));
    if (right_.back()) heading.erase(0, 1);
  }
}

void TextTable::add(std::vector<std::string> cells) {
  cells.resize(headings_.size());
  for (std::string& cell : cells) cell = shown(cell, cell_limit_);
  rows_.push_back(std::move(cells));
}

std::vector<size_t> TextTable::used_columns() const {
  std::vector<size_t> columns;
  for (size_t c = 0; c < headings_.size(); ++c)
    if (std::ranges::any_of(rows_, [&](const auto& row) { return !row[c].empty(); }))
      columns.push_back(c);
  return columns;
}

std::string TextTable::markdown() const {
  const std::vector<size_t> columns = used_columns();
  std::string text;
  const auto add_line = [&](const std::vector<std::string>& cells) {
    for (const size_t c : columns) text += "| " + markdown_text(cells[c], cell_limit_) + " ";
    text += "|\n";
  };
  add_line(headings_);
  for (const size_t c : columns) text += right_[c] ? "|--:" : "|---";
  text += "|\n";
  for (const auto& row : rows_) add_line(row);
  return text;
}

std::string TextTable::render(std::string_view indent) const {
  const std::vector<size_t> columns = used_columns();
  std::vector<size_t> widths;
  for (const size_t c : columns) {
    size_t width = headings_[c].size();
    for (const auto& row : rows_) width = std::max(width, row[c].size());
    widths.push_back(width);
  }
  std::string text;
  const auto add_line = [&](const std::vector<std::string>& cells) {
    std::string line(indent);
    for (size_t i = 0; i < columns.size(); ++i) {
      if (i > 0) line += "  ";
      append_cell(line, cells[columns[i]], widths[i], right_[columns[i]], i + 1 == columns.size());
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  };
  add_line(headings_);
  for (const auto& row : rows_) add_line(row);
  return text;
}

std::string shown(std::string_view text, size_t limit) {
  std::string out;
  for (const char c : text) out += c >= ' ' && c <= '~' ? c : '?';
  if (out.size() <= limit) return out;
  const size_t kept = limit - 3;
  return out.substr(0, kept - kept / 2) + "..." + out.substr(out.size() - kept / 2);
}

std::string markdown_text(std::string_view text, size_t limit) {
  std::string out;
  for (const char c : shown(text, limit)) {
    if (std::string_view("\\`*_[]<>|#~&").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string shape_text(const std::vector<int64_t>& shape, bool has_rank) {
  if (!has_rank) return "unranked";
  if (shape.empty()) return "scalar";
  std::string text;
  for (const int64_t size : shape) {
    if (!text.empty()) text += 'x';
    text += size < 0 ? "?" : std::to_string(size);
  }
  return text;
}

std::string grouped(int64_t value) {
  std::string digits = std::to_string(value);
  const size_t start = digits.front() == '-' ? 1 : 0;
  for (size_t i = digits.size(); i > start + 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

std::string grouped(std::optional<int64_t> value) { return value ? grouped(*value) : "-"; }

std::string decimal(double value) {
  if (value == 0) return "0";
  const double magnitude = std::floor(std::log10(std::abs(value)));
  if (magnitude < -9 || magnitude > 12) return fmt::format("{:.3e}", value);
  const int places = std::max(0, 3 - static_cast<int>(magnitude));
  return fmt::format("{:.{}f}", value, places);
}

std::string figure(const std::optional<double>& value, int places) {
  return value ? fmt::format("{:.{}f}", *value, places) : "";
}

}  // namespace edgesage::report
