// Processor time.
#pragma once

namespace edgesage {

struct CpuSeconds {
  double own = 0;              // of all threads of this process
  double ended_processes = 0;  // of its processes that ended and were waited for, and of theirs
};

// Since this process began. Thread safe; a microsecond.
[[nodiscard]] CpuSeconds cpu_seconds();

}  // namespace edgesage
