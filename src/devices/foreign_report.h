// What other tools wrote about running or compiling a model, as measurements of ours.
//
// Formats, known by their contents:
//   benchmark_model   output or CSV of TFLite's benchmark_model
//   vela-summary      Vela's summary CSV: a row a network
//   vela-layers       Vela's per-layer CSV: cycles of operators, which of them fall back
//   onnxruntime       the JSON of ONNX Runtime's profiler
//   trtexec           trtexec --exportProfile (layers) or --exportTimes (runs)
//   ai-hub            the profile of an AI Hub job, as JSON
//   mlperf-tiny       log of the EEMBC runner: windows of inferences a second, or of uJ
//   csv               a table of labels: a column "model" and columns with their unit in the name
//                     ("latency_us"), a row a network
//
// Units are converted where a format has its own (Vela's seconds and KiB, AI Hub's microseconds)
// and checked against what else a format says where it says it twice.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "edgesage/result.h"
#include "src/store/measurement.h"

namespace edgesage {

struct ForeignReport {
  std::string format;
  std::string network;  // as the report calls it; may be empty
  size_t row = 0;       // of a table, from 1; 0: the report is not a table
  // Device, runtime and version only where the report has them. Operators have an index only where
  // the report says which operator of the model they are.
  Measurement measurement;
  std::vector<std::string> notes;  // what a reader of the figures must know
};

[[nodiscard]] const std::vector<std::string>& foreign_formats();

// `format`: one of foreign_formats(), or empty: found out. `where` names the file in errors.
//
// kInvalidArgument where no format fits, or the file is not what its format says; where a label is
// zero, negative, not finite or not a number, naming its row (from 1, below the header) and line;
// other such rows are counted. No report has a label that training would have to refuse.
[[nodiscard]] Result<std::vector<ForeignReport>> read_foreign_report(std::string_view text,
                                                                     std::string_view where,
                                                                     std::string_view format = {});

}  // namespace edgesage
