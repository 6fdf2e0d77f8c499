#include "src/devices/worker_client.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <thread>

#include "tests/devices/fake_device.h"

namespace edgesage {
namespace {

using namespace std::chrono_literals;
using test::FakeDevice;

Result<Json> ask(FakeDevice& fake, std::chrono::milliseconds deadline = 10s) {
  return fake.client.request("measure", Json::object(), deadline);
}

size_t open_descriptors() {
  const std::filesystem::directory_iterator entries("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(entries), end(entries)));
}

bool has_children() { return waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD; }

// The behaviour costs its own request a reason with `expected` in it; the next gets a fresh worker.
void expect_costs_one_answer(const std::string& behaviour, std::string_view expected,
                             std::chrono::milliseconds deadline = 10s, WorkerLimits limits = {}) {
  SCOPED_TRACE(behaviour);
  const size_t before = open_descriptors();
  {
    FakeDevice fake(behaviour, limits);
    const auto first = ask(fake, deadline);
    ASSERT_FALSE(first);
    EXPECT_EQ(first.error().code, ErrorCode::kDeviceFailed);
    EXPECT_NE(first.error().message.find(expected), std::string::npos) << first.error().message;
    EXPECT_FALSE(fake.client.running());
    EXPECT_FALSE(has_children());
    const auto second = ask(fake);
    ASSERT_TRUE(second) << second.error().to_string();
    EXPECT_EQ((*second)["quantities"]["latency_ms"], 2.5);
    EXPECT_EQ(fake.client.restarts(), 1);
  }
  EXPECT_FALSE(has_children());
  EXPECT_EQ(open_descriptors(), before);
}

TEST(WorkerClient, ShakesHandsAndAnswers) {
  FakeDevice fake("good");
  EXPECT_FALSE(fake.client.running());
  const auto hello = fake.client.hello();
  ASSERT_TRUE(hello) << hello.error().to_string();
  EXPECT_EQ(hello->runtime, "fake");
  EXPECT_EQ(hello->runtime_version, "0.1");
  EXPECT_EQ(hello->host_fingerprint, "abc");
  EXPECT_EQ(hello->protocol_minor, 0);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(ask(fake));
  EXPECT_EQ(fake.client.restarts(), 0);
  fake.client.stop();
  EXPECT_FALSE(has_children());
  EXPECT_TRUE(ask(fake));
}

TEST(WorkerClient, ACrashCostsOneAnswer) {
  expect_costs_one_answer("crash", "signal 11");
  expect_costs_one_answer("crash", "it printed: about to crash");
  expect_costs_one_answer("exit", "exit status 7");
  expect_costs_one_answer("orphan", "exit status 9");
}

TEST(WorkerClient, AHangCostsOneAnswer) {
  expect_costs_one_answer("hang", "no answer within 300 ms", 300ms);
  expect_costs_one_answer("beats_for_ever", "no answer within 300 ms", 300ms);
  WorkerLimits limits;
  limits.silence = 200ms;
  expect_costs_one_answer("beats_then_silence", "no beat for 200 ms", 10s, limits);
  expect_costs_one_answer("closes_early", "went away");
}

TEST(WorkerClient, NonsenseCostsOneAnswer) {
  for (const char* behaviour :
       {"not_json", "not_object", "binary", "wrong_id", "unknown_message", "nan", "huge_number"})
    expect_costs_one_answer(behaviour, "nonsense");
  WorkerLimits limits;
  limits.line_bytes = 1 << 20;
  expect_costs_one_answer("endless_line", "a line of more than 1048576 bytes", 10s, limits);
}

TEST(WorkerClient, AKilledWorkerTakesItsChildrenAlong) {
  FakeDevice fake("hang_with_child");
  ASSERT_FALSE(ask(fake, 500ms));
  pid_t child = 0;
  for (const auto& entry : std::filesystem::directory_iterator(fake.state.path()))
    if (const std::string name = entry.path().filename().string(); name.starts_with("child-"))
      child = std::stoi(name.substr(6));
  ASSERT_GT(child, 0);
  // The child is not ours to reap: wait until whoever adopted it has.
  for (int i = 0; i < 100 && kill(child, 0) == 0; ++i) {
    const std::string status = "/proc/" + std::to_string(child) + "/stat";
    std::string text;
    if (FILE* file = std::fopen(status.c_str(), "r")) {
      char buffer[128] = {};
      text.assign(buffer, std::fread(buffer, 1, sizeof(buffer) - 1, file));
      std::fclose(file);
    }
    if (text.find(") Z") != std::string::npos) break;
    std::this_thread::sleep_for(20ms);
    ASSERT_LT(i, 99) << "still alive";
  }
}

TEST(WorkerClient, AWorkersOwnErrorKeepsTheWorker) {
  FakeDevice fake("error");
  for (int i = 0; i < 2; ++i) {
    const auto answer = ask(fake);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::kDeviceFailed);
    EXPECT_EQ(answer.error().message, "it does not fit");
    EXPECT_TRUE(fake.client.running());
  }
  EXPECT_EQ(fake.client.restarts(), 0);
}

TEST(WorkerClient, BeatsKeepASlowWorkerAlive) {
  WorkerLimits limits;
  limits.silence = 200ms;
  FakeDevice fake("beats", limits);
  EXPECT_TRUE(ask(fake));
  EXPECT_EQ(fake.client.restarts(), 0);
}

TEST(WorkerClient, UnderstandsANewerMinorVersion) {
  FakeDevice fake("newer_minor");
  const auto answer = ask(fake);
  ASSERT_TRUE(answer) << answer.error().to_string();
  EXPECT_EQ((*answer)["quantities"]["latency_ms"], 2.5);
  EXPECT_EQ(fake.client.hello()->protocol_minor, 7);
}

TEST(WorkerClient, RefusesANewerMajorVersion) {
  FakeDevice fake("newer_major");
  const auto hello = fake.client.hello();
  ASSERT_FALSE(hello);
  EXPECT_EQ(hello.error().code, ErrorCode::kDeviceFailed);
  EXPECT_NE(hello.error().message.find("speaks protocol 2.0"), std::string::npos)
      << hello.error().message;
  EXPECT_FALSE(has_children());
}

TEST(WorkerClient, SaysWhyAWorkerDoesNotStart) {
  FakeDevice exits("exit_before_hello");
  const auto hello = exits.client.hello();
  ASSERT_FALSE(hello);
  EXPECT_NE(hello.error().message.find("exit status 3"), std::string::npos)
      << hello.error().message;
  EXPECT_NE(hello.error().message.find("no licence for this"), std::string::npos)
      << hello.error().message;

  FakeDevice no_hello("no_hello");
  EXPECT_NE(no_hello.client.hello().error().message.find("not a hello"), std::string::npos);

  WorkerLimits limits;
  limits.hello = 200ms;
  FakeDevice silent("silent_start", limits);
  EXPECT_NE(silent.client.hello().error().message.find("no hello within 200 ms"),
            std::string::npos);

  WorkerClient absent({"/nowhere/worker"});
  const auto missing = absent.hello();
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kDeviceFailed);
  EXPECT_NE(missing.error().message.find("No such file"), std::string::npos)
      << missing.error().message;
  EXPECT_FALSE(has_children());
}

TEST(WorkerClient, StrayLinesDoNotBecomeTheNextAnswer) {
  FakeDevice fake("stray_lines");
  ASSERT_TRUE(ask(fake));
  std::this_thread::sleep_for(100ms);
  EXPECT_TRUE(ask(fake));
  EXPECT_EQ(fake.client.restarts(), 1);
}

TEST(WorkerClient, ARuntimeMayPrintAsMuchAsItLikes) {
  FakeDevice fake("chatter");
  EXPECT_TRUE(ask(fake));
  EXPECT_TRUE(ask(fake));
}

TEST(WorkerClient, SurvivesAWorkerThatIsKilledBetweenRequests) {
  FakeDevice fake("good");
  ASSERT_TRUE(ask(fake));
  kill(fake.client.pid(), SIGKILL);
  std::this_thread::sleep_for(100ms);
  EXPECT_TRUE(ask(fake));
  EXPECT_EQ(fake.client.restarts(), 1);
}

}  // namespace
}  // namespace edgesage
