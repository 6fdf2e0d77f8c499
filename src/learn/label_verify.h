// Whether labels are what the device says today.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/learn/label_file.h"

namespace edgesage {

// A device's own repeatability. Vela: 7 of 600 runs repeated differed, by at most 1e-4; the minimum
// of a host's timings repeats to 5 % for nine networks of ten.
struct VerifyTolerance {
  double exact = 1e-4;       // relative, of counts, bytes and a compiler's times and cycles
  double time = 0.10;        // relative, of a latency that was timed
  double time_share = 0.10;  // of the networks may be further apart than `time`
};

struct LabelDifference {
  std::string name, device, quantity;  // "cycles of operator 3", "graph"
  double expected = 0, found = 0;
  double relative = 0;  // |found - expected| / expected; 1 where one of them is missing
  bool timed = false;
};

struct LabelVerification {
  int64_t compared = 0;     // networks
  int64_t missing = 0;      // of them, not measured today
  int64_t different = 0;    // beyond the tolerance in something that does not depend on timing
  int64_t off_in_time = 0;  // timed latencies beyond the tolerance
  double worst_exact = 0, median_time = 0;   // relative
  std::vector<LabelDifference> differences;  // beyond the tolerance, the largest first
  [[nodiscard]] bool passed(const VerifyTolerance& tolerance) const {
    return missing == 0 && different == 0 &&
           static_cast<double>(off_in_time) <= tolerance.time_share * static_cast<double>(compared);
  }
};

// Labels of one device, and the same networks measured again; matched by name. Compared are the
// graph, every quantity but first and load times, operators that fell back, and cycles per
// operator. Labels whose statistic is "estimate" are not timed.
[[nodiscard]] LabelVerification compare_labels(std::span<const LabelRow> labels,
                                               std::span<const LabelRow> again,
                                               const VerifyTolerance& tolerance);

// `count` of the rows (all where there are fewer), the same for the same seed and set of labels.
[[nodiscard]] std::vector<LabelRow> choose_labels(std::span<const LabelRow> rows, int64_t count,
                                                  uint64_t seed);

}  // namespace edgesage
