// A campaign that is killed with SIGKILL, again and again, loses nothing that it reported and ends
// as one that ran through.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "src/base/rng.h"
#include "src/graph/builder.h"
#include "src/learn/annotate.h"
#include "src/learn/label_file.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

namespace fs = std::filesystem;

constexpr int kNetworks = 120;

// Every third network repeats the graph of an earlier one, every tenth fails.
Result<Graph> tiny(const std::string& name) {
  const int64_t number = std::stoll(name.substr(name.rfind('/') + 1));
  GraphBuilder net({.name = name, .fill = {}, .seed = static_cast<uint64_t>(number)});
  const auto x = net.input("x", {1, 8});
  return net.finish(
      {net.fully_connected(x, {.units = 1 + (number % 3 == 2 ? number / 2 : number)})});
}

class Worker : public Measurer {
 public:
  [[nodiscard]] std::string host_fingerprint() const override { return ""; }
  [[nodiscard]] Result<Measurement> measure(const fs::path& model) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    Measurement m;
    m.runtime = "fake";
    const int64_t number =
        std::stoll(model.stem().string().substr(model.stem().string().rfind('-') + 1));
    if (number % 10 == 7)
      m.error = "refused";
    else
      m.quantities["latency_ms"] = static_cast<double>(fs::file_size(model));
    m.statistic = "estimate";
    return m;
  }
};

Result<AnnotateReport> run(const fs::path& path, const fs::path& work,
                           const std::function<void(const AnnotateProgress&)>& progress = {}) {
  EDGESAGE_ASSIGN_OR_RETURN(Store store, Store::open(path, StoreMode::kWrite));
  AnnotateOptions options;
  options.work_dir = work;
  options.build = tiny;
  AnnotateDevice device;
  device.name = "fake";
  device.workers = 2;
  device.open = []() -> Result<std::unique_ptr<Measurer>> { return std::make_unique<Worker>(); };
  options.devices = {device};
  std::vector<std::string> names;
  for (int i = 0; i < kNetworks; ++i) names.push_back("tiny/1/" + std::to_string(i));
  return annotate(store, names, options, progress);
}

struct Stored {
  std::string labels;
  int64_t done = 0, failed = 0;
};

Stored stored(const fs::path& path) {
  Stored out;
  const auto store = Store::open(path, StoreMode::kRead);
  if (!store) return out;
  const auto info = store->info();
  EXPECT_TRUE(info);
  out.done = info->duplicates;
  for (const StoreGroup& group : info->groups) {
    out.done += group.measured + group.failed;
    out.failed += group.failed;
  }
  if (const auto rows = labels_of(*store, {"fake"})) out.labels = labels_to_csv(*rows);
  return out;
}

TEST(AnnotateKill, NothingReportedIsLostAndTheEndIsTheSame) {
  const test::TempDir dir;
  const fs::path path = dir.path() / "killed.db", work = dir.path() / "work";
  Rng rng(5);
  int killed = 0;
  for (int round = 0; round < 200; ++round) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const auto report = run(path, work, [&](const AnnotateProgress& progress) {
        if (::write(ends[1], &progress.done, sizeof(progress.done)) < 0) ::_exit(3);
      });
      ::_exit(report ? 0 : 2);
    }
    ::close(ends[1]);
    // Something is done in every round; some are killed at once.
    int64_t reported = 0, first = -1;
    const int64_t wanted = rng.integer(0, 25);
    while (::read(ends[0], &reported, sizeof(reported)) == sizeof(reported)) {
      if (first < 0) first = reported;
      if (reported >= first + wanted) break;
    }
    ::kill(child, SIGKILL);
    for (int64_t more; ::read(ends[0], &more, sizeof(more)) == sizeof(more);) reported = more;
    ::close(ends[0]);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_GE(stored(path).done, reported) << "round " << round;
    if (WIFEXITED(status)) {
      ASSERT_EQ(WEXITSTATUS(status), 0);
      break;
    }
    ++killed;
  }
  EXPECT_GE(killed, 4) << "too few to mean anything";
  ASSERT_TRUE(run(path, work));
  const fs::path whole = dir.path() / "whole.db";
  ASSERT_TRUE(run(whole, work));
  const Stored ours = stored(path), expected = stored(whole);
  EXPECT_EQ(ours.done, kNetworks);
  EXPECT_GT(expected.failed, 0);
  EXPECT_EQ(ours.failed, expected.failed);
  EXPECT_EQ(ours.labels, expected.labels);
}

}  // namespace
}  // namespace edgesage
