// Tables: Vela's two CSV files, and labels by name.
#include <fmt/format.h>

#include <cmath>

#include "src/base/text.h"
#include "src/devices/foreign_formats.h"

namespace edgesage::foreign {
namespace {

constexpr double kKibibyte = 1024;

// A cell by the name of its column; empty where there is no such column.
class Row {
 public:
  Row(const CsvTable& table, size_t index) : table_(table), cells_(table.rows[index]) {}
  [[nodiscard]] std::string text(std::string_view column) const {
    const auto found = table_.column(column);
    return found ? std::string(trim(cells_[*found])) : "";
  }
  [[nodiscard]] std::optional<double> number(std::string_view column) const {
    return number_in(text(column));
  }

 private:
  const CsvTable& table_;
  const std::vector<std::string>& cells_;
};

// "Ethos_U55_256" -> "ethos-u55-256"
std::string device_of(std::string configuration) {
  for (char& c : configuration) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '_') c = '-';
  }
  return configuration;
}

void add_bytes(const Row& row, const char* column, const char* name, double unit,
               Measurement& measurement) {
  const std::optional<double> value = row.number(column);
  if (value && std::isfinite(*value) && *value > 0) measurement.quantities[name] = *value * unit;
}

// Seconds, twice: as such, and as cycles of a clock. Empty where they agree or one is not there.
std::string contradiction(const Row& row, double seconds) {
  const std::optional<double> cycles = row.number("cycles_total"), clock = row.number("core_clock");
  if (!cycles || !clock || !(*cycles > 0) || !(*clock > 0)) return "";
  const double expected = *cycles / *clock;
  if (std::abs(seconds / expected - 1) < 0.01) return "";
  return fmt::format("{} is not cycles_total / core_clock, {:.6g} s: the column is in seconds",
                     seconds, expected);
}

// A unit in a column's name and what to multiply by to get ours.
struct Unit {
  std::string_view suffix, ours;
  double factor;
};
constexpr Unit kUnits[] = {
    {"_ms", "_ms", 1},        {"_us", "_ms", 1e-3},        {"_ns", "_ms", 1e-6},
    {"_s", "_ms", 1e3},       {"_mj", "_mj", 1},           {"_uj", "_mj", 1e-3},
    {"_nj", "_mj", 1e-6},     {"_j", "_mj", 1e3},          {"_bytes", "_bytes", 1},
    {"_kib", "_bytes", 1024}, {"_mib", "_bytes", 1 << 20},
};
constexpr std::string_view kQuantities[] = {
    "latency_ms", "energy_mj",   "peak_ram_bytes", "sram_bytes",  "first_latency_ms",
    "load_ms",    "arena_bytes", "dram_bytes",     "flash_bytes", "weights_bytes"};

// A column that holds a quantity of ours, under our name.
struct LabelColumn {
  size_t column = 0;
  std::string quantity;
  double factor = 1;
};

std::optional<LabelColumn> label_column(const std::string& name, size_t column) {
  for (const Unit& unit : kUnits) {
    if (!name.ends_with(unit.suffix)) continue;
    const std::string ours =
        name.substr(0, name.size() - unit.suffix.size()) + std::string(unit.ours);
    for (const std::string_view quantity : kQuantities)
      if (ours == quantity) return LabelColumn{column, ours, unit.factor};
  }
  return std::nullopt;
}

}  // namespace

Reports read_vela_summary(std::string_view text, std::string_view where) {
  EDGESAGE_ASSIGN_OR_RETURN(const CsvTable table,
                            parse_csv(text, where, ErrorCode::kInvalidArgument));
  if (!table.column("inference_time")) return wrong(where, "has no column inference_time");
  std::vector<ForeignReport> reports;
  Refusals refusals;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const Row row(table, i);
    const std::optional<double> seconds = row.number("inference_time");
    std::string reason = Refusals::why(seconds, row.text("inference_time"));
    if (reason.empty()) reason = contradiction(row, *seconds);
    if (!reason.empty()) {
      refusals.add(i + 1, table.lines[i], "inference_time", reason);
      continue;
    }
    ForeignReport report{
        .format = "vela-summary", .network = row.text("network"), .row = i + 1, .measurement = {}};
    Measurement& measurement = report.measurement;
    measurement.device = device_of(row.text("accelerator_configuration"));
    measurement.runtime = "vela";
    measurement.statistic = "estimate";
    const double batch = row.number("batch_size").value_or(1);
    measurement.quantities["latency_ms"] = *seconds * 1e3;
    if (batch > 1) report.notes.push_back(fmt::format("of a batch of {}", batch));
    add_bytes(row, "sram_memory_used", "sram_bytes", kKibibyte, measurement);
    add_bytes(row, "dram_memory_used", "dram_bytes", kKibibyte, measurement);
    add_bytes(row, "on_chip_flash_memory_used", "on_chip_flash_bytes", kKibibyte, measurement);
    add_bytes(row, "off_chip_flash_memory_used", "off_chip_flash_bytes", kKibibyte, measurement);
    add_bytes(row, "total_npu_encoded_weights", "npu_encoded_weights_bytes", 1, measurement);
    add_bytes(row, "cycles_total", "cycles_total", 1, measurement);
    for (const char* key : {"system_config", "memory_mode", "core_clock", "arena_cache_size"})
      if (const std::string value = row.text(key); !value.empty())
        measurement.protocol[key] = value;
    report.notes.emplace_back(
        "operators that fall back to the CPU cost nothing in this figure; the per-layer file says "
        "which");
    reports.push_back(std::move(report));
  }
  if (refusals.any()) return refusals.error(where);
  if (reports.empty()) return wrong(where, "has no row");
  return reports;
}

