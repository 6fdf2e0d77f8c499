#include "src/devices/power_sensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "src/base/text.h"
#include "src/devices/fitness_probe.h"

namespace edgesage {
namespace fs = std::filesystem;
namespace {

constexpr double kMicro = 1e-6, kMilli = 1e-3;

tl::unexpected<Error> failed(const std::string& where, std::string message) {
  return make_error(ErrorCode::kDeviceFailed, where, std::move(message));
}

Result<std::string> first_line(const fs::path& file) {
  std::optional<std::string> line = fitness::first_line(file);
  if (!line) return failed(file.string(), "cannot be read; it may be for root alone");
  return *std::move(line);
}

Result<double> number_of(const fs::path& file) {
  EDGESAGE_ASSIGN_OR_RETURN(const std::string text, first_line(file));
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return failed(file.string(), fmt::format("\"{}\" is not a number", text.substr(0, 40)));
  return value;
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) out.push_back(entry.path());
  std::ranges::sort(out);
  return out;
}

bool is_there(const fs::path& file) {
  std::error_code ignored;
  return fs::exists(file, ignored);
}

// Takes a sensor that can be read now, and else keeps the reason.
void take(PowerSensor sensor, FoundSensors& found) {
  if (const Result<double> now = read_sensor(sensor); now)
    found.usable.push_back(std::move(sensor));
  else
    found.reasons.push_back(fmt::format("{}: {}", sensor.source, now.error().to_string()));
}

// Packages and other top domains; parts of a package ("intel-rapl:0:0") would count twice.
void find_rapl(const fs::path& sysfs, FoundSensors& found) {
  const fs::path folder = sysfs / "class" / "powercap";
  bool any = false;
  for (const fs::path& zone : entries_of(folder)) {
    const std::string name = zone.filename().string();
    if (std::ranges::count(name, ':') != 1 || !is_there(zone / "energy_uj")) continue;
    any = true;
    const Result<std::string> label = first_line(zone / "name");
    // "psys" is the whole platform: packages are in it.
    if (label && *label == "psys") continue;
    PowerSensor sensor{
        .source = "rapl:" + (label ? *label : name), .counter = true, .value = zone / "energy_uj"};
    if (const Result<double> range = number_of(zone / "max_energy_range_uj"); range)
      sensor.range_uj = *range;
    take(std::move(sensor), found);
  }
  if (!any) found.reasons.push_back("rapl: there is none (class/powercap has no energy_uj)");
}

void find_hwmon(const fs::path& sysfs, FoundSensors& found) {
  bool any = false;
  for (const fs::path& chip : entries_of(sysfs / "class" / "hwmon")) {
    const Result<std::string> name = first_line(chip / "name");
    if (!name || !name->starts_with("ina")) continue;
    any = true;
    PowerSensor sensor{.source = "hwmon:" + *name};
    if (is_there(chip / "power1_input")) {
      sensor.value = chip / "power1_input";  // microwatts
    } else {
      sensor.current = chip / "curr1_input";  // milliamperes
      sensor.voltage = chip / "in1_input";    // millivolts
      sensor.current_unit = sensor.voltage_unit = kMilli;
    }
    take(std::move(sensor), found);
  }
  if (!any) found.reasons.push_back("hwmon: there is no INA chip (class/hwmon/*/name)");
}

void find_batteries(const fs::path& sysfs, FoundSensors& found) {
  bool any = false;
  for (const fs::path& supply : entries_of(sysfs / "class" / "power_supply")) {
    const Result<std::string> type = first_line(supply / "type");
    if (!type || *type != "Battery") continue;
    any = true;
    PowerSensor sensor{.source = "battery:" + supply.filename().string()};
    const Result<std::string> status = first_line(supply / "status");
    if (!status || *status != "Discharging") {
      found.reasons.push_back(
          fmt::format("{}: its status is {}; unplug the charger, so that it feeds the machine",
                      sensor.source, status ? *status : "not known"));
      continue;
    }
    if (is_there(supply / "power_now")) {
      sensor.value = supply / "power_now";  // microwatts
    } else {
      sensor.current = supply / "current_now";  // microamperes
      sensor.voltage = supply / "voltage_now";  // microvolts
      sensor.current_unit = sensor.voltage_unit = kMicro;
    }
    take(std::move(sensor), found);
  }
  if (!any) found.reasons.push_back("battery: there is none (class/power_supply)");
}

// The step of a counter between two readings.
Result<double> step_of(const PowerSensor& sensor, double before, double now) {
  if (now >= before) return now - before;
  if (sensor.range_uj <= 0)
    return failed(sensor.source,
                  fmt::format("went back from {:.0f} to {:.0f} uJ, and where it begins anew is not "
                              "known",
                              before, now));
  if (before > sensor.range_uj || now > sensor.range_uj)
    return failed(sensor.source, fmt::format("went back from {:.0f} to {:.0f} uJ, beyond its range "
                                             "of {:.0f}",
                                             before, now, sensor.range_uj));
  return sensor.range_uj - before + now;
}

}  // namespace

