#include "src/devices/anchors.h"

#include <gtest/gtest.h>

#include "tests/devices/fake_device.h"

namespace edgesage {
namespace {

std::vector<AnchorOutcome> outcomes(const std::vector<double>& ratios) {
  std::vector<AnchorOutcome> list;
  for (size_t i = 0; i < ratios.size(); ++i) {
    const double stored = 1.0 + static_cast<double>(i);
    list.push_back({"net" + std::to_string(i), stored, stored * ratios[i], std::nullopt, ""});
  }
  return list;
}

TEST(Anchors, TheSameLabelsHold) {
  const Drift drift = drift_of(outcomes({1.0, 1.01, 0.99, 1.0, 1.02}));
  EXPECT_FALSE(drift.drifted);
  EXPECT_DOUBLE_EQ(drift.median_ratio, 1.0);
  EXPECT_EQ(drift.compared, 5);
  EXPECT_NE(drift.verdict.find("still hold"), std::string::npos);
}

TEST(Anchors, ACommonFactorAndScatterAreToldApart) {
  const Drift slower = drift_of(outcomes({1.2, 1.21, 1.19, 1.2}));
  EXPECT_TRUE(slower.drifted);
  EXPECT_NEAR(slower.median_ratio, 1.2, 1e-12);
  EXPECT_NE(slower.verdict.find("slower for all alike"), std::string::npos) << slower.verdict;
  const Drift scattered = drift_of(outcomes({0.7, 1.0, 1.0, 1.4}));
  EXPECT_TRUE(scattered.drifted);
  EXPECT_NEAR(scattered.median_ratio, 1.0, 1e-12);
  EXPECT_NE(scattered.verdict.find("changed differently"), std::string::npos);
}

TEST(Anchors, WhatFailedIsLeftOutWithItsReason) {
  auto list = outcomes({1.0, 1.0});
  list.push_back({"broken", 3.0, std::nullopt, std::nullopt, "it crashed"});
  const Drift drift = drift_of(list);
  EXPECT_EQ(drift.compared, 2);
  EXPECT_FALSE(drift.anchors[2].ratio);
  EXPECT_EQ(drift.anchors[2].reason, "it crashed");
  const Drift nothing = drift_of({});
  EXPECT_EQ(nothing.compared, 0);
  EXPECT_FALSE(nothing.drifted);
  EXPECT_NE(nothing.verdict.find("nothing"), std::string::npos);
}

TEST(Anchors, AreMeasuredAgainAgainstTheStoredLabels) {
  const test::TempDir dir;
  Store store = Store::open(dir.path() / "s.db", StoreMode::kWrite).value();
  const auto add = [&](const char* name, double ms, const char* device, const char* host) {
    NetworkRecord network;
    network.name = network.graph_hash = network.weights_hash = name;
    Measurement measurement;
    measurement.device = device;
    measurement.host_fingerprint = host;
    measurement.runtime = measurement.runtime_version = "x";
    measurement.statistic = "min";
    measurement.quantities["latency_ms"] = ms;
    ASSERT_TRUE(store.add_measurement(store.add_network(network).value(), measurement));
  };
  add("a", 2.0, "fake-device", "abc");
  add("a", 1.25, "fake-device", "abc");
  add("b", 5.0, "fake-device", "abc");
  add("b", 1.0, "fake-device", "other host");
  add("c", 1.0, "fake-device+threads=4", "abc");
  const std::vector<std::string> names = {"b", "a"};
  const auto anchors = anchors_from_store(store, "fake-device", "abc", names);
  ASSERT_TRUE(anchors) << anchors.error().to_string();
  EXPECT_EQ((*anchors)[0].stored_ms, 5.0);
  EXPECT_EQ((*anchors)[1].stored_ms, 1.25);
  const auto unknown =
      anchors_from_store(store, "fake-device", "abc", std::vector<std::string>{"a", "c"});
  ASSERT_FALSE(unknown) << "labels of another protocol are not mixed in";
  EXPECT_NE(unknown.error().message.find(" c"), std::string::npos);

  test::FakeDevice fake("good");  // 2.5 ms, whatever is asked
  std::vector<std::string> built;
  const auto drift = measure_drift(fake.client, fake.description, *anchors,
                                   [&](const std::string& name) -> Result<std::filesystem::path> {
                                     built.push_back(name);
                                     return std::filesystem::path("model.tflite");
                                   });
  ASSERT_TRUE(drift) << drift.error().to_string();
  EXPECT_EQ(built, names);
  EXPECT_EQ(drift->anchors[0].ratio, 0.5);
  EXPECT_EQ(drift->anchors[1].ratio, 2.0);
  EXPECT_DOUBLE_EQ(drift->median_ratio, 1.25);
  EXPECT_TRUE(drift->drifted);
  const std::atomic<bool> stop = true;
  const auto stopped = measure_drift(
      fake.client, fake.description, *anchors,
      [](const std::string&) -> Result<std::filesystem::path> { return "m"; }, {}, {}, &stop);
  EXPECT_EQ(stopped->compared, 0);
}

}  // namespace
}  // namespace edgesage
