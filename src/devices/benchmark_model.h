// What TFLite's benchmark_model prints: the lines "count=... avg=...", the summary "Inference
// timings in us: ...", and with --enable_op_profiling a table per operator, as text or as the CSV
// of --profiling_output_csv_file.
//
// Units as they are in its sources: timings in microseconds, the tables in milliseconds, memory
// "MB" in units of 1,048,576 bytes. Numbers have six significant digits ("2.95034e+06").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "edgesage/result.h"

namespace edgesage {

struct BenchmarkOperator {
  int32_t index = -1;  // in the model; -1 where the name does not end in ":<index>"
  std::string node_type;
  std::string name;
  double ms = 0;  // of one inference: the average of a call, times the calls an inference
};

struct BenchmarkReport {
  double mean_ms = 0;  // "Inference (avg)", or the average of the timed runs
  // Where they are printed: of the timed runs, not of the warm-up.
  std::optional<double> min_ms, max_ms, p50_ms, std_ms;
  std::optional<double> first_ms, warm_up_mean_ms, init_ms;
  std::optional<double> footprint_bytes;  // "overall" of the process
  int64_t runs = 0;                       // 0: not printed
  std::vector<BenchmarkOperator> operators;
  int32_t delegated = 0;  // rows that are of a delegate, and of no operator of the model
};

// kDeviceFailed with what came: no timing, a timing that is not above zero or no number, a table
// that ends in the middle.
[[nodiscard]] Result<BenchmarkReport> parse_benchmark_model(std::string_view text);

}  // namespace edgesage