FoundSensors find_power_sensors(const fs::path& sysfs) {
  FoundSensors found;
  find_rapl(sysfs, found);
  find_hwmon(sysfs, found);
  find_batteries(sysfs, found);
  return found;
}

Result<double> read_sensor(const PowerSensor& sensor) {
  if (!sensor.value.empty()) {
    EDGESAGE_ASSIGN_OR_RETURN(const double value, number_of(sensor.value));
    // Some gauges give what leaves a battery as a negative number.
    return sensor.counter ? value : std::abs(value);
  }
  EDGESAGE_ASSIGN_OR_RETURN(const double current, number_of(sensor.current));
  EDGESAGE_ASSIGN_OR_RETURN(const double voltage, number_of(sensor.voltage));
  return std::abs(current) * sensor.current_unit * voltage * sensor.voltage_unit / kMicro;
}

Result<EnergySpan> energy_of(const PowerSensor& sensor, const std::vector<SensorSample>& samples) {
  if (samples.size() < 2) return failed(sensor.source, "was read less than twice");
  EnergySpan span;
  double microjoules = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    const SensorSample& now = samples[i];
    if (!std::isfinite(now.value) || now.value < 0)
      return failed(sensor.source, fmt::format("gave {}", now.value));
    if (i == 0) continue;
    const SensorSample& before = samples[i - 1];
    if (now.seconds < before.seconds) return failed(sensor.source, "its times go back");
    if (now.value != before.value) ++span.ticks;
    if (sensor.counter) {
      EDGESAGE_ASSIGN_OR_RETURN(const double step, step_of(sensor, before.value, now.value));
      microjoules += step;
    } else {
      microjoules += (now.value + before.value) / 2 * (now.seconds - before.seconds);
    }
  }
  span.seconds = samples.back().seconds - samples.front().seconds;
  span.energy_mj = microjoules * 1e-3;
  return span;
}

InferenceEnergy energy_per_inference(const EnergySpan& idle, const EnergySpan& few,
                                     int64_t few_inferences, const EnergySpan& many,
                                     int64_t many_inferences) {
  InferenceEnergy out;
  if (idle.seconds > 0) out.idle_mw = idle.energy_mj / idle.seconds;
  if (many_inferences <= few_inferences || many.seconds <= 0) {
    out.reason = "the two runs do not differ in their inferences";
  } else if (many.ticks == 0) {
    out.reason = fmt::format("the sensor is stuck: it did not change in {:.3g} s", many.seconds);
  } else if (many.ticks < kLeastTicks) {
    out.reason = fmt::format("the sensor changed {} times in {:.3g} s; {} are needed", many.ticks,
                             many.seconds, kLeastTicks);
  } else {
    const auto above = [&](const EnergySpan& span) {
      return span.energy_mj - out.idle_mw * span.seconds;
    };
    const double each =
        (above(many) - above(few)) / static_cast<double>(many_inferences - few_inferences);
    if (each > 0)
      out.energy_mj = each;
    else
      out.reason =
          fmt::format("the runs took no more than the idle machine ({:.4g} mW)", out.idle_mw);
  }
  return out;
}

}  // namespace edgesage
