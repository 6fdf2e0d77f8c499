// Reports of other tools: units, contradictions, and rows that are no labels (hostile input M06).
#include "src/devices/foreign_report.h"

#include <gtest/gtest.h>

#include <cmath>

namespace edgesage {
namespace {

ForeignReport one(const std::string& text, const std::string& format = "") {
  const auto reports = read_foreign_report(text, "report", format);
  EXPECT_TRUE(reports) << reports.error().to_string();
  if (!reports || reports->empty()) return {};
  EXPECT_EQ(reports->size(), 1u);
  return reports->front();
}

std::string refusal(const std::string& text, const std::string& format = "") {
  const auto reports = read_foreign_report(text, "report", format);
  EXPECT_FALSE(reports) << text;
  return reports ? "" : reports.error().to_string();
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const std::string kVelaHead =
    "experiment,network,accelerator_configuration,core_clock,inference_time,batch_size,"
    "sram_memory_used,off_chip_flash_memory_used,cycles_total,inferences_per_second\n";

TEST(VelaSummary, SecondsAndKibibytesAreConverted) {
  const ForeignReport report =
      one(kVelaHead +
          "default,kws,Ethos_U55_256,500000000.0,0.00011668,1,21.671875,30.375,58340,"
          "nan\n");
  EXPECT_EQ(report.format, "vela-summary");
  EXPECT_EQ(report.network, "kws");
  EXPECT_EQ(report.measurement.device, "ethos-u55-256");
  EXPECT_EQ(report.measurement.statistic, "estimate");
  EXPECT_NEAR(report.measurement.quantities.at("latency_ms"), 0.11668, 1e-12);
  EXPECT_EQ(report.measurement.quantities.at("sram_bytes"), 22192);
  EXPECT_EQ(report.measurement.quantities.at("off_chip_flash_bytes"), 31104);
}

TEST(VelaSummary, TimesInAnotherUnitContradictTheCycles) {
  EXPECT_TRUE(has(refusal(kVelaHead + "default,kws,Ethos_U55_256,500000000.0,0.11668,1,1,1,58340,1"
                                      "\n"),
                  "seconds"));
}

TEST(VelaSummary, RowsThatAreNoLabelsAreRefusedByNumber) {
  const std::string good = "d,a,Ethos_U55_256,5e8,0.001,1,1,1,500000,1\n";
  for (const char* bad : {"0", "-0.001", "nan", "inf", "", "x"}) {
    const std::string why =
        refusal(kVelaHead + good + "d,b,Ethos_U55_256,5e8," + bad + ",1,1,1,500000,1\n" + good);
    EXPECT_TRUE(has(why, "row 2")) << why;
    EXPECT_TRUE(has(why, ":3")) << why;  // its line
  }
}

TEST(VelaLayers, FallbacksAreCountedAndThereIsNoTime) {
  const ForeignReport report =
      one("Original Operator,NNG Operator,Target,Staging Usage,Peak% (Staging),Op Cycles,Network% "
          "(cycles),NPU,SRAM AC,DRAM AC,OnFlash AC,OffFlash AC,MAC Count,Network% (MAC),Util% "
          "(MAC),Name\n"
          "Conv2D,Conv2D,NPU,12976,58.4,15207,26.0,15207,3800,0,0,5120,320000,12.0,8.2,a;b\n"
          "Elu,Elu,CPU,0,0,0,0,0,0,0,0,0,0,0,0,c\n");
  EXPECT_EQ(report.format, "vela-layers");
  EXPECT_EQ(report.measurement.cpu_operators, 1);
  EXPECT_EQ(report.measurement.quantities.at("cycles_total"), 15207);
  EXPECT_FALSE(report.measurement.quantities.contains("latency_ms"));
  EXPECT_TRUE(report.measurement.missing.contains("latency_ms"));
}

TEST(OnnxRuntimeProfile, MicrosecondsAndTheFirstRunApart) {
  const ForeignReport report = one(
      R"([{"cat":"Session","dur":1000,"ts":1,"ph":"X","name":"model_loading_uri","args":{}},
          {"cat":"Session","dur":4000,"ts":2,"ph":"X","name":"session_initialization","args":{}},
          {"cat":"Session","dur":9000,"ts":3,"ph":"X","name":"model_run","args":{}},
          {"cat":"Node","dur":300,"ts":4,"ph":"X","name":"c_kernel_time",
           "args":{"op_name":"Conv","node_index":"3","provider":"CPUExecutionProvider"}},
          {"cat":"Node","dur":500,"ts":4,"ph":"X","name":"c_kernel_time",
           "args":{"op_name":"Conv","node_index":"3","provider":"CPUExecutionProvider"}},
          {"cat":"Session","dur":2500,"ts":5,"ph":"X","name":"model_run","args":{}},
          {"cat":"Session","dur":2000,"ts":6,"ph":"X","name":"model_run","args":{}}])");
  EXPECT_EQ(report.format, "onnxruntime");
  EXPECT_NEAR(report.measurement.quantities.at("latency_ms"), 2.0, 1e-12);
  EXPECT_EQ(report.measurement.statistic, "min");
  EXPECT_NEAR(report.measurement.quantities.at("first_latency_ms"), 9.0, 1e-12);
  EXPECT_NEAR(report.measurement.quantities.at("load_ms"), 5.0, 1e-12);
  ASSERT_EQ(report.measurement.operators.size(), 1u);
  EXPECT_EQ(report.measurement.operators[0].index, 3);
  EXPECT_NEAR(report.measurement.operators[0].cycles, 400e3, 1e-6);  // nanoseconds
}

TEST(Trtexec, LayersInMillisecondsMustFitTheirCount) {
  const std::string profile =
      R"([{"count":200},{"name":"conv","timeMs":20.0,"averageMs":0.1,"medianMs":0.1,
          "percentage":40},{"name":"fc","timeMs":30.0,"averageMs":0.15,"medianMs":0.15,
          "percentage":60}])";
  const ForeignReport report = one(profile);
  EXPECT_EQ(report.format, "trtexec");
  EXPECT_NEAR(report.measurement.quantities.at("latency_ms"), 0.25, 1e-12);
  EXPECT_EQ(report.measurement.statistic, "mean");
  std::string wrong_unit = profile;
  wrong_unit.replace(wrong_unit.find("\"averageMs\":0.1"), 15, "\"averageMs\":100");
  EXPECT_TRUE(has(refusal(wrong_unit), "timeMs"));
}

