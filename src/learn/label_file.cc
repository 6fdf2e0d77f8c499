#include "src/learn/label_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <tuple>

#include "src/base/csv.h"
#include "src/base/file.h"
#include "src/base/text.h"
#include "src/base/zstd.h"

namespace edgesage {
namespace {

constexpr int kLevel = 19;  // 4,000 networks take about two seconds
constexpr size_t kTextLimit = size_t{4} << 30;
constexpr size_t kOperatorLimit = 1'000'000;  // of one network
constexpr double kLeastLatencyMs = 1e-6;

constexpr std::array kTextColumns = {"name",
                                     "graph_hash",
                                     "device",
                                     "runtime",
                                     "runtime_version",
                                     "host_fingerprint",
                                     "statistic",
                                     "operator_unit",
                                     "operator_index",
                                     "operator_cycles",
                                     "operator_macs",
                                     "operator_working_bytes",
                                     "operator_placement"};
constexpr std::array kCountColumns = {"repeats", "cpu_operators"};

std::string number_text(double value) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  return std::string(digits.data(), end);
}

template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

// ---- the operator columns

std::string index_cell(std::span<const OperatorMeasurement> operators) {
  std::string cell;
  for (size_t begin = 0; begin < operators.size();) {
    size_t end = begin + 1;
    while (end < operators.size() && operators[end].index == operators[end - 1].index + 1) ++end;
    if (!cell.empty()) cell += ' ';
    cell += fmt::format("{}", operators[begin].index);
    if (end - begin > 1) cell += fmt::format("-{}", operators[end - 1].index);
    begin = end;
  }
  return cell;
}

template <class TextOf>
std::string run_cell(std::span<const OperatorMeasurement> operators, const TextOf& text_of) {
  std::string cell;
  for (size_t begin = 0; begin < operators.size();) {
    const std::string text = text_of(operators[begin]);
    size_t end = begin + 1;
    while (end < operators.size() && text_of(operators[end]) == text) ++end;
    if (!cell.empty()) cell += ' ';
    cell += text;
    if (end - begin > 1) cell += fmt::format("*{}", end - begin);
    begin = end;
  }
  return cell;
}

// A placement as an item: without what separates items, and never empty.
std::string placement_item(const OperatorMeasurement& op) {
  std::string item = op.placement.empty() ? "-" : op.placement;
  for (char& c : item)
    if (c == ' ' || c == '*') c = '_';
  return item;
}

std::vector<std::string> items(std::string_view cell) {
  return cell.empty() ? std::vector<std::string>{} : split(cell, ' ');
}

// The indexes of a cell like "0-57 60"; nullopt where it is not one.
std::optional<std::vector<int32_t>> parse_indexes(std::string_view cell) {
  std::vector<int32_t> indexes;
  for (const std::string& item : items(cell)) {
    const size_t dash = item.find('-');
    const auto first = parse_number<int32_t>(std::string_view(item).substr(0, dash));
    const auto last = dash == std::string::npos
                          ? first
                          : parse_number<int32_t>(std::string_view(item).substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first) return std::nullopt;
    const auto count = static_cast<size_t>(*last - *first) + 1;
    if (count > kOperatorLimit - indexes.size()) return std::nullopt;
    for (int32_t index = *first; index <= *last; ++index) indexes.push_back(index);
  }
  return indexes;
}

// The texts of a cell like "npu*58 cpu", which must be `count`; nullopt otherwise.
std::optional<std::vector<std::string>> parse_runs(std::string_view cell, size_t count) {
  std::vector<std::string> texts;
  for (const std::string& item : items(cell)) {
    const size_t star = item.rfind('*');
    size_t length = 1;
    if (star != std::string::npos) {
      const auto parsed = parse_number<size_t>(std::string_view(item).substr(star + 1));
      if (!parsed) return std::nullopt;
      length = *parsed;
    }
    if (length < 1 || length > count - texts.size()) return std::nullopt;
    texts.insert(texts.end(), length, item.substr(0, star));
  }
  if (texts.size() != count) return std::nullopt;
  return texts;
}

// ---- rows

class RowReader {
 public:
  RowReader(const CsvTable& table, std::string_view where) : table_(table), where_(where) {
    for (size_t column = 0; column < table.columns.size(); ++column) {
      const std::string& name = table.columns[column];
      if (std::find(kTextColumns.begin(), kTextColumns.end(), name) == kTextColumns.end() &&
          std::find(kCountColumns.begin(), kCountColumns.end(), name) == kCountColumns.end())
        quantities_.push_back(column);
    }
  }

