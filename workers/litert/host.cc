#include "workers/litert/host.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <vector>

#include "workers/litert/litert_session.h"

namespace worker {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

std::string sorted_words(const std::string& text) {
  std::istringstream in(text);
  std::set<std::string> words;
  for (std::string word; in >> word;) words.insert(word);
  std::string joined;
  for (const std::string& word : words) joined += word + " ";
  return joined;
}

// What /proc/cpuinfo says of the kind of CPU on x86 and on Arm, without clocks and serial numbers.
std::set<std::string> cpu_facts() {
  static const std::set<std::string> keys = {"vendor_id",    "cpu family",      "model",
                                             "model name",   "stepping",        "flags",
                                             "Features",     "CPU part",        "CPU variant",
                                             "CPU revision", "CPU implementer", "CPU architecture"};
  std::set<std::string> facts;
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string key = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    if (keys.contains(key)) facts.insert(key + ": " + sorted_words(line.substr(colon + 1)));
  }
  return facts;
}

std::string caches() {
  std::vector<std::string> list;
  std::error_code error;
  for (fs::directory_iterator entry("/sys/devices/system/cpu/cpu0/cache", error), end;
       !error && entry != end; entry.increment(error))
    if (fs::exists(entry->path() / "size"))
      list.push_back(fmt::format("L{} {} {}", first_line(entry->path() / "level"),
                                 first_line(entry->path() / "type"),
                                 first_line(entry->path() / "size")));
  std::sort(list.begin(), list.end());
  return fmt::format("{}", fmt::join(list, ", "));
}

std::string cpu_model() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name") || line.starts_with("Model"))
      return line.substr(std::min(line.size(), line.find(':') + 2));
  return "unknown";
}

}  // namespace

std::string host_fingerprint() {
  std::string text = fmt::format("{} threads; {}", sysconf(_SC_NPROCESSORS_ONLN), caches());
  for (const std::string& fact : cpu_facts()) text += "; " + fact;
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return fmt::format("{:016x}", hash);
}

std::map<std::string, std::string> host_environment() {
  utsname kernel{};
  uname(&kernel);
  const std::string governor = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  return {{"cpu_model", cpu_model()},
          {"cpus", std::to_string(sysconf(_SC_NPROCESSORS_ONLN))},
          {"caches", caches()},
          {"kernel", fmt::format("{} {} {}", kernel.sysname, kernel.release, kernel.machine)},
          {"load_average", first_line("/proc/loadavg")},
          {"governor", governor.empty() ? "unknown: the system does not say" : governor}};
}

std::string affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return "unknown";
  std::vector<std::string> ranges;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(static_cast<size_t>(cpu), &set)) continue;
    int last = cpu;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(static_cast<size_t>(last + 1), &set)) ++last;
    ranges.push_back(cpu == last ? std::to_string(cpu) : fmt::format("{}-{}", cpu, last));
    cpu = last;
  }
  return fmt::format("{}", fmt::join(ranges, ","));
}

RaisedPriority::RaisedPriority(bool wanted) : before_(getpriority(PRIO_PROCESS, 0)) {
  constexpr int kNice = -15;
  raised_ = wanted && setpriority(PRIO_PROCESS, 0, kNice) == 0;
  description_ = fmt::format("nice {}", raised_ ? kNice : before_);
  if (wanted && !raised_) description_ += ": may not be raised";
}

RaisedPriority::~RaisedPriority() {
  if (raised_) setpriority(PRIO_PROCESS, 0, before_);
}

std::vector<int> parse_cores(const std::string& text) {
  const auto refuse = [&] {
    return Refused(
        "bad_options",
        fmt::format("cores is '{}'; allowed: numbers and ranges, e.g. 0,1 or 4-7", text));
  };
  std::vector<int> cores;
  std::istringstream in(text);
  for (std::string range; std::getline(in, range, ',');) {
    int first = 0, last = 0, used = 0;
    const bool is_range = std::sscanf(range.c_str(), "%d-%d%n", &first, &last, &used) == 2;
    if (!is_range) {
      if (std::sscanf(range.c_str(), "%d%n", &first, &used) != 1) throw refuse();
      last = first;
    }
    if (static_cast<size_t>(used) != range.size() || first < 0 || last < first ||
        last >= CPU_SETSIZE)
      throw refuse();
    for (int core = first; core <= last; ++core) cores.push_back(core);
  }
  if (cores.empty()) throw refuse();
  return cores;
}

Pinned::Pinned(const std::vector<int>& cores) {
  if (cores.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0)
    throw Refused("device_failed", "the affinity cannot be read");
  const cpu_set_t allowed = set;
  const std::string allowed_text = affinity();
  CPU_ZERO(&set);
  for (const int core : cores) {
    // The system would silently leave out those that it does not have.
    if (core >= CPU_SETSIZE || !CPU_ISSET(static_cast<size_t>(core), &allowed))
      throw Refused("bad_options",
                    fmt::format("cpu {} cannot be used; allowed: {}", core, allowed_text));
    CPU_SET(static_cast<size_t>(core), &set);
  }
  if (sched_setaffinity(0, sizeof(set), &set) != 0)
    throw Refused("bad_options", fmt::format("the cores cannot be used: {}; allowed: {}",
                                             std::strerror(errno), allowed_text));
  before_.assign(reinterpret_cast<const char*>(&allowed), sizeof(allowed));
}

Pinned::~Pinned() {
  if (before_.empty()) return;
  cpu_set_t set;
  std::memcpy(&set, before_.data(), sizeof(set));
  sched_setaffinity(0, sizeof(set), &set);
}

}  // namespace worker
