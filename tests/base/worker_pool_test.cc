#include "src/base/worker_pool.h"

#include <chrono>
#include <numeric>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

namespace edgesage {
namespace {

TEST(WorkerPool, CallsEachPieceOnceInEveryLoop) {
  for (const int threads : {1, 2, 3, 8}) {
    WorkerPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    std::vector<int> calls;
    for (int loop = 0; loop < 3000; ++loop) {
      calls.assign(static_cast<size_t>(loop % 11), 0);
      pool.run(static_cast<int64_t>(calls.size()),
               [&](int64_t i) { ++calls[static_cast<size_t>(i)]; });
      for (const int count : calls) ASSERT_EQ(count, 1) << threads << " threads, loop " << loop;
    }
  }
}

TEST(WorkerPool, SeesWhatTheLoopBeforeWrote) {
  WorkerPool pool(4);
  std::vector<int64_t> values(64, 1), sums(64);
  for (int loop = 0; loop < 500; ++loop) {
    const int64_t all = std::accumulate(values.begin(), values.end(), int64_t{0}) % 1009;
    pool.run(64, [&](int64_t i) { sums[static_cast<size_t>(i)] = all + i; });
    pool.run(
        64, [&](int64_t i) { values[static_cast<size_t>(i)] = sums[static_cast<size_t>(63 - i)]; });
    for (size_t i = 0; i < 64; ++i) ASSERT_EQ(values[i], all + 63 - static_cast<int64_t>(i));
  }
}

TEST(WorkerPool, WakesFromSleep) {
  WorkerPool pool(2);
  for (int loop = 0; loop < 20; ++loop) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::atomic<int> sum = 0;
    pool.run(5, [&](int64_t i) { sum += static_cast<int>(i); });
    ASSERT_EQ(sum, 10);
  }
}

TEST(WorkerPool, RethrowsAndGoesOn) {
  WorkerPool pool(3);
  std::atomic<int> calls = 0;
  EXPECT_THROW(pool.run(20,
                        [&](int64_t i) {
                          ++calls;
                          if (i == 7) throw std::runtime_error("piece 7");
                        }),
               std::runtime_error);
  EXPECT_EQ(calls, 20);
  pool.run(4, [&](int64_t) { ++calls; });
  EXPECT_EQ(calls, 24);
}

}  // namespace
}  // namespace edgesage
