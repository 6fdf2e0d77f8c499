#include "src/devices/fitness.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <thread>

#include "src/base/text.h"
#include "src/devices/fitness_probe.h"
#include "src/devices/output_parser.h"

namespace edgesage {
namespace {

namespace fs = std::filesystem;
using fitness::first_line;
using fitness::unknown;

constexpr double kQuietCores = 0.1;
constexpr double kNamedShare = 0.03;  // of a core; processes below it are not named

// What /proc counts, in ticks of the clock.
struct Ticks {
  int cores = 0;
  int64_t total = 0, busy = 0, steal = 0;  // of all cores together
  std::map<int, std::pair<std::string, int64_t>> processes;
};

// "12 (name with) spaces) S 1 ...": the name ends at the last bracket.
void read_process(const fs::path& stat, int pid, Ticks& ticks) {
  const auto line = first_line(stat);
  if (!line) return;
  const size_t open = line->find('('), close = line->rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return;
  std::istringstream fields(line->substr(close + 1));
  std::string skipped;
  constexpr int kFieldsBeforeTimes = 11;  // from the state on
  for (int i = 0; i < kFieldsBeforeTimes; ++i) fields >> skipped;
  int64_t user = 0, system = 0;
  if (fields >> user >> system)
    ticks.processes[pid] = {line->substr(open + 1, close - open - 1), user + system};
}

std::optional<Ticks> read_ticks(const fs::path& root) {
  std::ifstream in(root / "proc/stat");
  Ticks ticks;
  bool read = false;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("cpu")) break;
    std::istringstream fields(line);
    std::string name;
    int64_t user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft = 0, steal = 0;
    fields >> name >> user >> nice >> system >> idle;
    if (!fields) return std::nullopt;
    fields >> wait >> irq >> soft >> steal;  // old kernels have fewer
    if (name != "cpu") {
      ++ticks.cores;
      continue;
    }
    ticks.busy = user + nice + system + irq + soft;
    ticks.steal = steal;
    ticks.total = ticks.busy + idle + wait + steal;
    read = true;
  }
  if (!read || ticks.cores == 0) return std::nullopt;
  for (const auto& [pid, folder] : fitness::numbered(root / "proc", ""))
    read_process(folder / "stat", pid, ticks);
  return ticks;
}

FitnessFinding check_load(const fs::path& root, int cores, int threads) {
  const auto line = first_line(root / "proc/loadavg");
  const auto load = line ? whole_text_number(line->substr(0, line->find(' '))) : std::nullopt;
  if (!load || cores == 0) return unknown("load", "/proc/loadavg or /proc/stat cannot be read");
  FitnessFinding finding{"load", FitnessLevel::kOk, "", "", ""};
  finding.found =
      fmt::format("{:.2f} in the last minute on {} core{}", *load, cores, cores == 1 ? "" : "s");
  if (*load <= 0.25 * cores) return finding;
  const bool full = *load + threads > cores;
  finding.level = full ? FitnessLevel::kUnfit : FitnessLevel::kWarning;
  finding.reason = full ? fmt::format("with {} thread{} more there is work for more than all cores",
                                      threads, threads == 1 ? "" : "s")
                        : "other work shares caches, memory and clock with what is measured";
  finding.remedy = "end other work and wait a minute: the average lags behind";
  return finding;
}

FitnessFinding check_processes(const Ticks& before, const Ticks& after, int threads, int own_pid) {
  const double per_core =
      static_cast<double>(after.total - before.total) / std::max(1, after.cores);
  if (per_core < 1) return unknown("processes", "the counters of /proc/stat did not move");
  std::vector<std::pair<double, std::string>> users;
  double own = 0;
  for (const auto& [pid, process] : after.processes) {
    const auto earlier = before.processes.find(pid);
    if (earlier == before.processes.end()) continue;
    const double cores = static_cast<double>(process.second - earlier->second.second) / per_core;
    if (pid == own_pid)
      own = cores;
    else if (cores > kNamedShare)
      users.emplace_back(cores, fmt::format("{} ({}) {:.2f}", process.first, pid, cores));
  }
  const double others =
      std::max(0.0, static_cast<double>(after.busy - before.busy) / per_core - own);
  std::sort(users.rbegin(), users.rend());
  users.resize(std::min<size_t>(users.size(), 3));
  std::vector<std::string> names;
  for (const auto& user : users) names.push_back(user.second);
  FitnessFinding finding{"processes", FitnessLevel::kOk, "", "", ""};
  finding.found = fmt::format("others use {:.2f} of {} cores{}{}", others, after.cores,
                              names.empty() ? "" : ": ", join(names, ", "));
  if (others <= kQuietCores) return finding;
  const bool full = others + threads > after.cores;
  finding.level = full ? FitnessLevel::kUnfit : FitnessLevel::kWarning;
  finding.reason = full ? "no core is left to what is measured"
                        : "they share caches, memory and clock with what is measured";
  finding.remedy = "end them, or wait for them";
  return finding;
}

