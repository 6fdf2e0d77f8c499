// Profiles of runtimes and services: ONNX Runtime, trtexec, AI Hub, MLPerf Tiny.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "src/base/text.h"
#include "src/devices/foreign_formats.h"
#include "src/devices/statistics.h"

namespace edgesage::foreign {
namespace {

constexpr double kUs = 1e-3;  // in ms

Result<Json> array_of(std::string_view text, std::string_view where) {
  EDGESAGE_ASSIGN_OR_RETURN(Json file, parse_json(text, where, ErrorCode::kInvalidArgument));
  if (!file.is_array()) return wrong(where, "is no list of events");
  return file;
}

std::vector<double> numbers(const Json& object, const char* key, double factor) {
  std::vector<double> out;
  if (!object.is_object() || !object.contains(key) || !object[key].is_array()) return out;
  for (const Json& value : object[key])
    out.push_back(value.is_number() ? value.get<double>() * factor : NAN);
  return out;
}

}  // namespace

// Events in microseconds. The first run of a session is the cold one.
Reports read_onnxruntime(std::string_view text, std::string_view where) {
  EDGESAGE_ASSIGN_OR_RETURN(const Json events, array_of(text, where));
  ForeignReport report{.format = "onnxruntime", .measurement = {}};
  Measurement& measurement = report.measurement;
  measurement.runtime = "onnxruntime";
  std::vector<double> runs;
  double load = 0;
  struct Node {
    double us = 0;
    int64_t calls = 0;
    std::string provider;
  };
  std::map<int64_t, Node> nodes;
  for (const Json& event : events) {
    const std::string name = json_string(event, "name");
    const double us = json_number(event, "dur", NAN);
    if (name == "model_run") runs.push_back(us * kUs);
    if (name.starts_with("model_loading") || name == "session_initialization") load += us * kUs;
    if (!name.ends_with("_kernel_time") || !event.contains("args")) continue;
    const std::optional<double> index = number_in(json_string(event["args"], "node_index"));
    if (!index || !std::isfinite(us)) continue;
    Node& node = nodes[static_cast<int64_t>(*index)];
    node.us += us;
    ++node.calls;
    node.provider = json_string(event["args"], "provider");
  }
  if (runs.size() > 1) {
    if (runs.front() > 0) measurement.quantities["first_latency_ms"] = runs.front();
    runs.erase(runs.begin());
  } else {
    report.notes.emplace_back("only one run, the first, which is slower than those that follow");
  }
  EDGESAGE_RETURN_IF_ERROR(take_series(report, std::move(runs), where, "run (model_run)"));
  if (load > 0) measurement.quantities["load_ms"] = load;
  for (const auto& [index, node] : nodes)
    measurement.operators.push_back(
        {.index = static_cast<int32_t>(index),
         .cycles = 1e3 * node.us / static_cast<double>(node.calls),
         .placement = node.provider == "CPUExecutionProvider" ? "cpu" : node.provider});
  if (!nodes.empty()) measurement.operator_unit = "ns";
  report.notes.emplace_back(
      "profiled: the profiler's own time is in the runs; nodes are those of the optimised graph");
  return std::vector{std::move(report)};
}

Reports read_trtexec(std::string_view text, std::string_view where) {
  EDGESAGE_ASSIGN_OR_RETURN(const Json rows, array_of(text, where));
  ForeignReport report{.format = "trtexec", .measurement = {}};
  Measurement& measurement = report.measurement;
  measurement.runtime = "tensorrt";
  std::vector<double> runs;
  double count = 0, layers_ms = 0;
  size_t index = 0;
  for (const Json& row : rows) {
    ++index;
    if (json_number(row, "count", 0) > 0) count = json_number(row, "count", 0);
    // Of --exportTimes: what the GPU computed, without copies from and to the host.
    if (const double ms = json_number(row, "computeMs", json_number(row, "latencyMs", NAN));
        !std::isnan(ms))
      runs.push_back(ms);
    if (!row.is_object() || !row.contains("averageMs")) continue;
    const double average = json_number(row, "averageMs", NAN);
    const double total = json_number(row, "timeMs", NAN);
    if (!std::isfinite(average) || average < 0)
      return wrong(where, fmt::format("entry {}, averageMs: no time of at least 0", index));
    if (count > 0 && std::isfinite(total) &&
        std::abs(total - average * count) > 0.02 * total + 0.02)
      return wrong(where, fmt::format("entry {}: averageMs {} in {} runs is not timeMs {}", index,
                                      average, count, total));
    layers_ms += average;
    measurement.operators.push_back({.cycles = average * 1e6, .placement = "gpu"});
  }
  if (!runs.empty()) {
    EDGESAGE_RETURN_IF_ERROR(take_series(report, std::move(runs), where, "run (computeMs)"));
    return std::vector{std::move(report)};
  }
  if (measurement.operators.empty()) return wrong(where, "has neither layers nor runs");
  if (const std::string reason = Refusals::why(layers_ms, ""); !reason.empty())
    return wrong(where, "the sum of averageMs: " + reason);
  measurement.operator_unit = "ns";
  measurement.quantities["latency_ms"] = layers_ms;
  measurement.statistic = "mean";
  report.notes.emplace_back(
      "the sum of the layers' means: without what is between them; --exportTimes has whole runs");
  return std::vector{std::move(report)};
}

// Microseconds and bytes.
Reports read_ai_hub(std::string_view text, std::string_view where) {
  EDGESAGE_ASSIGN_OR_RETURN(const Json file, parse_json(text, where, ErrorCode::kInvalidArgument));
  if (!file.is_object() || !file.contains("execution_summary"))
    return wrong(where, "has no execution_summary");
  const Json& summary = file["execution_summary"];
  ForeignReport report{.format = "ai-hub", .measurement = {}};
  Measurement& measurement = report.measurement;
  const double estimate = json_number(summary, "estimated_inference_time", NAN) * kUs;
  std::vector<double> runs = numbers(summary, "all_inference_times", kUs);
  if (runs.empty()) {
    if (const std::string reason = Refusals::why(estimate, ""); !reason.empty())
      return wrong(where, "estimated_inference_time: " + reason);
    measurement.quantities["latency_ms"] = estimate;
    measurement.statistic = "estimate";
  } else {
    EDGESAGE_RETURN_IF_ERROR(
        take_series(report, std::move(runs), where, "run (all_inference_times)"));
  }
  const auto add = [&](const char* key, const char* name, double unit) {
    const double value = json_number(summary, key, NAN) * unit;
    if (std::isfinite(value) && value > 0) measurement.quantities[name] = value;
  };
  add("estimated_inference_peak_memory", "peak_ram_bytes", 1);
  add("first_load_time", "load_ms", kUs);
  if (file.contains("execution_detail") && file["execution_detail"].is_array())
    for (const Json& layer : file["execution_detail"]) {
      const double us = json_number(layer, "execution_time", NAN);
      std::string unit = json_string(layer, "compute_unit");
      std::ranges::transform(unit, unit.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      });
      if (unit == "cpu") ++measurement.cpu_operators;
      measurement.operators.push_back(
          {.cycles = std::isfinite(us) ? us * 1e3 : 0, .placement = unit});
    }
  if (!measurement.operators.empty()) measurement.operator_unit = "ns";
  if (measurement.cpu_operators > 0)
    report.notes.push_back(fmt::format("{} layers on the CPU", measurement.cpu_operators));
  return std::vector{std::move(report)};
}

