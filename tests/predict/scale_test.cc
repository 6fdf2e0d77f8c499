// A hundred thousand operators: time and memory stay linear, from the file's bytes to the answer.
//
// Counts what is allocated, so it is a program of its own. Time is that of the process, and the
// bounds are generous: a sanitizer and a busy machine stay within them, anything quadratic does
// not (it would grow a hundredfold).
#include <ctime>

#include <gtest/gtest.h>

#include "src/base/file.h"
#include "src/io/tflite_reader.h"
#include "src/io/tflite_writer.h"
#include "src/predict/predictor.h"
#include "tests/predict/large_graphs.h"
#include "tests/predict/sample_predictor.h"
#include "tests/support/allocations.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

struct Cost {
  double seconds = 0;
  double bytes = 0;  // largest amount allocated at a time
  size_t operators = 0;
};

double process_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Cost cost_of(const Predictor& predictor, test::LargeGraph shape, int32_t operators) {
  const test::TempDir directory;
  const auto path = directory.path() / "large.tflite";
  const auto bytes = write_tflite(test::large_graph(shape, operators));
  EXPECT_TRUE(bytes) << bytes.error().to_string();
  EXPECT_TRUE(write_file(path, *bytes));
  test::Allocations& allocated = test::allocations();
  const int64_t before = allocated.live_bytes;
  allocated.peak_bytes = before;
  const double start = process_seconds();
  Cost cost;
  {
    const auto graph = read_tflite(*MappedFile::open(path, ErrorCode::kBadModel), "large.tflite");
    EXPECT_TRUE(graph) << graph.error().to_string();
    const Prediction answer = predictor.predict(*graph, "large", {});
    EXPECT_TRUE(answer.latency_ms) << test::name_of(shape);
    cost.operators = answer.operators.size();
  }
  cost.seconds = process_seconds() - start;
  cost.bytes = static_cast<double>(allocated.peak_bytes - before);
  return cost;
}

class Scale : public testing::TestWithParam<std::tuple<test::LargeGraph, const char*>> {};

TEST_P(Scale, TimeAndMemoryAreLinearInOperators) {
  const auto [shape, target] = GetParam();
  PredictorData data = test::lively_predictor(1);
  data.device = data.target = target;
  const Predictor predictor = *Predictor::from(std::move(data));
  cost_of(predictor, shape, 2000);  // what is made once
  const Cost small = cost_of(predictor, shape, 10'000);
  const Cost large = cost_of(predictor, shape, 100'000);
  RecordProperty("milliseconds", static_cast<int>(large.seconds * 1e3));
  RecordProperty("megabytes", static_cast<int>(large.bytes * 1e-6));
  const double growth = static_cast<double>(large.operators) / static_cast<double>(small.operators);
  EXPECT_LT(large.seconds, 10.0);
  EXPECT_LT(large.seconds, 2.5 * growth * small.seconds + 0.05);
  EXPECT_LT(large.bytes, 1.2 * growth * small.bytes + 1e6);
  std::printf("%-11s %-14s %6.0f ms, %5.0f MB; growth of time %.1f, of memory %.1f\n",
              std::string(test::name_of(shape)).c_str(), target, large.seconds * 1e3,
              large.bytes * 1e-6, large.seconds / small.seconds, large.bytes / small.bytes);
}

std::string name_of_case(const testing::TestParamInfo<Scale::ParamType>& info) {
  std::string name =
      std::string(test::name_of(std::get<0>(info.param))) + "_" + std::get<1>(info.param);
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Targets, Scale,
                         testing::Combine(testing::ValuesIn(test::kLargeGraphs),
                                          testing::Values("ethos-u85-512", "litert-xnnpack")),
                         name_of_case);

}  // namespace
}  // namespace edgesage
