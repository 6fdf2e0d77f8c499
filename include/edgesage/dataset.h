// Labels as files: what was written, what is in them, whether they hold. Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace edgesage {

struct LabelFile {
  std::string file;
  std::string device, runtime, runtime_version, host_fingerprint;
  int64_t networks = 0;
  int64_t file_bytes = 0;
  // Of an import: rows without a label, and networks that compute nothing, both left out; further
  // rows of a network, of which the least value is kept.
  int64_t not_measured = 0;
  int64_t constants = 0;
  int64_t repeated = 0;
  // Of an export as a folder, which `file` is then: its label files, and the failures beside them.
  std::vector<std::string> parts;
  int64_t failures = 0;
};

// Values of one quantity.
struct DatasetQuantity {
  struct Bin {
    double from = 0, to = 0;
    int64_t count = 0;
  };
  std::string name;
  int64_t count = 0;  // networks that have it
  double min = 0, p10 = 0, median = 0, p90 = 0, max = 0;
  int64_t zeros = 0;           // in no bin
  std::vector<Bin> histogram;  // four bins a decade
};

// Labels of one device and space.
struct DatasetPart {
  std::string device, host_fingerprint, runtime, runtime_version, statistic;
  std::string space;  // with its version: "mobile-classifier/1"
  int64_t networks = 0;
  int64_t with_fallback = 0;  // of them, operators fell back to the CPU
  int32_t repeats = 1;        // passes of which a label is the minimum; the least of the networks
  std::vector<DatasetQuantity> quantities;
};

struct DatasetFailure {
  std::string device;
  std::string error;  // of the example; reasons that differ in numbers alone count as one
  int64_t count = 0;
  std::string example;
};

struct DatasetSummary {
  std::string path;
  int64_t files = 0;
  int64_t file_bytes = 0;
  int64_t labels = 0;
  int64_t networks = 0;  // distinct ones
  std::vector<DatasetPart> parts;
  std::vector<DatasetFailure> failures;  // most frequent first
  std::string energy_table;              // that "energy_mj" is derived with; empty: none
};

struct DatasetDifference {
  std::string network, quantity;
  double expected = 0, found = 0;
  double relative = 0;
};

// Labels of one device beside new measurements.
struct DatasetCheck {
  std::string device, host_fingerprint;
  std::string skipped;  // why nothing was compared; empty otherwise
  int64_t compared = 0, missing = 0, different = 0, off_in_time = 0;
  double worst_exact = 0;  // relative, of what is not timed
  double median_time = 0;  // relative, of timed latencies
  double exact_tolerance = 0, time_tolerance = 0, time_share = 0;
  bool passed = false;
  std::vector<DatasetDifference>
      differences;  // beyond the tolerance, the largest first, at most 20
};

struct DatasetVerification {
  std::string path;
  uint64_t seed = 0;
  bool stopped = false;
  std::vector<DatasetCheck> devices;
  [[nodiscard]] bool passed() const {
    bool compared = false;
    for (const DatasetCheck& check : devices) {
      if (check.skipped.empty() && !check.passed) return false;
      compared = compared || check.skipped.empty();
    }
    return compared && !stopped;
  }
};

}  // namespace edgesage