  Result<LabelRow> read(size_t index) const {
    LabelRow row;
    row.name = text(index, "name");
    row.graph_hash = text(index, "graph_hash");
    row.device = text(index, "device");
    row.runtime = text(index, "runtime");
    row.runtime_version = text(index, "runtime_version");
    row.host_fingerprint = text(index, "host_fingerprint");
    row.statistic = text(index, "statistic");
    row.operator_unit = text(index, "operator_unit");
    if (row.name.empty()) return refuse(index, "name", "is empty; a label needs its network");
    if (row.device.empty()) return refuse(index, "device", "is empty; a label needs its device");
    EDGESAGE_ASSIGN_OR_RETURN(row.repeats, count(index, "repeats", 1));
    EDGESAGE_ASSIGN_OR_RETURN(row.cpu_operators, count(index, "cpu_operators", 0));
    for (const size_t column : quantities_)
      EDGESAGE_RETURN_IF_ERROR(read_quantity(index, column, row));
    EDGESAGE_RETURN_IF_ERROR(read_operators(index, row));
    return row;
  }

  tl::unexpected<Error> refuse(size_t index, std::string_view column, std::string what) const {
    std::string message = fmt::format("{} {}", column, what);
    // Cells may hold line breaks; an error is one line.
    std::ranges::replace_if(
        message, [](char c) { return c == '\n' || c == '\r'; }, ' ');
    return make_error(ErrorCode::kBadStore, fmt::format("{}: row {}", where_, index + 1),
                      std::move(message));
  }

 private:
  std::string text(size_t index, std::string_view name) const {
    const auto column = table_.column(name);
    return column ? table_.rows[index][*column] : std::string();
  }

  Result<int32_t> count(size_t index, const char* name, int32_t otherwise) const {
    const std::string cell = text(index, name);
    if (cell.empty()) return otherwise;
    const auto value = parse_number<int32_t>(cell);
    if (!value || *value < otherwise)
      return refuse(index, name,
                    fmt::format("is '{}'; it is a whole number of at least {}", cell, otherwise));
    return *value;
  }

  Status read_quantity(size_t index, size_t column, LabelRow& row) const {
    const std::string& name = table_.columns[column];
    const std::string& cell = table_.rows[index][column];
    if (cell.empty()) return {};
    const auto value = parse_number<double>(cell);
    const double least = name == "latency_ms" ? kLeastLatencyMs : 0;
    if (!value || !std::isfinite(*value) || *value < least)
      return refuse(index, name,
                    fmt::format("is '{}'; a label is a finite number{}: remove the row, or leave "
                                "the cell empty where the figure is not known",
                                cell, least > 0 ? " of at least 1e-06" : ", not negative"));
    row.quantities[name] = *value;
    return {};
  }

  Status read_operators(size_t index, LabelRow& row) const {
    const auto indexes = parse_indexes(text(index, "operator_index"));
    if (!indexes) return refuse(index, "operator_index", "is not a list of indexes like '0-57 60'");
    row.operators.resize(indexes->size());
    for (size_t i = 0; i < indexes->size(); ++i) row.operators[i].index = (*indexes)[i];
    if (row.operators.empty()) return {};
    EDGESAGE_RETURN_IF_ERROR(
        read_column<double>(index, "operator_cycles", row, &OperatorMeasurement::cycles));
    EDGESAGE_RETURN_IF_ERROR(
        read_column<int64_t>(index, "operator_macs", row, &OperatorMeasurement::macs));
    EDGESAGE_RETURN_IF_ERROR(read_column<double>(index, "operator_working_bytes", row,
                                                 &OperatorMeasurement::working_bytes));
    const auto placements = parse_runs(text(index, "operator_placement"), row.operators.size());
    if (!placements)
      return refuse(index, "operator_placement",
                    fmt::format("does not hold {} items like 'npu*57 cpu'", row.operators.size()));
    for (size_t i = 0; i < placements->size(); ++i)
      if ((*placements)[i] != "-") row.operators[i].placement = (*placements)[i];
    return {};
  }

