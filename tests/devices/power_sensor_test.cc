// Sensors on a made-up sysfs: absent, unreadable, stuck and wrapping ones (hostile inputs M02).
#include "src/devices/power_sensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "src/devices/power_trace.h"

namespace edgesage {
namespace {

class FakeSysfs : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::path(::testing::TempDir()) /
            ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void put(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = root_ / "class" / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << '\n';
  }

  std::filesystem::path root_;
};

bool mentions(const std::vector<std::string>& reasons, const std::string& word) {
  for (const std::string& reason : reasons)
    if (reason.find(word) != std::string::npos) return true;
  return false;
}

TEST_F(FakeSysfs, WithoutSensorsEachKindHasAReason) {
  const FoundSensors found = find_power_sensors(root_);
  EXPECT_TRUE(found.usable.empty());
  for (const char* kind : {"rapl", "hwmon", "battery"})
    EXPECT_TRUE(mentions(found.reasons, kind)) << kind;
}

TEST_F(FakeSysfs, FindsEveryKindAndReadsItInItsUnit) {
  put("powercap/intel-rapl:0/name", "package-0");
  put("powercap/intel-rapl:0/energy_uj", "1234567");
  put("powercap/intel-rapl:0/max_energy_range_uj", "262143328850");
  put("powercap/intel-rapl:0:0/name", "core");  // in the package already
  put("powercap/intel-rapl:0:0/energy_uj", "1");
  put("powercap/intel-rapl:1/name", "psys");  // holds the package
  put("powercap/intel-rapl:1/energy_uj", "1");
  put("hwmon/hwmon0/name", "coretemp");
  put("hwmon/hwmon1/name", "ina226");
  put("hwmon/hwmon1/power1_input", "2500000");
  put("hwmon/hwmon2/name", "ina3221");
  put("hwmon/hwmon2/curr1_input", "500");
  put("hwmon/hwmon2/in1_input", "5000");
  put("power_supply/AC/type", "Mains");
  put("power_supply/BAT0/type", "Battery");
  put("power_supply/BAT0/status", "Discharging");
  put("power_supply/BAT0/current_now", "-400000");
  put("power_supply/BAT0/voltage_now", "12000000");
  const FoundSensors found = find_power_sensors(root_);
  ASSERT_EQ(found.usable.size(), 4u);
  EXPECT_TRUE(found.reasons.empty());
  const std::vector<std::pair<std::string, double>> expected = {{"rapl:package-0", 1234567},
                                                                {"hwmon:ina226", 2.5e6},
                                                                {"hwmon:ina3221", 2.5e6},
                                                                {"battery:BAT0", 4.8e6}};
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(found.usable[i].source, expected[i].first);
    EXPECT_NEAR(*read_sensor(found.usable[i]), expected[i].second, 1e-3);
    EXPECT_EQ(found.usable[i].counter, i == 0);
  }
  EXPECT_EQ(found.usable[0].range_uj, 262143328850.0);
}

TEST_F(FakeSysfs, WhatCannotBeReadIsAReasonAndNoSensor) {
  put("powercap/intel-rapl:0/name", "package-0");
  std::filesystem::create_directories(root_ / "class/powercap/intel-rapl:0/energy_uj");
  put("hwmon/hwmon0/name", "ina226");
  put("hwmon/hwmon0/power1_input", "N/A");
  put("power_supply/BAT0/type", "Battery");
  put("power_supply/BAT0/status", "Charging");
  put("power_supply/BAT0/power_now", "1");
  const FoundSensors found = find_power_sensors(root_);
  EXPECT_TRUE(found.usable.empty());
  EXPECT_TRUE(mentions(found.reasons, "energy_uj"));
  EXPECT_TRUE(mentions(found.reasons, "N/A"));
  EXPECT_TRUE(mentions(found.reasons, "Charging"));
}

const PowerSensor kCounter{.source = "rapl:package-0", .counter = true, .range_uj = 1000};
const PowerSensor kGauge{.source = "hwmon:ina226"};

