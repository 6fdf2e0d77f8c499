#include "tests/support/allocations.h"

#include <malloc.h>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace edgesage::test {

// Constructed before any dynamic initialiser can allocate.
constinit Allocations counters;

Allocations& allocations() { return counters; }

}  // namespace edgesage::test

namespace {

// Null where there is no memory.
void* counted_or_null(std::size_t size, std::size_t alignment) noexcept {
  auto& [count, live_bytes, peak_bytes] = edgesage::test::counters;
  ++count;
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, size) != 0) return nullptr;
  const int64_t now = live_bytes += static_cast<int64_t>(malloc_usable_size(memory));
  int64_t peak = peak_bytes;
  while (now > peak && !peak_bytes.compare_exchange_weak(peak, now)) {
  }
  return memory;
}

void* counted(std::size_t size, std::size_t alignment) {
  if (void* const memory = counted_or_null(size, alignment)) return memory;
  throw std::bad_alloc();
}

// Out of line, or the compiler takes the pair of new and free for a mistake.
[[gnu::noinline]] void release(void* memory) {
  if (memory != nullptr)
    edgesage::test::counters.live_bytes -= static_cast<int64_t>(malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) { return counted(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
// std::stable_sort asks by these; without them a sanitizer's would be freed here.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return counted_or_null(size, alignof(std::max_align_t));
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return counted_or_null(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
