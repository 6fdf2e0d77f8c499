// The texts are written after what the tool prints in its versions since 2019, with figures of our
// own.
#include "src/devices/benchmark_model.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "src/base/rng.h"

namespace edgesage {
namespace {

const std::string kHead =
    "STARTING!\nGraph: [/data/local/tmp/m.tflite]\nInitialized session in 0.63ms.\n"
    "Running benchmark for at least 1 iterations and at least 0.5 seconds.\n"
    "INFO: count=9 first=9000 curr=4100 min=4000 max=9000 avg=4700.5 std=1500\n\n"
    "Running benchmark for at least 50 iterations and at least 1 seconds.\n"
    "INFO: count=50 first=4200 curr=4150 min=3900 max=5000 avg=4125.25 std=111 p5=3910 "
    "median=4100 p95=4800\n\n";
const std::string kSummary =
    "INFO: Inference timings in us: Init: 630, First inference: 9000, Warmup (avg): 4700.5, "
    "Inference (avg): 4125.25\n";
const std::string kMemory = "INFO: Memory footprint delta (MB): init=4.2 overall=46.5\n";
const std::string kInit =
    "Profiling Info for Benchmark Initialization:\n"
    "============================== Run Order ==============================\n"
    "node type, start, first, avg_ms, %, cdf%, mem KB, times called, name\n"
    "AllocateTensors, 0, 1.356, 1.356, 100%, 100%, 0, 1, AllocateTensors/0\n\n"
    "Number of nodes executed: 1\n"
    "Timings (microseconds): count=1 curr=1356\n1 nodes observed\n\n";
const std::string kCsv =
    "Operator-wise Profiling Info for Regular Benchmark Runs:\n"
    "============================== Run Order ==============================\n"
    "node type, start, first, avg_ms, %, cdf%, mem KB, times called, name\n"
    "CONV_2D, 0, 0.11, 0.0930388, 44.9%, 44.9%, 0, 1, [a/Relu6;a/Conv2D]:0\n"
    "CONV_2D, 0.1, 0.03, 0.04, 10%, 54.9%, 0, 2, [b, with comma]:3\n"
    "TfLiteXNNPackDelegate, 0.2, 0.3, 0.25, 30%, 84.9%, 0, 1, [c]:64\n"
    "Convolution (NHWC, QC8) IGEMM, 0.2, 0.3, 0.2, 30%, 84.9%, 0, 1, Delegate/Convolution:0\n\n"
    "============================== Top by Computation Time ==============================\n"
    "node type, start, first, avg_ms, %, cdf%, mem KB, times called, name\n"
    "CONV_2D, 0, 0.11, 0.0930388, 44.9%, 44.9%, 0, 1, [a/Relu6;a/Conv2D]:0\n\n"
    "Number of nodes executed: 4\n"
    "Timings (microseconds): count=50 first=4300 curr=4250 min=4000 max=5100 avg=4.2e+03 std=90\n"
    "Memory (bytes): count=0\n4 nodes observed\n\n"
    "Delegate internal: \n"
    "============================== Run Order ==============================\n"
    "node type, start, first, avg_ms, %, cdf%, mem KB, times called, name\n"
    "Convolution (NHWC, QC8) IGEMM, 0.2, 0.3, 0.2, 30%, 84.9%, 0, 1, Delegate/Convolution:1\n\n";

BenchmarkReport parsed(const std::string& text) {
  const auto report = parse_benchmark_model(text);
  EXPECT_TRUE(report) << report.error().to_string();
  return report.value_or(BenchmarkReport{});
}

TEST(BenchmarkModel, ReadsTheSummaryInMicroseconds) {
  const BenchmarkReport report = parsed(kHead + kSummary + kMemory);
  EXPECT_DOUBLE_EQ(report.mean_ms, 4.12525);
  EXPECT_DOUBLE_EQ(report.min_ms.value(), 3.9);
  EXPECT_DOUBLE_EQ(report.max_ms.value(), 5.0);
  EXPECT_DOUBLE_EQ(report.p50_ms.value(), 4.1);
  EXPECT_DOUBLE_EQ(report.std_ms.value(), 0.111);
  EXPECT_DOUBLE_EQ(report.first_ms.value(), 9.0);
  EXPECT_DOUBLE_EQ(report.warm_up_mean_ms.value(), 4.7005);
  EXPECT_DOUBLE_EQ(report.init_ms.value(), 0.63);
  EXPECT_EQ(report.runs, 50);
  EXPECT_DOUBLE_EQ(report.footprint_bytes.value(), 46.5 * 1024 * 1024);
  EXPECT_TRUE(report.operators.empty());
}

TEST(BenchmarkModel, ReadsNumbersOfSixDigits) {
  const BenchmarkReport report = parsed(
      "count=1 curr=3512391\ncount=2 first=3 curr=3 min=2727568 max=3189954 avg=2.95034e+06 std=9\n"
      "I tflite  : Inference timings in us: Init: 17187, First inference: 3512391, Warmup (avg): "
      "3.51239e+06, Inference (avg): 2.95034e+06\r\n");
  EXPECT_DOUBLE_EQ(report.mean_ms, 2950.34);
  EXPECT_DOUBLE_EQ(report.min_ms.value(), 2727.568);
  EXPECT_FALSE(report.p50_ms);
}

TEST(BenchmarkModel, EqualRunsAreTheirOwnMinimum) {
  const BenchmarkReport report = parsed(
      "count=3 curr=20\n\ncount=50 curr=17\n\nInference timings in us: Init: 0, First inference: "
      "20, Warmup (avg): 20, Inference (avg): 17\n");
  EXPECT_DOUBLE_EQ(report.min_ms.value(), 0.017);
  EXPECT_FALSE(report.init_ms) << "0 is not known";
}

TEST(BenchmarkModel, OldVersionsHaveNoSummary) {
  const BenchmarkReport report = parsed(
      "Initialized session in 17.527ms\ncount=1 curr=1058871\n\ncount=50 first=885931 "
      "curr=881142 min=851668 max=903937 avg=880688 std=12426\n");
  EXPECT_DOUBLE_EQ(report.mean_ms, 880.688);
  EXPECT_DOUBLE_EQ(report.init_ms.value(), 17.527);
}

TEST(BenchmarkModel, ReadsOperatorsFromTheCsv) {
  const BenchmarkReport report = parsed(kHead + kSummary + "\n" + kInit + kCsv);
  ASSERT_EQ(report.operators.size(), 2u);
  EXPECT_EQ(report.operators[0].index, 0);
  EXPECT_EQ(report.operators[0].name, "[a/Relu6;a/Conv2D]:0");
  EXPECT_DOUBLE_EQ(report.operators[0].ms, 0.0930388);
  EXPECT_EQ(report.operators[1].index, 3);
  EXPECT_EQ(report.operators[1].name, "[b, with comma]:3");
  EXPECT_DOUBLE_EQ(report.operators[1].ms, 0.08) << "called twice an inference";
  EXPECT_EQ(report.delegated, 2);
  EXPECT_DOUBLE_EQ(report.mean_ms, 4.12525) << "not that of the profiled runs";
}

TEST(BenchmarkModel, ATableAloneHasTheTimeOfItsRuns) {
  const BenchmarkReport report = parsed(kInit + kCsv);
  EXPECT_DOUBLE_EQ(report.mean_ms, 4.2);
  EXPECT_DOUBLE_EQ(report.min_ms.value(), 4.0);
}

TEST(BenchmarkModel, ReadsOperatorsFromTheText) {
  const auto table = [](const char* header, const char* middle) {
    return fmt::format(
        "Operator-wise Profiling Info for Regular Benchmark Runs:\n"
        "INFO: ============================== Run Order ==============================\n"
        "{}\n\t                 CONV_2D\t{}   87.754\t   60.957\t  2.066%\t  2.066%\t     0.000\t  "
        " "
        "     1\t[x/Relu6]:7\n\n"
        "Number of nodes executed: 1\n",
        header, middle);
  };
  // With and without the column [start], as versions have it.
  for (const std::string& text :
       {table("\t             [node type]\t          [start]\t  [first]\t [avg ms]\t     [%]\t  "
              "[cdf%]\t  [mem KB]\t[times called]\t[Name]",
              "            0.066\t"),
        table("\t             [node type]\t  [first]\t [avg ms]\t     [%]\t  [cdf%]\t  [mem "
              "KB]\t[times called]\t[Name]",
              "")}) {
    const BenchmarkReport report = parsed(kSummary + text);
    ASSERT_EQ(report.operators.size(), 1u);
    EXPECT_EQ(report.operators[0].index, 7);
    EXPECT_EQ(report.operators[0].node_type, "CONV_2D");
    EXPECT_DOUBLE_EQ(report.operators[0].ms, 60.957);
  }
}

TEST(BenchmarkModel, RefusesWhatHasNoTime) {
  const std::string start = "Inference timings in us: Init: 1, First inference: 2, ";
  for (const std::string& text :
       {std::string(), std::string("ERROR: Failed to load model\n"), kHead.substr(0, 300),
        start + "Warmup (avg): 3", start + "Inference (avg): ", start + "Inference (avg): nan",
        start + "Inference (avg): -5", start + "Inference (avg): 0", start + "Inference (avg): inf",
        std::string("count=9 first=9000 curr=4100 min=4000 max=9000 avg=4700.5 std=1500\n")}) {
    const auto report = parse_benchmark_model(text);
    ASSERT_FALSE(report) << text;
    EXPECT_EQ(report.error().code, ErrorCode::kDeviceFailed);
    EXPECT_NE(report.error().message.find("it printed: "), std::string::npos);
    EXPECT_EQ(report.error().message.find('\n'), std::string::npos);
  }
}

// Cut anywhere inside its first table, the output is refused: a part is not the whole.
TEST(BenchmarkModel, RefusesATableThatIsCut) {
  const std::string whole = kHead + kSummary + kCsv;
  const size_t first = whole.find("CONV_2D, 0, "), last = whole.find("== Top by");
  for (size_t size = first; size < last - 60; ++size) {
    const auto report = parse_benchmark_model(whole.substr(0, size));
    ASSERT_FALSE(report) << whole.substr(0, size);
    EXPECT_NE(report.error().message.find("table per operator"), std::string::npos)
        << report.error().message;
  }
  std::string damaged = whole;
  damaged.replace(damaged.find("0.0930388"), 9, "x.0930388");
  EXPECT_FALSE(parse_benchmark_model(damaged));
}

TEST(BenchmarkModel, SurvivesAnyBytes) {
  const std::string whole = kHead + kSummary + kMemory + kInit + kCsv;
  Rng rng(3);
  for (int i = 0; i < 2000; ++i) {
    std::string text = whole;
    for (int64_t changes = rng.integer(1, 8); changes > 0; --changes)
      text[static_cast<size_t>(rng.integer(0, static_cast<int64_t>(text.size()) - 1))] =
          static_cast<char>(rng.integer(0, 255));
    const auto report = parse_benchmark_model(text);
    if (report) {
      EXPECT_GT(report->mean_ms, 0);
    }
  }
}

}  // namespace
}  // namespace edgesage