TEST(EnergyOf, ACounterThatWrapsGoesOn) {
  const auto span = energy_of(kCounter, {{0, 900}, {1, 980}, {2, 60}, {3, 60}, {4, 100}});
  ASSERT_TRUE(span) << span.error().to_string();
  EXPECT_NEAR(span->energy_mj, 0.2, 1e-12);  // 80 + 80 + 0 + 40 microjoules
  EXPECT_EQ(span->ticks, 3);
  EXPECT_EQ(span->seconds, 4);
}

TEST(EnergyOf, ACounterThatGoesBackWithoutReasonIsRefused) {
  EXPECT_FALSE(energy_of({.source = "rapl:x", .counter = true}, {{0, 900}, {1, 10}}));
  EXPECT_FALSE(energy_of(kCounter, {{0, 5000}, {1, 10}}));
}

TEST(EnergyOf, AGaugeIsIntegrated) {
  // 1 W rising to 3 W in 2 s, then 3 W for 1 s: 4 J + 3 J.
  const auto span = energy_of(kGauge, {{0, 1e6}, {2, 3e6}, {3, 3e6}});
  ASSERT_TRUE(span);
  EXPECT_NEAR(span->energy_mj, 7000, 1e-9);
}

TEST(EnergyOf, NonsenseIsRefused) {
  EXPECT_FALSE(energy_of(kGauge, {}));
  EXPECT_FALSE(energy_of(kGauge, {{0, 1}}));
  EXPECT_FALSE(energy_of(kGauge, {{0, 1}, {1, NAN}}));
  EXPECT_FALSE(energy_of(kGauge, {{0, 1}, {1, INFINITY}}));
  EXPECT_FALSE(energy_of(kGauge, {{0, 1}, {1, -1}}));
  EXPECT_FALSE(energy_of(kGauge, {{1, 1}, {0, 1}}));
}

// Runs of a machine that takes `idle` mW, `setup` mJ to load and `each` mJ an inference of 2 ms.
EnergySpan run_of(int64_t inferences, double idle, double setup, double each) {
  const double seconds = 0.3 + 0.002 * static_cast<double>(inferences);
  return {.seconds = seconds,
          .energy_mj = idle * seconds + setup + each * static_cast<double>(inferences),
          .ticks = 50};
}

TEST(EnergyPerInference, LoadingAndIdleCancelOut) {
  for (const double idle : {0.0, 800.0, 12000.0}) {
    const InferenceEnergy energy =
        energy_per_inference({.seconds = 2, .energy_mj = 2 * idle, .ticks = 50},
                             run_of(100, idle, 420, 3.5), 100, run_of(1000, idle, 420, 3.5), 1000);
    ASSERT_TRUE(energy.energy_mj) << energy.reason;
    EXPECT_NEAR(*energy.energy_mj, 3.5, 1e-9);
    EXPECT_NEAR(energy.idle_mw, idle, 1e-9);
  }
}

TEST(EnergyPerInference, IsNotKnownWithoutResolution) {
  const EnergySpan idle{.seconds = 1, .energy_mj = 100, .ticks = 20};
  EnergySpan few = run_of(10, 100, 0, 3), many = run_of(100, 100, 0, 3);
  many.ticks = kLeastTicks - 1;
  InferenceEnergy energy = energy_per_inference(idle, few, 10, many, 100);
  EXPECT_FALSE(energy.energy_mj);
  EXPECT_NE(energy.reason.find("9 times"), std::string::npos) << energy.reason;
  many.ticks = 0;
  energy = energy_per_inference(idle, few, 10, many, 100);
  EXPECT_NE(energy.reason.find("stuck"), std::string::npos) << energy.reason;
  many.ticks = kLeastTicks;
  EXPECT_TRUE(energy_per_inference(idle, few, 10, many, 100).energy_mj);
  EXPECT_FALSE(energy_per_inference(idle, few, 10, many, 10).energy_mj);
  // Below idle: another program ended meanwhile.
  many.energy_mj = 0;
  EXPECT_NE(energy_per_inference(idle, few, 10, many, 100).reason.find("idle"), std::string::npos);
}

// ---- an external monitor

