// Against a tree of files in place of /proc and /sys.
#include "src/devices/fitness.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "src/base/text.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {
namespace fs = std::filesystem;

class FitnessCheck : public testing::Test {
 protected:
  FitnessCheck() {
    device_.name = "host";
    device_.statistic = "min";
    device_.local = true;
    // A quiet machine of four cores.
    put("proc/loadavg", "0.10 0.20 0.30 1/100 999");
    put("proc/7/stat", process(7, "idle daemon) (x", 50));
    fs::create_directories(root() / "sys/fs/cgroup");
    for (int cpu = 0; cpu < 4; ++cpu) {
      put(fmt::format("sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor", cpu), "performance");
      put(fmt::format("sys/devices/system/cpu/cpu{}/thermal_throttle/core_throttle_count", cpu),
          "0");
    }
    put("sys/devices/system/cpu/intel_pstate/no_turbo", "1");
    put("sys/class/thermal/thermal_zone0/type", "x86_pkg_temp");
    put("sys/class/thermal/thermal_zone0/temp", "45000");
    put("sys/class/thermal/thermal_zone0/trip_point_0_type", "passive");
    put("sys/class/thermal/thermal_zone0/trip_point_0_temp", "95000");
  }
  const fs::path& root() const { return dir_.path(); }
  void put(const std::string& path, const std::string& text) const {
    fs::create_directories((root() / path).parent_path());
    std::ofstream(root() / path) << text << '\n';
  }
  void drop(const std::string& path) const { fs::remove_all(root() / path); }
  void times(int busy, int idle, int steal) const {
    std::string text = fmt::format("cpu {} 0 0 {} 0 0 0 {} 0 0\n", busy, idle, steal);
    for (int cpu = 0; cpu < 4; ++cpu) text += fmt::format("cpu{} 1 0 0 1 0 0 0 0 0 0\n", cpu);
    put("proc/stat", text + "intr 0");
  }
  static std::string process(int pid, const std::string& name, int ticks) {
    return fmt::format("{} ({}) S 1 1 1 0 -1 0 0 0 0 0 {} 0 0 0 20", pid, name, ticks);
  }
  // What happens between the two readings, after a quiet 4 x 50 ticks.
  Fitness look(const std::function<void()>& meanwhile = {}) {
    times(1000, 10'000, 0);
    FitnessPaths paths;
    paths.root = root();
    paths.own_pid = 4242;
    paths.wait = [&] {
      times(1002, 10'198, 0);
      if (meanwhile) meanwhile();
    };
    return check_fitness(device_, paths).value();
  }
  static FitnessFinding finding(const Fitness& fitness, const std::string& check) {
    for (const FitnessFinding& found : fitness.findings)
      if (found.check == check) return found;
    ADD_FAILURE() << check;
    return {};
  }

  test::TempDir dir_;
  DeviceDescription device_;
};

TEST_F(FitnessCheck, AQuietMachineIsFit) {
  const Fitness fitness = look();
  EXPECT_EQ(fitness.level, FitnessLevel::kOk);
  EXPECT_EQ(fitness.findings.size(), 8u);
  for (const FitnessFinding& found : fitness.findings) {
    EXPECT_EQ(found.level, FitnessLevel::kOk) << found.check << ": " << found.reason;
    EXPECT_NE(found.found, "") << found.check;
  }
}

TEST_F(FitnessCheck, NothingToReadIsUnknownWithAReason) {
  drop("proc");
  drop("sys");
  FitnessPaths paths;
  paths.root = root();
  paths.wait = [] {};
  const Fitness fitness = check_fitness(device_, paths).value();
  EXPECT_EQ(fitness.level, FitnessLevel::kOk);
  for (const FitnessFinding& found : fitness.findings) {
    EXPECT_EQ(found.level, FitnessLevel::kUnknown) << found.check;
    EXPECT_EQ(found.found, "") << found.check;
    EXPECT_NE(found.reason, "") << found.check;
  }
}

TEST_F(FitnessCheck, GovernorsDiffer) {
  put("sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "schedutil");
  EXPECT_EQ(finding(look(), "governor").level, FitnessLevel::kWarning);
  EXPECT_EQ(finding(look(), "governor").found, "performance on 3 cores, schedutil on 1 core");
  device_.options = {{"cores", "0-2"}};
  EXPECT_EQ(finding(look(), "governor").level, FitnessLevel::kOk) << "the others are not used";
  device_.options = Json::object();
  put("sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "powersave");
  EXPECT_EQ(finding(look(), "governor").level, FitnessLevel::kUnfit);
  EXPECT_NE(finding(look(), "governor").remedy.find("performance"), std::string::npos);
  put("sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", "intel_pstate");
  EXPECT_EQ(finding(look(), "governor").level, FitnessLevel::kWarning) << "there it is dynamic";
}

TEST_F(FitnessCheck, TurboIsReadFromEitherDriver) {
  put("sys/devices/system/cpu/intel_pstate/no_turbo", "0");
  EXPECT_EQ(finding(look(), "turbo").level, FitnessLevel::kWarning);
  drop("sys/devices/system/cpu/intel_pstate");
  EXPECT_EQ(finding(look(), "turbo").level, FitnessLevel::kUnknown);
  put("sys/devices/system/cpu/cpufreq/boost", "1");
  EXPECT_EQ(finding(look(), "turbo").level, FitnessLevel::kWarning);
  put("sys/devices/system/cpu/cpufreq/boost", "0");
  EXPECT_EQ(finding(look(), "turbo").level, FitnessLevel::kOk);
}

TEST_F(FitnessCheck, LoadIsSeenAgainstCoresAndThreads) {
  put("proc/loadavg", "2.50 0 0 1/1 1");
  EXPECT_EQ(finding(look(), "load").level, FitnessLevel::kWarning);
  device_.options = {{"threads", 2}};
  EXPECT_EQ(finding(look(), "load").level, FitnessLevel::kUnfit);
  put("proc/loadavg", "garbage");
  EXPECT_EQ(finding(look(), "load").level, FitnessLevel::kUnknown);
}

TEST_F(FitnessCheck, OtherProcessesAreNamed) {
  const auto busy = finding(look([&] {
                              times(1052, 10'148, 0);
                              put("proc/7/stat", process(7, "idle daemon) (x", 95));
                            }),
                            "processes");
  EXPECT_EQ(busy.level, FitnessLevel::kWarning);
  EXPECT_NE(busy.found.find("idle daemon) (x (7) 0.90"), std::string::npos) << busy.found;
  put("proc/7/stat", process(7, "hog", 50));
  put("proc/4242/stat", process(4242, "edgesage", 10));
  const auto own = finding(look([&] {
                             times(1052, 10'148, 0);
                             put("proc/4242/stat", process(4242, "edgesage", 60));
                           }),
                           "processes");
  EXPECT_EQ(own.level, FitnessLevel::kOk) << own.found;
  const auto full = finding(look([&] { times(1190, 10'010, 0); }), "processes");
  EXPECT_EQ(full.level, FitnessLevel::kUnfit) << full.found;
  const auto still = finding(look([&] { times(1000, 10'000, 0); }), "processes");
  EXPECT_EQ(still.level, FitnessLevel::kUnknown);
}

TEST_F(FitnessCheck, StolenTimeAndQuotasAreSeen) {
  EXPECT_EQ(finding(look([&] { times(1000, 10'194, 6); }), "steal").level, FitnessLevel::kWarning);
  EXPECT_EQ(finding(look([&] { times(1000, 10'160, 40); }), "steal").level, FitnessLevel::kUnfit);
  put("proc/self/cgroup", "0::/a.slice/b");
  put("sys/fs/cgroup/cpu.max", "max 100000");
  EXPECT_EQ(finding(look(), "quota").found, "no limit");
  put("sys/fs/cgroup/a.slice/cpu.max", "150000 100000");
  EXPECT_EQ(finding(look(), "quota").level, FitnessLevel::kWarning);
  device_.options = {{"threads", 2}};
  EXPECT_EQ(finding(look(), "quota").level, FitnessLevel::kUnfit);
  put("sys/fs/cgroup/a.slice/cpu.max", "800000 100000");
  EXPECT_EQ(finding(look(), "quota").level, FitnessLevel::kOk);
}

TEST_F(FitnessCheck, HeatIsSeenAgainstTheLimit) {
  put("sys/class/thermal/thermal_zone0/temp", "85000");
  EXPECT_EQ(finding(look(), "temperature").level, FitnessLevel::kWarning);
  put("sys/class/thermal/thermal_zone0/temp", "94000");
  EXPECT_EQ(finding(look(), "temperature").level, FitnessLevel::kUnfit);
  // Sensors that are not connected, and one whose own limit is far away.
  put("sys/class/thermal/thermal_zone0/temp", "-274000");
  put("sys/class/hwmon/hwmon1/name", "nvme");
  put("sys/class/hwmon/hwmon1/temp1_input", "60000");
  put("sys/class/hwmon/hwmon1/temp1_crit", "84000");
  const auto disk = finding(look(), "temperature");
  EXPECT_EQ(disk.level, FitnessLevel::kOk);
  EXPECT_EQ(disk.found, "nvme temp1 at 60 C, limit 84 C");
  drop("sys/class/hwmon");
  EXPECT_EQ(finding(look(), "temperature").level, FitnessLevel::kUnknown);
}

TEST_F(FitnessCheck, ThrottlingNowIsWorseThanBefore) {
  const std::string counter = "sys/devices/system/cpu/cpu1/thermal_throttle/package_throttle_count";
  put(counter, "3");
  EXPECT_EQ(finding(look(), "throttling").level, FitnessLevel::kWarning);
  EXPECT_EQ(finding(look([&] { put(counter, "4"); }), "throttling").level, FitnessLevel::kUnfit);
}

TEST_F(FitnessCheck, TheWorstFindingCounts) {
  put("sys/devices/system/cpu/intel_pstate/no_turbo", "0");
  EXPECT_EQ(look().level, FitnessLevel::kWarning);
  put("proc/loadavg", "9.0 0 0 1/1 1");
  EXPECT_EQ(look().level, FitnessLevel::kUnfit);
}

TEST_F(FitnessCheck, OnlyThisMachineIsLookedAt) {
  device_.local = false;
  const Fitness remote = look();
  ASSERT_EQ(remote.findings.size(), 1u);
  EXPECT_EQ(remote.findings[0].level, FitnessLevel::kUnknown);
  device_.statistic = "estimate";
  EXPECT_EQ(look().findings[0].level, FitnessLevel::kOk);
}

TEST(FitnessHere, LooksAtThisMachine) {
  DeviceDescription device;
  device.local = true;
  FitnessPaths paths;
  paths.interval = std::chrono::milliseconds(50);
  const auto fitness = check_fitness(device, paths);
  ASSERT_TRUE(fitness);
  for (const FitnessFinding& found : fitness->findings)
    EXPECT_TRUE(!found.found.empty() || !found.reason.empty()) << found.check;
}

}  // namespace
}  // namespace edgesage
