#include "src/learn/label_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <utility>

#include "src/base/csv.h"
#include "src/base/parallel.h"
#include "src/base/text.h"
#include "src/graph/graph_hash.h"
#include "src/spaces/published.h"
#include "src/spaces/space.h"

namespace edgesage {
namespace {

struct Unit {
  std::string_view quantity_end, unit;
  double factor;
};
constexpr std::array kUnits{
    Unit{"_ms", "ms", 1},        Unit{"_ms", "us", 1e-3},    Unit{"_ms", "s", 1e3},
    Unit{"_ms", "ns", 1e-6},     Unit{"_mj", "mj", 1},       Unit{"_mj", "uj", 1e-3},
    Unit{"_mj", "j", 1e3},       Unit{"_bytes", "bytes", 1}, Unit{"_bytes", "kb", 1e3},
    Unit{"_bytes", "kib", 1024}, Unit{"_bytes", "mb", 1e6},  Unit{"_bytes", "mib", 1024.0 * 1024}};

// Cells may hold line breaks; an error is one line.
tl::unexpected<Error> bad(std::string_view where, std::string message) {
  std::ranges::replace_if(
      message, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return make_error(ErrorCode::kInvalidArgument, std::string(where), std::move(message));
}

struct Columns {
  size_t first = 0, last = 0;  // of the code
  size_t label = 0;
};

Result<size_t> find_column(const CsvTable& table, std::string_view name, std::string_view where) {
  if (const auto column = table.column(name)) return *column;
  return bad(where, fmt::format("no column \"{}\"; there are {}", name, join(table.columns, ", ")));
}

Result<Columns> find_columns(const CsvTable& table, const LabelImport& import,
                             std::string_view where) {
  Columns columns;
  const size_t colon = import.code_column.find(':');
  const std::string_view names = import.code_column;
  EDGESAGE_ASSIGN_OR_RETURN(columns.first, find_column(table, names.substr(0, colon), where));
  columns.last = columns.first;
  if (colon != std::string::npos) {
    EDGESAGE_ASSIGN_OR_RETURN(columns.last, find_column(table, names.substr(colon + 1), where));
  }
  if (columns.last < columns.first)
    return bad(where, fmt::format("column \"{}\" is not before \"{}\"", names.substr(0, colon),
                                  names.substr(colon + 1)));
  EDGESAGE_ASSIGN_OR_RETURN(columns.label, find_column(table, import.label_column, where));
  return columns;
}

// One line of the file, read on its own.
struct Line {
  std::string problem;  // why it is refused; empty: it is not
  std::string name;
  std::string graph_hash;
  double value = 0;
  bool measured = false, constant = false;
};

Line read_line(const std::vector<std::string>& cells, const Columns& columns,
               const LabelImport& import, double factor) {
  Line line;
  std::string code;
  for (size_t i = columns.first; i <= columns.last; ++i)
    code += (i > columns.first ? "-" : "") + cells[i];
  if (import.resolution > 0) code += fmt::format("@{}", import.resolution);
  if (import.float32) code += "@float32";
  const auto canonical = canonical_code(import.space, code);
  if (!canonical) {
    line.problem = canonical.error().to_string();
    return line;
  }
  line.name = NetworkName{import.space, 1, 0, *canonical}.to_string();
  const std::string_view label = trim(cells[columns.label]);
  if (label.empty()) return line;
  const auto [rest, error] = std::from_chars(label.data(), label.data() + label.size(), line.value);
  line.value *= factor;
  if (error != std::errc() || rest != label.data() + label.size() || !std::isfinite(line.value) ||
      line.value <= 0) {
    line.problem = fmt::format(
        "{} is \"{}\"; a label is a finite number above 0, or empty where nothing was measured",
        import.label_column, label.substr(0, 40));
    return line;
  }
  line.measured = true;
  const auto network = build_published(import.space, *canonical, {.weights = false});
  if (!network) {
    line.problem = network.error().to_string();
    return line;
  }
  line.constant = network->constant;
  line.graph_hash = graph_hash(network->graph);
  return line;
}

}  // namespace

Result<double> unit_factor(std::string_view quantity, std::string_view unit) {
  std::vector<std::string> known;
  for (const Unit& candidate : kUnits) {
    if (!quantity.ends_with(candidate.quantity_end)) continue;
    if (unit == candidate.unit || unit.empty()) return candidate.factor;
    known.emplace_back(candidate.unit);
  }
  if (known.empty())
    return bad(quantity,
               "not a quantity with a unit in its name; as in latency_ms, energy_mj, "
               "peak_ram_bytes");
  return bad(unit, fmt::format("not a unit of {}; there are {}", quantity, join(known, ", ")));
}

Result<ImportedLabels> import_labels(std::string_view csv, std::string_view where,
                                     const LabelImport& import) {
  EDGESAGE_ASSIGN_OR_RETURN(const double factor, unit_factor(import.quantity, import.unit));
  if (!is_published(import.space)) {
    std::vector<std::string> names;
    for (const PublishedSpace& space : published_spaces()) names.emplace_back(space.name);
    return bad(import.space,
               fmt::format("not a space with codes; there are {}", join(names, ", ")));
  }
  EDGESAGE_ASSIGN_OR_RETURN(const CsvTable table,
                            parse_csv(csv, where, ErrorCode::kInvalidArgument));
  EDGESAGE_ASSIGN_OR_RETURN(const Columns columns, find_columns(table, import, where));
  std::vector<Line> lines(table.rows.size());
  parallel_for(static_cast<int64_t>(lines.size()), import.threads, [&](int64_t i) {
    const auto index = static_cast<size_t>(i);
    lines[index] = read_line(table.rows[index], columns, import, factor);
  });

  ImportedLabels labels;
  std::unordered_map<std::string, size_t> row_of;  // by name
  std::optional<size_t> first_problem;
  int64_t problems = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    Line& line = lines[i];
    if (!line.problem.empty()) {
      ++problems;
      if (!first_problem) first_problem = i;
    } else if (!line.measured) {
      ++labels.not_measured;
    } else if (line.constant) {
      ++labels.constants;
    } else if (const auto [it, fresh] = row_of.emplace(line.name, labels.rows.size()); !fresh) {
      LabelRow& row = labels.rows[it->second];
      double& value = row.quantities[import.quantity];
      value = std::min(value, line.value);
      ++row.repeats;
      ++labels.repeated;
    } else {
      LabelRow& row = labels.rows.emplace_back();
      row.name = std::move(line.name);
      row.graph_hash = std::move(line.graph_hash);
      row.device = import.device;
      row.runtime = import.runtime;
      row.runtime_version = import.runtime_version;
      row.statistic = import.statistic;
      row.quantities[import.quantity] = line.value;
    }
  }
  if (first_problem)
    return bad(fmt::format("{}:{}", where, table.lines[*first_problem]),
               lines[*first_problem].problem +
                   (problems > 1 ? fmt::format(" (and {} more lines)", problems - 1) : ""));
  if (labels.rows.empty()) return bad(where, "no row has a label");
  return labels;
}

}  // namespace edgesage