// 1 kHz; idle 200 mW; windows of 100 ms at 1200 mW with 50 inferences each.
std::string trace(const char* time, double time_factor, const char* power, double power_factor,
                  int windows = 3) {
  std::string text = std::string(time) + "," + power + ",marker\n";
  int ms = 0;
  const auto add = [&](int count, double milliwatts, double marker) {
    for (int i = 0; i < count; ++i, ++ms)
      text += std::to_string(ms * time_factor) + "," + std::to_string(milliwatts * power_factor) +
              "," + std::to_string(marker) + "\n";
  };
  for (int window = 0; window < windows; ++window) {
    add(200, 200, 0.02);
    add(100, 1200, 3.3);
  }
  add(200, 200, 0.02);
  return text;
}

TEST(PowerTrace, IsAlignedByItsMarkerWhateverItsUnits) {
  struct Case {
    const char* time;
    double time_factor;
    const char* power;
    double power_factor;
  };
  for (const Case& one : {Case{"time_ms", 1, "power_mw", 1}, Case{"time_s", 1e-3, "power_w", 1e-3},
                          Case{"time_us", 1e3, "power_uw", 1e3}}) {
    const auto report = read_power_trace(
        trace(one.time, one.time_factor, one.power, one.power_factor), "t.csv", 50);
    ASSERT_TRUE(report) << report.error().to_string();
    // 1 W above idle for 100 ms, 50 inferences: 2 mJ and 2 ms each; edges are a sample wide.
    EXPECT_NEAR(report->measurement.quantities.at("energy_mj"), 2, 0.02);
    EXPECT_NEAR(report->measurement.quantities.at("latency_ms"), 2, 0.03);
  }
}

TEST(PowerTrace, CurrentTimesVoltageIsPower) {
  std::string text = "time_ms,current_ma,voltage_v,marker\n";
  for (int ms = 0; ms < 300; ++ms) {
    const bool high = ms >= 100 && ms < 200;
    text += std::to_string(ms) + "," + (high ? "240" : "40") + ",5," + (high ? "1" : "0") + "\n";
  }
  const auto report = read_power_trace(text, "t.csv", 50);
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_NEAR(report->measurement.quantities.at("energy_mj"), 2, 0.02);
}

TEST(PowerTrace, FaultsAreNamed) {
  const auto refuses = [](const std::string& text, const std::string& word) {
    const auto report = read_power_trace(text, "t.csv", 50);
    ASSERT_FALSE(report) << word;
    EXPECT_NE(report.error().to_string().find(word), std::string::npos)
        << report.error().to_string();
  };
  refuses("time_ms,marker\n1,1\n", "power_w");
  refuses("time_ms,power_mw,marker\n0,1,0\n1,x,0\n", "row 2");
  refuses("time_ms,power_mw,marker\n0,1,0\n1,nan,0\n", "row 2");
  refuses("time_ms,power_mw,marker\n0,1,0\n0,1,0\n", "time");
  refuses("time_ms,power_mw,marker\n0,1,0\n1,1,0\n", "never raised");
  refuses("time_ms,power_mw,marker\n0,1,1\n1,1,0\n", "cut off");
  refuses("time_ms,power_mw,marker\n0,1,0\n1,9,1\n2,1,0\n3,1,0\n", "10 are needed");
  EXPECT_FALSE(read_power_trace("", "t.csv", 50));
  EXPECT_FALSE(read_power_trace(trace("time_ms", 1, "power_mw", 1), "t.csv", 0));
}

TEST(PowerTrace, EnergyBelowIdleIsMissingWithAReason) {
  std::string text = "time_ms,power_mw,marker\n";
  for (int ms = 0; ms < 300; ++ms)
    text += std::to_string(ms) + ",500," + (ms >= 100 && ms < 200 ? "1" : "0") + "\n";
  const auto report = read_power_trace(text, "t.csv", 50);
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->measurement.quantities.contains("energy_mj"));
  EXPECT_TRUE(report->measurement.missing.contains("energy_mj"));
}

}  // namespace
}  // namespace edgesage
