// What a test program allocates, counted in its operator new: for programs that link
// edgesage_counting_new. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

namespace edgesage::test {

struct Allocations {
  std::atomic<int64_t> count{0};       // calls of new since the start
  std::atomic<int64_t> live_bytes{0};  // allocated and not yet freed, as the allocator rounds
  std::atomic<int64_t> peak_bytes{0};  // the most of that; set it back to measure a part
};

[[nodiscard]] Allocations& allocations();

}  // namespace edgesage::test
