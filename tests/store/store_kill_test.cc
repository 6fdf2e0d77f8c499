// A store survives SIGKILL at any moment with everything that was reported as stored.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "src/base/rng.h"
#include "src/store/store.h"
#include "tests/store/samples.h"

namespace edgesage {
namespace {

// In the child: stores networks from `first` on, reporting each after it is stored. Never returns.
[[noreturn]] void insert_forever(const std::filesystem::path& path, int first, int pipe) {
  auto store = Store::open(path, StoreMode::kWrite);
  if (!store) ::_exit(1);
  Rng rng(static_cast<uint64_t>(first));
  for (int number = first;; ++number) {
    const auto id = store->add_network(test::sample_network(number));
    if (!id || !store->add_measurement(*id, test::sample_measurement(rng, "d"), 0)) ::_exit(2);
    if (::write(pipe, &number, sizeof(number)) != sizeof(number)) ::_exit(3);
  }
}

TEST(StoreKill, EverythingReportedAsStoredIsThereAfterSigkill) {
  const test::TempDir dir;
  const auto path = dir.path() / "a.db";
  Rng rng(11);
  std::vector<int> reported;
  constexpr int kRounds = 40;
  for (int round = 0; round < kRounds; ++round) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) insert_forever(path, 10'000 * round, ends[1]);
    ::close(ends[1]);
    // Every other round the first report is awaited, so that a busy machine stores something too;
    // the others may be killed while they open the store.
    if (int number = 0; round % 2 == 0) {
      ASSERT_EQ(::read(ends[0], &number, sizeof(number)), ssize_t{sizeof(number)});
      reported.push_back(number);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(rng.integer(0, 60'000)));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended by itself: " << status;
    for (int number; ::read(ends[0], &number, sizeof(number)) == sizeof(number);)
      reported.push_back(number);
    ::close(ends[0]);

    const auto store = Store::open(path, StoreMode::kWrite);
    ASSERT_TRUE(store) << store.error().to_string();
    ASSERT_TRUE(store->verify());
    for (const int number : reported) {
      const auto network = store->find_network(test::sample_network(number).name);
      ASSERT_TRUE(network && *network) << number;
      EXPECT_EQ(*store->find({(*network)->id, "d", "", 0}), Store::Known::kMeasurement) << number;
    }
  }
  RecordProperty("reported", static_cast<int>(reported.size()));
  EXPECT_GE(reported.size(), static_cast<size_t>(kRounds / 2)) << "too few to mean anything";
}

}  // namespace
}  // namespace edgesage