TEST(Trtexec, RunsAreASeries) {
  const ForeignReport report =
      one(R"([{"startInMs":1,"computeMs":1.5,"latencyMs":2.0},{"computeMs":1.25,"latencyMs":2}])");
  EXPECT_EQ(report.measurement.quantities.at("latency_ms"), 1.25);
  EXPECT_EQ(report.measurement.samples_ms.size(), 2u);
  EXPECT_TRUE(has(refusal(R"([{"computeMs":1.5},{"computeMs":0}])"), "2"));
}

TEST(AiHub, MicrosecondsAndBytes) {
  const ForeignReport report = one(
      R"({"execution_summary":{"estimated_inference_time":1234,
          "estimated_inference_peak_memory":1048576,"first_load_time":50000,
          "all_inference_times":[1300,1234,1250]},
          "execution_detail":[{"name":"c","type":"Conv","compute_unit":"NPU","execution_time":900},
          {"name":"s","type":"Softmax","compute_unit":"CPU","execution_time":300}]})");
  EXPECT_EQ(report.format, "ai-hub");
  EXPECT_NEAR(report.measurement.quantities.at("latency_ms"), 1.234, 1e-12);
  EXPECT_EQ(report.measurement.quantities.at("peak_ram_bytes"), 1048576);
  EXPECT_NEAR(report.measurement.quantities.at("load_ms"), 50, 1e-12);
  EXPECT_EQ(report.measurement.cpu_operators, 1);
  for (const char* bad : {"0", "-5", "null", "\"fast\""})
    refusal(std::string(R"({"execution_summary":{"estimated_inference_time":)") + bad + "}}");
}

