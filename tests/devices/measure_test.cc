#include "src/devices/measure.h"

#include <gtest/gtest.h>

#include "tests/devices/fake_device.h"

namespace edgesage {
namespace {

using namespace std::chrono_literals;
using test::FakeDevice;

Result<Measurement> run(FakeDevice& fake, Json options = Json::object()) {
  return measure(fake.client, fake.description, "model.tflite",
                 {.options = std::move(options), .deadline = 10s});
}

TEST(Measure, FillsWhatTheWorkerLeavesOut) {
  FakeDevice fake("good");
  fake.description.host_bound = true;
  const auto measurement = run(fake);
  ASSERT_TRUE(measurement) << measurement.error().to_string();
  EXPECT_TRUE(measurement->error.empty());
  EXPECT_EQ(measurement->device, "fake-device");
  EXPECT_EQ(measurement->runtime, "fake");
  EXPECT_EQ(measurement->runtime_version, "0.1");
  EXPECT_EQ(measurement->host_fingerprint, "abc");
  EXPECT_EQ(measurement->quantities.at("latency_ms"), 2.5);
  EXPECT_EQ(measurement->missing.at("sram_bytes"), "not asked");
  EXPECT_EQ(measurement->missing.at("energy_mj"), "the worker did not report it");
  ASSERT_EQ(measurement->operators.size(), 1u);
  EXPECT_EQ(measurement->operators[0].cycles, 7);
}

TEST(Measure, ANetworkThatFailsIsAMeasurementWithItsReason) {
  for (const char* behaviour : {"crash", "exit", "not_json", "nan", "error", "text_for_number",
                                "negative", "no_quantities"}) {
    FakeDevice fake(behaviour);
    const auto failed = run(fake);
    ASSERT_TRUE(failed) << behaviour << failed.error().to_string();
    EXPECT_FALSE(failed->error.empty()) << behaviour;
    EXPECT_TRUE(failed->quantities.empty()) << behaviour;
    EXPECT_EQ(failed->missing.count("latency_ms"), 1u) << behaviour;
    EXPECT_EQ(failed->device, "fake-device");
    if (std::string(behaviour) == "error") continue;
    const auto next = run(fake);
    ASSERT_TRUE(next) << behaviour;
    EXPECT_TRUE(next->error.empty()) << behaviour << ": " << next->error;
  }
}

TEST(Measure, WhatConcernsEveryNetworkIsAnError) {
  FakeDevice old("newer_major");
  EXPECT_EQ(run(old).error().code, ErrorCode::kDeviceFailed);
  FakeDevice options("bad_options");
  EXPECT_EQ(run(options).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(run(options, Json::array()).error().code, ErrorCode::kInvalidArgument);
  FakeDevice other("other_devices");
  EXPECT_NE(run(other).error().message.find("does not know this device"), std::string::npos);
}

TEST(Measure, SendsTheOptionsOverTheDefaults) {
  FakeDevice fake("echo");
  fake.description.options = {{"threads", 1}, {"seed", 3}};
  const auto measurement = run(fake, {{"threads", 4}});
  ASSERT_TRUE(measurement) << measurement.error().to_string();
  const Json request =
      *parse_json(measurement->protocol.at("request"), "echo", ErrorCode::kInternal);
  EXPECT_EQ(request["options"], Json({{"threads", 4}, {"seed", 3}}));
  EXPECT_EQ(request["device"], "fake-device");
  EXPECT_EQ(request["deadline_ms"], 10'000);
  EXPECT_TRUE(std::filesystem::path(request["model"].get<std::string>()).is_absolute());
}

TEST(Measure, TakesTheLabelFromTheSamples) {
  FakeDevice fake("samples");
  const Json samples = {{"samples", Json::array({3.0, 1.0, 2.0, 2.0, 2.0})}};
  fake.description.statistic = "min";
  EXPECT_EQ(run(fake, samples)->quantities.at("latency_ms"), 1.0);
  fake.description.statistic = "p50";
  const auto measurement = run(fake, samples);
  EXPECT_EQ(measurement->quantities.at("latency_ms"), 2.0);
  EXPECT_EQ(measurement->statistic, "p50");
  EXPECT_EQ(measurement->samples_ms.size(), 5u);
}

TEST(Measure, FlagsANoisySeries) {
  FakeDevice fake("samples");
  fake.description.statistic = "min";
  Json series = Json::array();
  for (int i = 0; i < 60; ++i) series.push_back(i < 30 ? 1.0 : 1.5);
  const auto noisy = run(fake, {{"samples", series}});
  ASSERT_TRUE(noisy);
  EXPECT_FALSE(noisy->stationary);
  EXPECT_NE(noisy->protocol.at("noise"), "none");
  Json quiet_series = Json::array();
  for (int i = 0; i < 60; ++i) quiet_series.push_back(1.0 + 0.001 * (i % 7));
  const auto quiet = run(fake, {{"samples", quiet_series}});
  EXPECT_TRUE(quiet->stationary);
  EXPECT_EQ(quiet->protocol.at("noise"), "none");
}

TEST(Measure, JsonKeepsEverything) {
  FakeDevice fake("good");
  Measurement measurement = *run(fake);
  measurement.samples_ms = {1, 2.5};
  measurement.stationary = false;
  measurement.cpu_operators = 3;
  measurement.protocol["clock"] = "C";
  measurement.environment["kernel"] = "K";
  measurement.error = "e";
  const Json json = measurement_to_json(measurement);
  EXPECT_TRUE(json["quantities"]["sram_bytes"].is_null());
  const auto again = measurement_from_json(json);
  ASSERT_TRUE(again) << again.error().to_string();
  EXPECT_EQ(measurement_to_json(*again), json);
  EXPECT_EQ(again->missing, measurement.missing);
  EXPECT_FALSE(again->stationary);
}

TEST(Measure, JsonOfWrongTypesIsRefused) {
  for (const char* text : {"[]", R"({"quantities":3})", R"({"quantities":{"a":"b"}})",
                           R"({"quantities":{},"samples_ms":[-1]})",
                           R"({"quantities":{},"operators":[{"index":-1,"cycles":1}]})",
                           R"({"quantities":{},"operators":[{"index":0}]})",
                           R"({"quantities":{},"protocol":{"a":[]}})"}) {
    const auto measurement = measurement_from_json(*parse_json(text, "test", ErrorCode::kInternal));
    ASSERT_FALSE(measurement) << text;
    EXPECT_EQ(measurement.error().code, ErrorCode::kBadStore);
  }
}

}  // namespace
}  // namespace edgesage