FitnessFinding check_steal(const Ticks& before, const Ticks& after) {
  const auto total = static_cast<double>(after.total - before.total);
  if (total < 1) return unknown("steal", "the counters of /proc/stat did not move");
  const double share = static_cast<double>(after.steal - before.steal) / total;
  FitnessFinding finding{"steal", FitnessLevel::kOk, fmt::format("{:.1f} %", 100 * share), "", ""};
  if (share <= 0.01) return finding;
  finding.level = share > 0.05 ? FitnessLevel::kUnfit : FitnessLevel::kWarning;
  finding.reason = "the host gives this virtual machine's time to others";
  finding.remedy = "measure on a machine of your own, or at another time";
  return finding;
}

// The cores that the control group may use; nullopt where there is no limit.
std::optional<double> quota_of(const fs::path& group) {
  if (const auto line = first_line(group / "cpu.max")) {
    const size_t space = line->find(' ');
    const auto quota = whole_text_number(line->substr(0, space));
    const auto period =
        space == std::string::npos ? std::nullopt : whole_text_number(line->substr(space));
    if (quota && period && *period > 0) return *quota / *period;
  }
  const auto quota = fitness::first_number(group / "cpu.cfs_quota_us");
  const auto period = fitness::first_number(group / "cpu.cfs_period_us");
  if (quota && period && *quota > 0 && *period > 0) return *quota / *period;
  return std::nullopt;
}

FitnessFinding check_quota(const fs::path& root, int cores, int threads) {
  const fs::path base = root / "sys/fs/cgroup";
  std::error_code error;
  if (!fs::is_directory(base, error)) return unknown("quota", "/sys/fs/cgroup cannot be read");
  std::optional<double> least;
  const auto take = [&](const fs::path& group) {
    if (const auto quota = quota_of(group)) least = std::min(least.value_or(*quota), *quota);
  };
  take(base);
  take(base / "cpu");
  // "0::/user.slice/session": the limits of all groups above hold too.
  fs::path group = base;
  const std::string own = first_line(root / "proc/self/cgroup").value_or("");
  if (own.starts_with("0::/"))
    for (const std::string& name : split(own.substr(4), '/')) {
      if (name.empty() || name == "..") break;
      group /= name;
      take(group);
    }
  if (!least) return {"quota", FitnessLevel::kOk, "no limit", "", ""};
  FitnessFinding finding{"quota", FitnessLevel::kOk, fmt::format("{:.2f} cores", *least), "", ""};
  if (*least >= cores) return finding;
  finding.level = *least < threads ? FitnessLevel::kUnfit : FitnessLevel::kWarning;
  finding.reason = "the control group stops the process when its share of a period is used up";
  finding.remedy = "give the container or the slice more CPU, e.g. docker run --cpus";
  return finding;
}

}  // namespace

Result<Fitness> check_fitness(const DeviceDescription& device, const FitnessPaths& paths) {
  Fitness fitness;
  fitness.device = device.name;
  if (!device.local) {
    fitness.findings.push_back(
        device.statistic == "estimate"
            ? FitnessFinding{"estimate", FitnessLevel::kOk,
                             "a compiler's estimate does not depend on the machine", "", ""}
            : unknown("device", "it is not this computer, and has no check of its own"));
    return fitness;
  }
  const int threads =
      static_cast<int>(std::clamp<int64_t>(json_int(device.options, "threads", 1), 1, 1024));
  std::vector<int> cores;
  if (device.options.contains("cores")) {
    EDGESAGE_ASSIGN_OR_RETURN(cores, parse_cores(device.options["cores"]));
  }
  const auto before = read_ticks(paths.root);
  const auto throttled_before = fitness::throttle_events(paths.root);
  if (paths.wait)
    paths.wait();
  else
    std::this_thread::sleep_for(paths.interval);
  const auto after = read_ticks(paths.root);
  const auto throttled_after = fitness::throttle_events(paths.root);

  auto& findings = fitness.findings;
  const int all = after ? after->cores : 0;
  findings.push_back(fitness::check_governor(paths.root, cores));
  findings.push_back(fitness::check_turbo(paths.root));
  findings.push_back(check_load(paths.root, all, threads));
  if (before && after) {
    const int own = paths.own_pid != 0 ? paths.own_pid : static_cast<int>(getpid());
    findings.push_back(check_processes(*before, *after, threads, own));
    findings.push_back(check_steal(*before, *after));
  } else {
    findings.push_back(unknown("processes", "/proc/stat cannot be read"));
    findings.push_back(unknown("steal", "/proc/stat cannot be read"));
  }
  findings.push_back(check_quota(paths.root, all, threads));
  findings.push_back(fitness::check_temperature(paths.root));
  findings.push_back(fitness::check_throttling(throttled_before, throttled_after));
  for (const FitnessFinding& finding : findings)
    if (finding.level != FitnessLevel::kUnknown)
      fitness.level = std::max(fitness.level, finding.level);
  return fitness;
}

}  // namespace edgesage
