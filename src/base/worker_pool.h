// Threads that stay, for short loops that follow each other closely (training runs four of them a
// step, of some hundred microseconds each). For one long loop, `parallel_for` is simpler.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace edgesage {

// Used by one thread at a time, which works along. Threads wait for the next loop spinning for some
// tens of microseconds, then asleep: an idle pool costs nothing.
class WorkerPool {
 public:
  explicit WorkerPool(int threads);  // with the caller's; 0: as many as the machine has
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Calls body(i) for every i in [0, count), each exactly once; order and thread are not defined,
  // so bodies must not depend on each other. Returns when all are done; what they wrote is visible
  // to the caller. An exception in a body is rethrown here after the others have ended. Allocates
  // nothing. `count` below 2^32.
  template <class Body>
  void run(int64_t count, const Body& body) {
    run_erased(count, {&body, [](const void* erased, int64_t i) {
                         (*static_cast<const Body*>(erased))(i);
                       }});
  }

  [[nodiscard]] int threads() const { return static_cast<int>(threads_.size()) + 1; }

 private:
  struct Loop {
    const void* body;
    void (*call)(const void* body, int64_t i);
  };
  void run_erased(int64_t count, Loop loop);
  void serve();
  void work(uint32_t generation);
  void call(const Loop& loop, int64_t i);

  // The loop in hand. The upper half of `ticket_` is its generation, the lower half the next i: a
  // thread that wakes late cannot claim a piece of a loop that it did not read.
  std::atomic<uint64_t> ticket_{0};
  std::atomic<uint32_t> count_{0};
  std::atomic<const Loop*> loop_{nullptr};
  std::atomic<uint32_t> done_{0};
  // What idle threads wait on.
  std::atomic<uint32_t> generation_{0};
  std::atomic<bool> ending_{false};
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
  std::vector<std::jthread> threads_;
};

}  // namespace edgesage
