#include "src/devices/power_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/base/csv.h"
#include "src/devices/foreign_formats.h"
#include "src/devices/power_sensor.h"

namespace edgesage {
namespace {

using foreign::wrong;

struct NamedUnit {
  const char* column;
  double factor;
};
constexpr NamedUnit kTimes[] = {{"time_s", 1}, {"time_ms", 1e-3}, {"time_us", 1e-6}};
constexpr NamedUnit kPowers[] = {{"power_w", 1e3}, {"power_mw", 1}, {"power_uw", 1e-3}};
constexpr NamedUnit kCurrents[] = {{"current_a", 1}, {"current_ma", 1e-3}, {"current_ua", 1e-6}};
constexpr NamedUnit kVoltages[] = {{"voltage_v", 1}, {"voltage_mv", 1e-3}};

struct Column {
  size_t index = 0;
  double factor = 1;
};

template <size_t kCount>
std::optional<Column> find(const CsvTable& table, const NamedUnit (&names)[kCount]) {
  for (const NamedUnit& name : names)
    if (const auto index = table.column(name.column)) return Column{*index, name.factor};
  return std::nullopt;
}

struct Sample {
  double seconds = 0, milliwatts = 0, marker = 0;
};

Result<std::vector<Sample>> samples_of(const CsvTable& table, std::string_view where) {
  const auto time = find(table, kTimes), power = find(table, kPowers);
  const auto current = find(table, kCurrents), voltage = find(table, kVoltages);
  const auto marker = table.column("marker");
  if (!time || !marker || (!power && !(current && voltage)))
    return wrong(where,
                 "needs columns for time (time_s, time_ms, time_us), power (power_w, power_mw, "
                 "power_uw, or current_... and voltage_...) and marker");
  std::vector<Sample> samples;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    bool good = true;
    const auto value = [&](const Column& column) {
      const auto number = foreign::number_in(table.rows[i][column.index]);
      good = good && number && std::isfinite(*number);
      return number.value_or(0) * column.factor;
    };
    Sample sample{.seconds = value(*time), .marker = value({*marker, 1})};
    sample.milliwatts = power ? value(*power) : value(*current) * value(*voltage) * 1e3;
    const std::string place = fmt::format("{}:{}", where, table.lines[i]);
    if (!good) return wrong(place, fmt::format("row {}: a cell is not a finite number", i + 1));
    if (!samples.empty() && sample.seconds <= samples.back().seconds)
      return wrong(place, fmt::format("row {}: its time is not after the row before", i + 1));
    samples.push_back(sample);
  }
  if (samples.size() < 2) return wrong(where, "has fewer than two rows");
  return samples;
}

// Energy and time on one side of the marker.
struct Side {
  double millijoules = 0, seconds = 0;
  void add(const Sample& from, const Sample& to) {
    const double step = to.seconds - from.seconds;
    seconds += step;
    millijoules += step * (from.milliwatts + to.milliwatts) / 2;
  }
};

}  // namespace

Result<ForeignReport> read_power_trace(std::string_view text, std::string_view where,
                                       int64_t inferences_a_window) {
  if (inferences_a_window < 1) return wrong(where, "a window has at least one inference");
  EDGESAGE_ASSIGN_OR_RETURN(const CsvTable table,
                            parse_csv(text, where, ErrorCode::kInvalidArgument));
  EDGESAGE_ASSIGN_OR_RETURN(const std::vector<Sample> samples, samples_of(table, where));
  const double most = std::ranges::max_element(samples, {}, &Sample::marker)->marker;
  const auto is_high = [&](const Sample& sample) { return most > 0 && sample.marker > most / 2; };
  if (is_high(samples.front()) || is_high(samples.back()))
    return wrong(where,
                 "a window is cut off by an end of the file: begin and end with the device "
                 "idle");
  Side running, idle;
  int64_t windows = 0, in_window = 0;
  for (size_t i = 1; i < samples.size(); ++i) {
    const bool was = is_high(samples[i - 1]), now = is_high(samples[i]);
    // A step across an edge belongs to the window: the inference began or ended within it.
    (was || now ? running : idle).add(samples[i - 1], samples[i]);
    if (now) ++in_window;
    if (now && !was) ++windows;
    if (was && !now) {
      if (in_window < kLeastTicks)
        return wrong(where, fmt::format("window {} has {} samples; {} are needed: run more "
                                        "inferences in a window, or sample faster",
                                        windows, in_window, kLeastTicks));
      in_window = 0;
    }
  }
  if (windows == 0) return wrong(where, "the marker is never raised");
  if (idle.seconds <= 0) return wrong(where, "there is no idle time between the windows");
  ForeignReport report{.format = "power-monitor", .measurement = {}};
  Measurement& measurement = report.measurement;
  const auto inferences = static_cast<double>(windows * inferences_a_window);
  const double idle_mw = idle.millijoules / idle.seconds;
  const double energy = (running.millijoules - idle_mw * running.seconds) / inferences;
  measurement.quantities["latency_ms"] = 1e3 * running.seconds / inferences;
  measurement.statistic = "mean";
  measurement.protocol["energy_source"] = "power monitor";
  measurement.protocol["energy_idle_mw"] = fmt::format("{:.6g}", idle_mw);
  measurement.protocol["energy_inferences"] = std::to_string(windows * inferences_a_window);
  if (energy > 0)
    measurement.quantities["energy_mj"] = energy;
  else
    measurement.missing["energy_mj"] =
        fmt::format("the runs took no more than the idle device ({:.4g} mW)", idle_mw);
  report.notes.push_back(
      fmt::format("{} windows; {:.4g} mW idle are subtracted", windows, idle_mw));
  return report;
}

}  // namespace edgesage