// Windows of a run: "Throughput : 51.12 inf./sec." and "Energy : 123.4 uJ/inf."; the median of them
// is the result.
Reports read_mlperf_tiny(std::string_view text, std::string_view where) {
  std::vector<double> rates, energies, stated_rate, stated_energy;
  size_t line_number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++line_number;
    const bool is_rate =
        line.find("inf./sec") != std::string::npos || line.find("inf/sec") != std::string::npos;
    const bool is_energy = line.find("uJ/inf") != std::string::npos;
    if (!is_rate && !is_energy) continue;
    // The number before the unit.
    std::optional<double> value;
    std::string came;
    for (const std::string& word : split(line, ' ')) {
      if (word.starts_with(is_rate ? "inf" : "uJ")) break;
      if (const auto number = number_in(word)) value = number;
      if (!word.empty()) came = word;
    }
    if (const std::string reason = Refusals::why(value, came); !reason.empty())
      return wrong(fmt::format("{}:{}", where, line_number), reason);
    const bool stated = line.find("edian") != std::string::npos;
    (is_rate ? (stated ? stated_rate : rates) : (stated ? stated_energy : energies))
        .push_back(*value);
  }
  ForeignReport report{.format = "mlperf-tiny", .measurement = {}};
  const auto settle = [&](const std::vector<double>& windows, const std::vector<double>& stated,
                          const char* what) -> Result<std::optional<double>> {
    if (windows.empty() && stated.empty()) return std::optional<double>();
    const double result = windows.empty() ? stated.back() : median(windows);
    if (!stated.empty() && std::abs(stated.back() / result - 1) > 0.01)
      return wrong(where, fmt::format("the median {} is stated as {}, but that of the {} windows "
                                      "is {}; is it the log of several runs?",
                                      what, stated.back(), windows.size(), result));
    if (windows.size() != 5)
      report.notes.push_back(fmt::format("{} windows; the rules ask for 5", windows.size()));
    return std::optional(result);
  };
  EDGESAGE_ASSIGN_OR_RETURN(const auto rate, settle(rates, stated_rate, "throughput"));
  EDGESAGE_ASSIGN_OR_RETURN(const auto energy, settle(energies, stated_energy, "energy"));
  if (!rate && !energy) return wrong(where, "has neither inferences a second nor microjoules");
  if (rate) report.measurement.quantities["latency_ms"] = 1e3 / *rate;
  if (energy) report.measurement.quantities["energy_mj"] = 1e-3 * *energy;
  report.measurement.statistic = "p50";
  report.notes.emplace_back("one inference is the reciprocal of the throughput of a single stream");
  return std::vector{std::move(report)};
}

}  // namespace edgesage::foreign
