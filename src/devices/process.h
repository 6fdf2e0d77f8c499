// One program from start to end, with what it printed. No shell is involved.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "edgesage/result.h"

namespace edgesage {

struct ProcessLimits {
  std::chrono::milliseconds timeout{60'000};
  std::chrono::milliseconds grace{500};    // from SIGTERM to SIGKILL
  size_t output_bytes = size_t{16} << 20;  // of standard output; more ends the program
  size_t error_bytes = 4096;               // how much of the end of standard error to keep
};

struct ProcessOutcome {
  // Exit status 0 within the time. Otherwise `failure` says how it ended, as one line: "ended with
  // exit status 3", "was killed by signal 11 (Segmentation fault)", "did not end within 5 s".
  bool ok = false;
  std::string failure;
  std::string output;  // standard output
  std::string errors;  // the end of standard error
  double seconds = 0;
};

// Runs argv[0], found in PATH, in a process group of its own with standard input from /dev/null and
// `environment` over that of this program. Whatever is left of the group is killed when the program
// has ended or its time is over, so that nothing it started goes on. A process that made a session
// of its own (a daemon, such as adb's server) is left alone. kDeviceFailed where it cannot be
// started at all. Blocks; may be called from any thread.
[[nodiscard]] Result<ProcessOutcome> run_process(
    const std::vector<std::string>& argv, const std::map<std::string, std::string>& environment,
    const ProcessLimits& limits);

}  // namespace edgesage
