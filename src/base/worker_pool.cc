#include "src/base/worker_pool.h"

#include <utility>

#include "src/base/parallel.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace edgesage {
namespace {

constexpr int kSpins = 2000;  // about 30 to 80 us

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Returns when `value` is not `old` any more.
void wait_for_change(const std::atomic<uint32_t>& value, uint32_t old) {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (value.load(std::memory_order_acquire) != old) return;
    pause();
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

WorkerPool::WorkerPool(int threads) {
  if (threads <= 0) threads = hardware_threads();
  for (int t = 1; t < threads; ++t) threads_.emplace_back([this] { serve(); });
}

WorkerPool::~WorkerPool() {
  ending_ = true;
  ++generation_;
  generation_.notify_all();
}

void WorkerPool::run_erased(int64_t count, Loop loop) {
  if (threads_.empty() || count <= 1) {
    for (int64_t i = 0; i < count; ++i) call(loop, i);
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    return;
  }
  const uint32_t generation = generation_.load(std::memory_order_relaxed) + 1;
  const auto pieces = static_cast<uint32_t>(count);
  // First nothing can be claimed: a thread still at the end of the loop before would take its
  // ticket for a piece of this one as soon as it saw a larger count.
  ticket_.store(uint64_t{generation} << 32 | UINT32_MAX, std::memory_order_relaxed);
  loop_.store(&loop, std::memory_order_release);
  count_.store(pieces, std::memory_order_release);
  done_.store(0, std::memory_order_relaxed);
  ticket_.store(uint64_t{generation} << 32, std::memory_order_release);
  generation_.store(generation, std::memory_order_release);
  generation_.notify_all();
  work(generation);
  for (uint32_t done = done_.load(std::memory_order_acquire); done != pieces;
       done = done_.load(std::memory_order_acquire))
    wait_for_change(done_, done);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void WorkerPool::serve() {
  uint32_t seen = 0;
  for (;;) {
    wait_for_change(generation_, seen);
    seen = generation_.load(std::memory_order_acquire);
    if (ending_) return;
    work(seen);
  }
}

// Claims pieces while there are any of this generation.
void WorkerPool::work(uint32_t generation) {
  uint64_t ticket = ticket_.load(std::memory_order_acquire);
  while (static_cast<uint32_t>(ticket >> 32) == generation) {
    // A claim that succeeds proves that these are of the ticket's loop.
    const Loop* const loop = loop_.load(std::memory_order_acquire);
    const uint32_t count = count_.load(std::memory_order_acquire);
    const auto i = static_cast<uint32_t>(ticket);
    if (i >= count) return;
    if (!ticket_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel)) continue;
    call(*loop, i);
    if (done_.fetch_add(1, std::memory_order_acq_rel) + 1 == count) done_.notify_all();
    ticket = ticket_.load(std::memory_order_acquire);
  }
}

void WorkerPool::call(const Loop& loop, int64_t i) {
  try {
    loop.call(loop.body, i);
  } catch (...) {
    const std::lock_guard lock(failure_mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
}

}  // namespace edgesage