Reports read_vela_layers(std::string_view text, std::string_view where) {
  EDGESAGE_ASSIGN_OR_RETURN(const CsvTable table,
                            parse_csv(text, where, ErrorCode::kInvalidArgument));
  ForeignReport report{.format = "vela-layers", .measurement = {}};
  Measurement& measurement = report.measurement;
  measurement.runtime = "vela";
  measurement.operator_unit = "cycles";
  double total = 0;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const Row row(table, i);
    const std::optional<double> cycles = row.number("Op Cycles");
    if (!cycles || !std::isfinite(*cycles) || *cycles < 0)
      return wrong(fmt::format("{}:{}", where, table.lines[i]),
                   fmt::format("row {}, Op Cycles: \"{}\" is no number of at least 0", i + 1,
                               row.text("Op Cycles")));
    const std::string target = row.text("Target");
    OperatorMeasurement op{.cycles = *cycles, .placement = target == "CPU" ? "cpu" : "npu"};
    op.macs = static_cast<int64_t>(row.number("MAC Count").value_or(0));
    op.working_bytes = row.number("Staging Usage").value_or(0);
    if (target == "CPU") {
      ++measurement.cpu_operators;
      op.placement_reason = row.text("Original Operator");
    }
    total += *cycles;
    measurement.operators.push_back(std::move(op));
  }
  if (measurement.operators.empty()) return wrong(where, "has no row");
  if (total > 0) measurement.quantities["cycles_total"] = total;
  measurement.missing["latency_ms"] = "cycles of layers without a clock; the summary file has it";
  if (measurement.cpu_operators > 0)
    report.notes.push_back(
        fmt::format("{} rows on the CPU, which Vela does not price", measurement.cpu_operators));
  return std::vector{std::move(report)};
}

Reports read_label_table(std::string_view text, std::string_view where) {
  EDGESAGE_ASSIGN_OR_RETURN(const CsvTable table,
                            parse_csv(text, where, ErrorCode::kInvalidArgument));
  const std::optional<size_t> model = table.column("model");
  if (!model) return wrong(where, "has no column model");
  std::vector<LabelColumn> columns;
  for (size_t c = 0; c < table.columns.size(); ++c)
    if (const auto found = label_column(std::string(trim(table.columns[c])), c))
      columns.push_back(*found);
  if (columns.empty())
    return wrong(where,
                 "has no column of a quantity with its unit: latency_ms, latency_us, energy_mj, "
                 "peak_ram_bytes, ...");
  std::vector<ForeignReport> reports;
  Refusals refusals;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    ForeignReport report{.format = "csv",
                         .network = std::string(trim(table.rows[i][*model])),
                         .row = i + 1,
                         .measurement = {}};
    const Row row(table, i);
    report.measurement.device = row.text("device");
    report.measurement.statistic = row.text("statistic");
    for (const LabelColumn& column : columns) {
      const std::string_view cell = trim(table.rows[i][column.column]);
      if (cell.empty()) continue;  // not measured
      const std::optional<double> value = number_in(cell);
      if (const std::string reason = Refusals::why(value, cell); !reason.empty())
        refusals.add(i + 1, table.lines[i], table.columns[column.column], reason);
      else
        report.measurement.quantities[column.quantity] = *value * column.factor;
    }
    reports.push_back(std::move(report));
  }
  if (refusals.any()) return refusals.error(where);
  if (reports.empty()) return wrong(where, "has no row");
  return reports;
}

}  // namespace edgesage::foreign
