#include "src/base/cpu_time.h"

#include <sys/resource.h>

namespace edgesage {
namespace {

double seconds_of(int who) {
  rusage usage{};
  if (::getrusage(who, &usage) != 0) return 0;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

CpuSeconds cpu_seconds() { return {seconds_of(RUSAGE_SELF), seconds_of(RUSAGE_CHILDREN)}; }

}  // namespace edgesage
