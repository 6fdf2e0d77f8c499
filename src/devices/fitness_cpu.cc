// Clock and heat of the CPU, from sysfs.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <set>
#include <system_error>

#include "src/base/text.h"
#include "src/devices/fitness_probe.h"
#include "src/devices/output_parser.h"

namespace edgesage::fitness {
namespace {

constexpr double kAssumedLimitC = 90;
constexpr double kWarningK = 15, kUnfitK = 5;
// Sensors that are not connected say such things.
constexpr double kColdestC = 1, kHottestC = 150;

// One sensor in degrees Celsius, with the temperature at which it will slow the machine down.
struct Sensor {
  std::string name;
  double celsius = 0;
  std::optional<double> limit;
};

std::optional<double> millidegrees(const fs::path& path) {
  const std::optional<double> value = first_number(path);
  return value ? std::optional(*value / 1000) : std::nullopt;
}

void lower_limit(Sensor& sensor, std::optional<double> limit) {
  if (limit && *limit > kColdestC && *limit < kHottestC)
    sensor.limit = std::min(sensor.limit.value_or(*limit), *limit);
}

std::vector<Sensor> thermal_zones(const fs::path& root) {
  std::vector<Sensor> sensors;
  for (const auto& [number, zone] : numbered(root / "sys/class/thermal", "thermal_zone")) {
    const auto celsius = millidegrees(zone / "temp");
    if (!celsius) continue;
    Sensor sensor{first_line(zone / "type").value_or(fmt::format("thermal zone {}", number)),
                  *celsius, std::nullopt};
    for (int trip = 0; trip < 32; ++trip) {
      const auto type = first_line(zone / fmt::format("trip_point_{}_type", trip));
      if (!type) break;
      if (*type == "passive" || *type == "hot" || *type == "critical")
        lower_limit(sensor, millidegrees(zone / fmt::format("trip_point_{}_temp", trip)));
    }
    sensors.push_back(std::move(sensor));
  }
  return sensors;
}

std::vector<Sensor> hardware_monitors(const fs::path& root) {
  std::vector<Sensor> sensors;
  for (const auto& [number, chip] : numbered(root / "sys/class/hwmon", "hwmon"))
    for (int input = 1; input <= 64; ++input) {
      const auto celsius = millidegrees(chip / fmt::format("temp{}_input", input));
      if (!celsius) continue;
      const std::string name = first_line(chip / "name").value_or(fmt::format("hwmon{}", number));
      Sensor sensor{fmt::format("{} {}", name,
                                first_line(chip / fmt::format("temp{}_label", input))
                                    .value_or(fmt::format("temp{}", input))),
                    *celsius, std::nullopt};
      lower_limit(sensor, millidegrees(chip / fmt::format("temp{}_max", input)));
      lower_limit(sensor, millidegrees(chip / fmt::format("temp{}_crit", input)));
      sensors.push_back(std::move(sensor));
    }
  return sensors;
}

}  // namespace

std::optional<std::string> first_line(const fs::path& path) {
  std::ifstream in(path);
  std::string line;
  if (!std::getline(in, line)) return std::nullopt;
  return std::string(trim(line));
}

std::optional<double> first_number(const fs::path& path) {
  const auto line = first_line(path);
  return line ? whole_text_number(*line) : std::nullopt;
}

std::vector<std::pair<int, fs::path>> numbered(const fs::path& folder, const std::string& prefix) {
  std::vector<std::pair<int, fs::path>> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(prefix)) continue;
    int number = 0;
    const char* last = name.data() + name.size();
    const auto read = std::from_chars(name.data() + prefix.size(), last, number);
    if (read.ec == std::errc() && read.ptr == last) found.emplace_back(number, entry->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

FitnessFinding unknown(std::string check, std::string reason) {
  return {std::move(check), FitnessLevel::kUnknown, "", std::move(reason), ""};
}

FitnessFinding check_governor(const fs::path& root, const std::vector<int>& cores) {
  std::map<std::string, int> counts;
  std::string driver;
  for (const auto& [number, cpu] : numbered(root / "sys/devices/system/cpu", "cpu")) {
    if (!cores.empty() && std::find(cores.begin(), cores.end(), number) == cores.end()) continue;
    const auto governor = first_line(cpu / "cpufreq/scaling_governor");
    if (governor) ++counts[*governor];
    if (driver.empty()) driver = first_line(cpu / "cpufreq/scaling_driver").value_or("");
  }
  if (counts.empty())
    return unknown("governor",
                   "no cpufreq/scaling_governor can be read: a virtual machine, or the "
                   "clock is not the kernel's to set");
  FitnessFinding finding{"governor", FitnessLevel::kOk, "", "", ""};
  std::vector<std::string> found;
  for (const auto& [governor, count] : counts)
    found.push_back(fmt::format("{} on {} core{}", governor, count, count == 1 ? "" : "s"));
  finding.found = join(found, ", ");
  if (counts.size() == 1 && counts.contains("performance")) return finding;
  // These drivers call a governor "powersave" that does raise the clock under load.
  const bool dynamic = driver.starts_with("intel_pstate") || driver.starts_with("amd-pstate-epp") ||
                       driver.starts_with("amd_pstate");
  const bool slow = counts.contains("powersave") && !dynamic;
  finding.level = slow ? FitnessLevel::kUnfit : FitnessLevel::kWarning;
  finding.reason = slow ? "the clock is held low: labels would be those of another device"
                        : "the clock follows the load: the first runs are slower than the last";
  finding.remedy = "set the governor: sudo cpupower frequency-set -g performance";
  return finding;
}

FitnessFinding check_turbo(const fs::path& root) {
  const fs::path cpu = root / "sys/devices/system/cpu";
  const auto no_turbo = first_line(cpu / "intel_pstate/no_turbo");
  const auto boost = first_line(cpu / "cpufreq/boost");
  if (!no_turbo && !boost)
    return unknown("turbo", "neither intel_pstate/no_turbo nor cpufreq/boost can be read");
  const bool on = no_turbo ? *no_turbo == "0" : *boost == "1";
  if (!on) return {"turbo", FitnessLevel::kOk, "off", "", ""};
  return {"turbo", FitnessLevel::kWarning, "on",
          "how high the clock goes depends on heat and on the other cores",
          no_turbo ? "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"
                   : "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost"};
}

FitnessFinding check_temperature(const fs::path& root) {
  std::vector<Sensor> sensors = thermal_zones(root);
  for (Sensor& sensor : hardware_monitors(root)) sensors.push_back(std::move(sensor));
  const auto margin = [](const Sensor& sensor) {
    return sensor.limit.value_or(kAssumedLimitC) - sensor.celsius;
  };
  std::erase_if(sensors, [](const Sensor& sensor) {
    return sensor.celsius < kColdestC || sensor.celsius > kHottestC;
  });
  if (sensors.empty())
    return unknown("temperature", "no thermal zone and no hwmon sensor gives a temperature");
  const Sensor& worst =
      *std::min_element(sensors.begin(), sensors.end(),
                        [&](const Sensor& a, const Sensor& b) { return margin(a) < margin(b); });
  FitnessFinding finding{"temperature", FitnessLevel::kOk, "", "", ""};
  finding.found = fmt::format("{} at {:.0f} C, limit {:.0f} C{}", worst.name, worst.celsius,
                              worst.limit.value_or(kAssumedLimitC), worst.limit ? "" : " assumed");
  if (margin(worst) > kWarningK) return finding;
  finding.level = margin(worst) > kUnfitK ? FitnessLevel::kWarning : FitnessLevel::kUnfit;
  finding.reason = "near its limit the machine slows itself down";
  finding.remedy = "let it cool down, or improve its cooling";
  return finding;
}

std::optional<int64_t> throttle_events(const fs::path& root) {
  std::optional<int64_t> events;
  for (const auto& [number, cpu] : numbered(root / "sys/devices/system/cpu", "cpu"))
    for (const char* counter : {"core_throttle_count", "package_throttle_count"})
      if (const auto count = first_number(cpu / "thermal_throttle" / counter))
        events = events.value_or(0) + static_cast<int64_t>(*count);
  return events;
}

FitnessFinding check_throttling(std::optional<int64_t> before, std::optional<int64_t> after) {
  if (!before || !after)
    return unknown("throttling", "no thermal_throttle counters: this CPU or kernel has none");
  const std::string found =
      fmt::format("{} events since the start, {} while looking", *after, *after - *before);
  if (*after > *before)
    return {"throttling", FitnessLevel::kUnfit, found, "the CPU is being throttled now",
            "let it cool down, or improve its cooling"};
  if (*after > 0)
    return {"throttling", FitnessLevel::kWarning, found,
            "it was throttled before, and may be again under load",
            "keep runs short, and look again afterwards"};
  return {"throttling", FitnessLevel::kOk, found, "", ""};
}

}  // namespace edgesage::fitness