TEST(MlperfTiny, TheMedianOfFiveWindows) {
  std::string log = "Performance results for window 10:\n";
  for (const char* rate : {"50.1", "49.9", "50.0", "51.0", "48.0"})
    log += std::string("    Throughput   :      ") + rate + " inf./sec.\n";
  const ForeignReport report = one(log + "Median throughput is 50.0 inf./sec.\n");
  EXPECT_EQ(report.format, "mlperf-tiny");
  EXPECT_NEAR(report.measurement.quantities.at("latency_ms"), 20.0, 1e-9);
  EXPECT_TRUE(has(refusal(log + "Median throughput is 5.0 inf./sec.\n"), "5 windows"));
  const ForeignReport energy = one("Energy cost : 1234.5 uJ/inf.\n");
  EXPECT_NEAR(energy.measurement.quantities.at("energy_mj"), 1.2345, 1e-12);
  EXPECT_TRUE(has(refusal("Throughput : 0 inf./sec.\n"), "zero"));
}

TEST(BenchmarkModel, MicrosecondsOfTheTimedRuns) {
  const ForeignReport report =
      one("Running benchmark for at least 50 iterations and at least 1 seconds.\n"
          "INFO: count=15 first=40000 curr=33100 min=32600 max=40000 avg=33500 std=1700\n\n"
          "INFO: count=50 first=32891 curr=33978 min=32641 max=34005 avg=33209.4 std=450\n\n"
          "INFO: Inference timings in us: Init: 5000, First inference: 40000, Warmup (avg): 33500, "
          "Inference (avg): 33209.4\n");
  EXPECT_EQ(report.format, "benchmark_model");
  EXPECT_NEAR(report.measurement.quantities.at("latency_ms"), 32.641, 1e-9);
  EXPECT_EQ(report.measurement.statistic, "min");
  EXPECT_NEAR(report.measurement.quantities.at("load_ms"), 5, 1e-9);
}

TEST(LabelTable, UnitsAreInTheNames) {
  const auto reports = read_foreign_report(
      "\xEF\xBB\xBFmodel,latency_us,energy_uj,peak_ram_kib,note\na,1500,250,64,x\nb,2000,,32,y\n",
      "labels.csv");
  ASSERT_TRUE(reports) << reports.error().to_string();
  ASSERT_EQ(reports->size(), 2u);
  const Measurement& a = reports->front().measurement;
  EXPECT_NEAR(a.quantities.at("latency_ms"), 1.5, 1e-12);
  EXPECT_NEAR(a.quantities.at("energy_mj"), 0.25, 1e-12);
  EXPECT_EQ(a.quantities.at("peak_ram_bytes"), 65536);
  EXPECT_FALSE(reports->back().measurement.quantities.contains("energy_mj"));
}

TEST(LabelTable, RowsThatAreNoLabelsAreRefusedByNumber) {
  for (const char* bad : {"0", "-1", "nan", "NaN", "inf", "-inf", "1e999", "fast", "1,5"}) {
    const std::string cell = has(bad, ",") ? std::string("\"") + bad + "\"" : bad;
    const std::string why = refusal("model,latency_ms\na,1\nb," + cell + "\nc,2\nd," + cell + "\n");
    EXPECT_TRUE(has(why, "row 2")) << why;
    EXPECT_TRUE(has(why, "1 more")) << why;
  }
  // Tiny, but a time: training has its own limit.
  EXPECT_EQ(one("model,latency_ms\na,1e-12\n").measurement.quantities.at("latency_ms"), 1e-12);
}

TEST(ForeignReport, WhatIsNoneOfThemIsSaid) {
  for (const char* text : {"", "hello", "{}", "[]", "a,b\n1,2\n", "\x01\x02\x03"}) {
    const std::string why = refusal(text);
    EXPECT_TRUE(has(why, "--from")) << why;
  }
  EXPECT_TRUE(has(refusal("x", "vela"), "vela-summary"));
  for (const std::string& format : foreign_formats()) {
    refusal("", format);
    refusal("nonsense", format);
    refusal("{\"a\":", format);
    refusal("[1, [2], null, \"x\"]", format);
  }
}

}  // namespace
}  // namespace edgesage
