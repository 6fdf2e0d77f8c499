// What a run of annotation did. Plain data; units are in the names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace edgesage {

// One pass over the networks on one device.
struct AnnotationPass {
  std::string device, host_fingerprint;
  int32_t repeat = 0;
  int32_t workers = 1;
  int64_t networks = 0;
  int64_t measured = 0;     // in this run, without failures
  int64_t failed = 0;       // in this run; stored with their reason
  int64_t already = 0;      // stored before
  int64_t duplicates = 0;   // of networks measured under another name
  int64_t passed_over = 0;  // their channels are no multiples of what was asked for
  double seconds = 0;
  double worker_seconds = 0;  // summed over the workers: waiting for their answers
  double build_seconds = 0;   // making the networks, beside the measuring
  // Processor time of this process, and of the workers' processes (0: they are none).
  double own_cpu_seconds = 0, worker_cpu_seconds = 0;

  // What annotating costs beyond the workers' own time, in per cent of it; nullopt: not known.
  [[nodiscard]] std::optional<double> overhead() const {
    if (!(worker_cpu_seconds > 0) || measured + failed == 0) return std::nullopt;
    return 100 * own_cpu_seconds / worker_cpu_seconds;
  }
};

struct AnnotationSummary {
  std::string store;
  std::vector<AnnotationPass> passes;
  bool stopped = false;  // before the end; the next run goes on
};

}  // namespace edgesage
