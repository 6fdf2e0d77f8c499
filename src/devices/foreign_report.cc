#include "src/devices/foreign_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "src/base/text.h"
#include "src/devices/benchmark_model.h"
#include "src/devices/foreign_formats.h"

namespace edgesage {
namespace foreign {

tl::unexpected<Error> wrong(std::string_view where, std::string message) {
  return make_error(ErrorCode::kInvalidArgument, std::string(where), std::move(message));
}

std::optional<double> number_in(std::string_view cell) {
  cell = trim(cell);
  if (cell.starts_with('+')) cell.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error == std::errc::result_out_of_range) return INFINITY;
  if (error != std::errc() || end != cell.data() + cell.size()) return std::nullopt;
  return value;
}

std::string Refusals::why(std::optional<double> value, std::string_view text) {
  if (!value) return fmt::format("\"{}\" is not a number", text.substr(0, 40));
  if (!std::isfinite(*value)) return fmt::format("{} is not finite", *value);
  if (*value <= 0) return fmt::format("{} is not above zero", *value);
  return "";
}

void Refusals::add(size_t row, size_t line, std::string_view column, std::string_view reason) {
  if (count_++ > 0) return;
  row_ = row;
  line_ = line;
  column_ = column;
  reason_ = reason;
}

tl::unexpected<Error> Refusals::error(std::string_view where) const {
  return wrong(
      fmt::format("{}:{}", where, line_),
      fmt::format("row {}, {}: {}{}; correct the row, or take it out", row_, column_, reason_,
                  count_ == 1 ? "" : fmt::format(" ({} more like it)", count_ - 1)));
}

Status take_series(ForeignReport& report, std::vector<double> samples_ms, std::string_view where,
                   std::string_view what) {
  if (samples_ms.empty()) return wrong(where, fmt::format("no {} in it", what));
  for (size_t i = 0; i < samples_ms.size(); ++i)
    if (const std::string reason = Refusals::why(samples_ms[i], ""); !reason.empty())
      return wrong(where, fmt::format("{} {}: {}", what, i + 1, reason));
  report.measurement.quantities["latency_ms"] = *std::ranges::min_element(samples_ms);
  report.measurement.statistic = "min";
  report.measurement.samples_ms = std::move(samples_ms);
  return {};
}

Reports read_benchmark(std::string_view text, std::string_view where) {
  Result<BenchmarkReport> read = parse_benchmark_model(text);
  if (!read) return wrong(where, read.error().to_string());
  ForeignReport report{.format = "benchmark_model", .measurement = {}};
  Measurement& measurement = report.measurement;
  measurement.runtime = "litert";
  measurement.quantities["latency_ms"] = read->min_ms.value_or(read->mean_ms);
  measurement.statistic = read->min_ms ? "min" : "mean";
  const auto add = [&](const char* name, const std::optional<double>& value) {
    if (value && std::isfinite(*value) && *value > 0) measurement.quantities[name] = *value;
  };
  add("first_latency_ms", read->first_ms);
  add("load_ms", read->init_ms);
  add("peak_ram_bytes", read->footprint_bytes);
  for (const BenchmarkOperator& op : read->operators)
    measurement.operators.push_back(
        {.index = op.index, .cycles = op.ms * 1e6, .placement = op.index < 0 ? "delegate" : "cpu"});
  if (!measurement.operators.empty()) measurement.operator_unit = "ns";
  if (measurement.statistic == "mean")
    report.notes.emplace_back("the report has no least run: the mean is taken");
  return std::vector{std::move(report)};
}

namespace {

struct Format {
  const char* name;
  Reports (*read)(std::string_view text, std::string_view where);
  bool (*fits)(std::string_view text);
};

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

bool is_json(std::string_view text) {
  text = trim(text.substr(0, 4096));
  return text.starts_with('[') || text.starts_with('{');
}

// Marks that the formats' own writers make; the table of labels last, which has hardly any.
constexpr Format kFormats[] = {
    {"vela-summary", read_vela_summary,
     [](std::string_view text) {
       return has(first_line(text), "accelerator_configuration") &&
              has(first_line(text), "inference_time");
     }},
    {"vela-layers", read_vela_layers,
     [](std::string_view text) {
       return has(first_line(text), "NNG Operator") && has(first_line(text), "Op Cycles");
     }},
    {"onnxruntime", read_onnxruntime,
     [](std::string_view text) { return is_json(text) && has(text, "_kernel_time"); }},
    {"ai-hub", read_ai_hub,
     [](std::string_view text) { return is_json(text) && has(text, "estimated_inference_time"); }},
    {"trtexec", read_trtexec,
     [](std::string_view text) {
       return is_json(text) && (has(text, "\"averageMs\"") || has(text, "\"computeMs\"") ||
                                has(text, "\"latencyMs\""));
     }},
    {"benchmark_model", read_benchmark,
     [](std::string_view text) {
       return has(text, "Inference timings in us") || has(text, "Timings (microseconds)") ||
              has(text, "node type, first") || has(text, "node type, start") || has(text, " curr=");
     }},
    {"mlperf-tiny", read_mlperf_tiny,
     [](std::string_view text) {
       return has(text, "inf./sec") || has(text, "uJ/inf") || has(text, "inf/sec");
     }},
    {"csv", read_label_table,
     [](std::string_view text) {
       return !is_json(text) && has(first_line(text), ",") && has(first_line(text), "model");
     }},
};

}  // namespace
}  // namespace foreign

const std::vector<std::string>& foreign_formats() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const foreign::Format& format : foreign::kFormats) out.emplace_back(format.name);
    return out;
  }();
  return names;
}

Result<std::vector<ForeignReport>> read_foreign_report(std::string_view text,
                                                       std::string_view where,
                                                       std::string_view format) {
  // A byte order mark is a spreadsheet's, not the format's.
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const auto found = std::ranges::find_if(foreign::kFormats, [&](const foreign::Format& one) {
    return format.empty() ? one.fits(text) : format == one.name;
  });
  if (found == std::end(foreign::kFormats))
    return foreign::wrong(
        where, format.empty() ? fmt::format("is in none of the formats {}; name one with --from",
                                            join(foreign_formats(), ", "))
                              : fmt::format("no format {}; there are {}", format,
                                            join(foreign_formats(), ", ")));
  return found->read(text, where);
}

}  // namespace edgesage
