#include "src/devices/benchmark_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <span>

#include "src/base/text.h"
#include "src/devices/output_parser.h"

namespace edgesage {
namespace {

constexpr std::string_view kSummary = "Inference timings in us:";
constexpr std::string_view kProfiled = "Timings (microseconds):";
constexpr double kMebibyte = 1048576;

tl::unexpected<Error> wrong(std::string what, std::string_view came) {
  return make_error(ErrorCode::kDeviceFailed, "benchmark_model",
                    fmt::format("{}; it printed: {}", what, excerpt_of(came)));
}

// The number that starts right behind `key`; nullopt where there is no key or no number.
std::optional<double> number_behind(std::string_view line, std::string_view key) {
  size_t at = line.find(key);
  // "min=" is not the end of another word.
  while (at != std::string_view::npos && at > 0 && line[at - 1] != ' ' && line[at - 1] != '\t')
    at = line.find(key, at + 1);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = line.substr(at + key.size());
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  double value = 0;
  const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (read.ec != std::errc()) return std::nullopt;
  return value;
}

bool is_time(std::optional<double> value) { return value && std::isfinite(*value) && *value > 0; }

// Microseconds of a line as milliseconds; absent where it is not a time.
std::optional<double> us_behind(std::string_view line, std::string_view key) {
  const std::optional<double> value = number_behind(line, key);
  return is_time(value) ? std::optional(*value * 1e-3) : std::nullopt;
}

// "count=50 first=32891 curr=33978 min=32641 max=34005 avg=33209.4 std=450"; with one run, or with
// equal ones, only "count=1 curr=1058871".
struct CountLine {
  int64_t count = 0;
  std::optional<double> mean_ms, min_ms, max_ms, p50_ms, std_ms;
};

std::optional<CountLine> count_line(std::string_view line) {
  const std::optional<double> count = number_behind(line, "count=");
  if (!count || *count < 1 || line.find(" curr=") == std::string_view::npos) return std::nullopt;
  CountLine out;
  out.count = static_cast<int64_t>(*count);
  const std::optional<double> current = us_behind(line, "curr=");
  const bool all_the_same = line.find(" avg=") == std::string_view::npos;
  out.mean_ms = all_the_same ? current : us_behind(line, "avg=");
  out.min_ms = all_the_same ? current : us_behind(line, "min=");
  out.max_ms = all_the_same ? current : us_behind(line, "max=");
  out.p50_ms = us_behind(line, "median=");
  if (!out.p50_ms && all_the_same) out.p50_ms = current;
  if (const auto std_us = number_behind(line, "std="); std_us && *std_us >= 0)
    out.std_ms = *std_us * 1e-3;
  return out;
}

void take_counts(const CountLine& counts, BenchmarkReport& report) {
  report.runs = counts.count;
  report.min_ms = counts.min_ms;
  report.max_ms = counts.max_ms;
  report.p50_ms = counts.p50_ms;
  report.std_ms = counts.std_ms;
}

// ---- the table per operator

// What the tables that follow are about.
enum class Section { kRuns, kOther };

Section section_after(std::string_view line, Section now) {
  const auto has = [&](std::string_view text) { return line.find(text) != std::string_view::npos; };
  if (has("Profiling Info for Regular") || has("Primary graph")) return Section::kRuns;
  if (has("Profiling Info for Benchmark Init") || has("Delegate internal") ||
      has("Subgraph (index"))
    return Section::kOther;
  return now;
}

bool is_banner(std::string_view line, std::string_view title = {}) {
  return line.find("=====") != std::string_view::npos && line.find(title) != std::string_view::npos;
}

// Where the columns are; the text form has tabs and brackets, the CSV comma and space.
struct Columns {
  bool csv = false;
  size_t count = 0, average = 0, calls = 0;
};

std::vector<std::string> cells_of(std::string_view line, bool csv) {
  std::vector<std::string> cells;
  if (!csv && !line.empty() && line.front() == '\t') line.remove_prefix(1);
  for (const std::string& cell : split(line, csv ? ',' : '\t')) cells.emplace_back(trim(cell));
  return cells;
}

std::optional<Columns> columns_of(std::string_view header) {
  Columns columns;
  columns.csv = header.find('\t') == std::string_view::npos;
  std::vector<std::string> names = cells_of(header, columns.csv);
  for (std::string& name : names) {
    std::erase_if(name, [](char c) { return c == '[' || c == ']'; });
    std::replace(name.begin(), name.end(), '_', ' ');
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  }
  const auto find = [&](std::string_view name) {
    return static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  };
  columns.count = names.size();
  columns.average = find("avg ms");
  columns.calls = find("times called");
  const bool complete = columns.average < names.size() && columns.calls < names.size() &&
                        names.front() == "node type" && names.back() == "name";
  return complete ? std::optional(columns) : std::nullopt;
}

bool is_figure(std::string_view cell) {
  if (cell.ends_with('%')) cell.remove_suffix(1);
  return whole_text_number(cell).has_value();
}

// A row has a type, figures and a name; types and names may hold commas. nullopt: it is cut.
std::optional<BenchmarkOperator> row_of(std::string_view line, const Columns& columns) {
  const std::vector<std::string> cells = cells_of(line, columns.csv);
  const size_t figures = columns.count - 2;
  for (size_t first = 1; first + figures < cells.size(); ++first) {
    const auto begin = cells.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = begin + static_cast<std::ptrdiff_t>(figures);
    if (!std::all_of(begin, end, is_figure)) continue;
    BenchmarkOperator row;
    const std::span<const std::string> all(cells);
    row.node_type = join(all.first(first), ", ");
    row.name = join(all.subspan(first + figures), columns.csv ? ", " : "\t");
    const double average = *whole_text_number(cells[first + columns.average - 1]);
    const double calls = *whole_text_number(cells[first + columns.calls - 1]);
    if (!(average >= 0) || !(calls >= 0) || row.name.empty()) return std::nullopt;
    row.ms = average * calls;
    const size_t colon = row.name.rfind(':');
    const auto index = colon == std::string::npos
                           ? std::nullopt
                           : whole_text_number(std::string_view(row.name).substr(colon + 1));
    if (index && *index >= 0 && *index < 1e9 && *index == std::floor(*index))
      row.index = static_cast<int32_t>(*index);
    return row;
  }
  return std::nullopt;
}

bool is_of_delegate(const BenchmarkOperator& row) {
  return row.node_type.find("Delegate") != std::string::npos || row.name.starts_with("Delegate/");
}

// Reads the table whose banner is lines[at].
Status read_table(std::span<const std::string> lines, size_t at, BenchmarkReport& report) {
  const auto columns = at + 1 < lines.size() ? columns_of(lines[at + 1]) : std::nullopt;
  if (!columns)
    return wrong("the table per operator has no header as benchmark_model writes it",
                 at + 1 < lines.size() ? lines[at + 1] : lines[at]);
  size_t row = at + 2;
  for (; row < lines.size() && !trim(lines[row]).empty() && !is_banner(lines[row]); ++row) {
    const auto read = row_of(lines[row], *columns);
    if (!read)
      return wrong(fmt::format("row {} of the table per operator is cut or damaged", row - at - 1),
                   lines[row]);
    if (is_of_delegate(*read))
      ++report.delegated;
    else
      report.operators.push_back(*read);
  }
  const auto complete = [](const std::string& line) {
    return is_banner(line) || line.find("nodes executed") != std::string::npos ||
           line.find("nodes observed") != std::string::npos;
  };
  if (std::none_of(lines.begin() + static_cast<std::ptrdiff_t>(row), lines.end(), complete))
    return wrong(
        fmt::format("the output ends inside the table per operator, after {} rows", row - at - 2),
        lines.back());
  return {};
}

// ---- the whole

Status read_summary(std::string_view line, BenchmarkReport& report) {
  const std::optional<double> mean = number_behind(line, "Inference (avg):");
  if (!is_time(mean)) return wrong("its summary has no inference time above 0", line);
  report.mean_ms = *mean * 1e-3;
  report.first_ms = us_behind(line, "First inference:");
  report.warm_up_mean_ms = us_behind(line, "Warmup (avg):");
  report.init_ms = us_behind(line, "Init:");
  return {};
}

}  // namespace

Result<BenchmarkReport> parse_benchmark_model(std::string_view text) {
  std::vector<std::string> lines = split(text, '\n');
  for (std::string& line : lines)
    if (line.ends_with('\r')) line.pop_back();
  BenchmarkReport report;
  std::vector<CountLine> counts;
  std::optional<CountLine> profiled;
  bool summary = false, table = false;
  Section section = Section::kRuns;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    section = section_after(line, section);
    if (line.find(kSummary) != std::string::npos) {
      EDGESAGE_RETURN_IF_ERROR(read_summary(line, report));
      summary = true;
    } else if (line.find(kProfiled) != std::string::npos) {
      if (section == Section::kRuns) profiled = count_line(line);
    } else if (line.find("memory footprint") != std::string::npos ||
               line.find("Memory footprint") != std::string::npos) {
      const auto overall = number_behind(line, "overall=");
      if (is_time(overall)) report.footprint_bytes = std::round(*overall * kMebibyte);
    } else if (const auto initialised = number_behind(line, "Initialized session in");
               is_time(initialised) && !report.init_ms) {
      report.init_ms = *initialised;
    } else if (const auto count = count_line(line)) {
      counts.push_back(*count);
    } else if (is_banner(line, " Run Order ") && section == Section::kRuns && !table) {
      EDGESAGE_RETURN_IF_ERROR(read_table(lines, i, report));
      table = true;
    }
  }
  // The first such line is of the warm-up.
  if (counts.size() >= 2) take_counts(counts.back(), report);
  if (summary) return report;
  // Old versions have no summary; a table alone has the timing of the profiled runs.
  if (counts.size() >= 2 && counts.back().mean_ms) {
    report.mean_ms = *counts.back().mean_ms;
    return report;
  }
  if (table && profiled && profiled->mean_ms) {
    take_counts(*profiled, report);
    report.mean_ms = *profiled->mean_ms;
    return report;
  }
  return wrong(fmt::format("no time: there is no line '{} ...'", kSummary), text);
}

}  // namespace edgesage
