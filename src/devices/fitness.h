// Is this computer fit to be measured? Looked at before a campaign on a device that is this
// computer; a compiler's estimate does not care, and of a machine behind commands nothing is known.
//
// | check | read from | warning | unfit |
// |---|---|---|---|
// | governor | cpufreq/scaling_governor | not "performance" | "powersave" (a fixed low clock) |
// | turbo | intel_pstate/no_turbo, cpufreq/boost | on | |
// | load | /proc/loadavg against cores | above a quarter of them | with the threads, more than all
// | | processes | /proc/stat, /proc/<pid>/stat | others use 0.1 cores | with the threads, all | |
// steal | /proc/stat | above 1 % | above 5 % | | quota | cgroup cpu.max | less than the cores |
// less than the threads | | temperature | thermal zones, hwmon | 15 K below the limit | 5 K below
// it | | throttling | thermal_throttle counters | since the start | while looking |
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>

#include "edgesage/fitness.h"
#include "edgesage/result.h"
#include "src/devices/device.h"

namespace edgesage {

// Where to read; tests put a tree of their own in place of the system's.
struct FitnessPaths {
  std::filesystem::path root = "/";         // holds proc/ and sys/
  std::chrono::milliseconds interval{500};  // between the two readings of the counters
  std::function<void()> wait;               // in place of sleeping for `interval`
  int own_pid = 0;                          // whose CPU time is not a disturbance; 0: this process
};

// Takes `interval`. What cannot be read is a finding of its own, with the reason. Today it never
// fails for a device that is described; the Result leaves room for devices that must be asked.
[[nodiscard]] Result<Fitness> check_fitness(const DeviceDescription& device,
                                            const FitnessPaths& paths = {});

}  // namespace edgesage