  template <class T>
  Status read_column(size_t index, const char* name, LabelRow& row,
                     T OperatorMeasurement::*member) const {
    const auto texts = parse_runs(text(index, name), row.operators.size());
    if (!texts)
      return refuse(index, name, fmt::format("does not hold {} numbers", row.operators.size()));
    for (size_t i = 0; i < texts->size(); ++i) {
      const auto value = parse_number<T>((*texts)[i]);
      if (!value || *value < 0 || !std::isfinite(static_cast<double>(*value)))
        return refuse(
            index, name,
            fmt::format("has '{}'; its numbers are finite and not negative", (*texts)[i]));
      row.operators[i].*member = *value;
    }
    return {};
  }

  const CsvTable& table_;
  std::string_view where_;
  std::vector<size_t> quantities_;
};

void append_row(std::string& csv, const LabelRow& row, const std::set<std::string>& quantities) {
  for (const std::string& text : {row.name, row.graph_hash, row.device, row.runtime,
                                  row.runtime_version, row.host_fingerprint, row.statistic}) {
    csv += csv_cell(text);
    csv += ',';
  }
  csv += fmt::format("{},{}", row.repeats, row.cpu_operators);
  for (const std::string& name : quantities) {
    csv += ',';
    if (const auto it = row.quantities.find(name); it != row.quantities.end())
      csv += number_text(it->second);
  }
  using Op = OperatorMeasurement;
  csv += fmt::format(
      ",{},{},{},{},{},{}\n", csv_cell(row.operator_unit), index_cell(row.operators),
      run_cell(row.operators, [](const Op& op) { return number_text(op.cycles); }),
      run_cell(row.operators, [](const Op& op) { return fmt::format("{}", op.macs); }),
      run_cell(row.operators, [](const Op& op) { return number_text(op.working_bytes); }),
      csv_cell(run_cell(row.operators, placement_item)));
}

}  // namespace

std::string labels_to_csv(std::span<const LabelRow> rows) {
  std::set<std::string> quantities;
  for (const LabelRow& row : rows)
    for (const auto& [name, value] : row.quantities) quantities.insert(name);
  std::string csv =
      "name,graph_hash,device,runtime,runtime_version,host_fingerprint,statistic,repeats,"
      "cpu_operators";
  for (const std::string& name : quantities) csv += ',' + csv_cell(name);
  csv +=
      ",operator_unit,operator_index,operator_cycles,operator_macs,operator_working_bytes,"
      "operator_placement\n";
  for (const LabelRow& row : rows) append_row(csv, row, quantities);
  return csv;
}

Result<std::vector<LabelRow>> labels_from_csv(std::string_view csv, std::string_view where) {
  EDGESAGE_ASSIGN_OR_RETURN(const CsvTable table, parse_csv(csv, where, ErrorCode::kBadStore));
  for (const char* needed : {"name", "device"})
    if (!table.column(needed))
      return make_error(ErrorCode::kBadStore, std::string(where),
                        fmt::format("no column '{}'; a label file has name, device and a column "
                                    "for each quantity, e.g. latency_ms",
                                    needed));
  const RowReader reader(table, where);
  std::vector<LabelRow> rows;
  rows.reserve(table.rows.size());
  std::set<std::tuple<std::string, std::string, std::string>> seen;
  for (size_t index = 0; index < table.rows.size(); ++index) {
    EDGESAGE_ASSIGN_OR_RETURN(LabelRow row, reader.read(index));
    if (!seen.emplace(row.name, row.device, row.host_fingerprint).second)
      return reader.refuse(
          index, "name",
          fmt::format("'{}' has a label on {} already; keep one", row.name, row.device));
    rows.push_back(std::move(row));
  }
  return rows;
}

Status write_labels(std::span<const LabelRow> rows, const std::filesystem::path& path) {
  const std::string csv = labels_to_csv(rows);
  return write_file(path, zstd_compress(std::as_bytes(std::span(csv)), kLevel));
}

Result<std::vector<LabelRow>> read_labels(const std::filesystem::path& path) {
  EDGESAGE_ASSIGN_OR_RETURN(const auto file, MappedFile::open(path, ErrorCode::kBadStore));
  const std::string where = path.string();
  const std::span<const std::byte> bytes = file->bytes();
  constexpr std::array kMagic = {std::byte{0x28}, std::byte{0xb5}, std::byte{0x2f},
                                 std::byte{0xfd}};
  if (bytes.size() < kMagic.size() || !std::equal(kMagic.begin(), kMagic.end(), bytes.begin()))
    return labels_from_csv({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, where);
  EDGESAGE_ASSIGN_OR_RETURN(const std::string csv,
                            zstd_decompress(bytes, kTextLimit, where, ErrorCode::kBadStore));
  return labels_from_csv(csv, where);
}

}  // namespace edgesage
