// Labels that others measured, from a CSV of code strings: one row a network, a column with its
// code and one with what was measured.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "edgesage/result.h"
#include "src/learn/label_file.h"

namespace edgesage {

struct LabelImport {
  std::string space;  // a published one (src/spaces/published.h)
  // The column with the code, or "first:last": a range of columns whose cells are joined by '-'.
  std::string code_column;
  std::string label_column;
  std::string quantity = "latency_ms";  // what the label file calls it
  std::string unit;                     // of the column; empty: the quantity's own
  std::string device;
  std::string runtime, runtime_version;  // as far as known
  std::string statistic;                 // "p50", "min"; as far as known
  // What was run, where it is not the space's usual: 0 or the image's side; float32.
  int64_t resolution = 0;
  bool float32 = false;
  int threads = 0;
};

struct ImportedLabels {
  std::vector<LabelRow> rows;  // in the order of the file; the names are those of the codes
  int64_t not_measured = 0;    // empty cells
  int64_t constants = 0;       // networks that compute nothing (NAS-Bench-201), left out
  int64_t repeated = 0;        // rows of a network that has one already; the least value is kept
};

// Units that a quantity may come in, with the factor to its own: "ms, us, s, ns" for *_ms.
[[nodiscard]] Result<double> unit_factor(std::string_view quantity, std::string_view unit);

// kInvalidArgument for columns, spaces and units that do not exist, and, naming the first line and
// how many more there are, for codes that are none of the space and labels that are not finite
// numbers above zero. Networks are built without weights: some thousands in a second. The result
// does not depend on the number of threads.
[[nodiscard]] Result<ImportedLabels> import_labels(std::string_view csv, std::string_view where,
                                                   const LabelImport& import);

}  // namespace edgesage
