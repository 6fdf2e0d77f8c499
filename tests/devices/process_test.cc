#include "src/devices/process.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

using namespace std::chrono_literals;

std::string python() { return test::venv_python().value_or("python3").string(); }

Result<ProcessOutcome> run_python(const std::string& code, std::vector<std::string> arguments = {},
                                  ProcessLimits limits = {}) {
  arguments.insert(arguments.begin(), {python(), "-c", code});
  return run_process(arguments, {}, limits);
}

bool is_gone(int pid) {
  for (int i = 0; i < 200; ++i) {
    if (kill(pid, 0) != 0) return true;
    // A zombie that nobody has reaped yet is gone as well.
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    std::getline(stat, text);
    if (text.find(") Z ") != std::string::npos) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

TEST(Process, ArgumentsArriveByteByByte) {
  const std::vector<std::string> odd = {
      "",  " a  b ", "it's",      "\"q\"", "$HOME `ls` $(ls)", "a\nb", "\xc3\xa9\xe2\x82\xac",
      "*", "\\",     "--flag=x y"};
  const auto outcome = run_python(
      "import sys, os\nsys.stdout.buffer.write(b'|'.join(os.fsencode(a) for a in sys.argv[1:]))",
      odd);
  ASSERT_TRUE(outcome && outcome->ok) << outcome->errors;
  std::string expected;
  for (const std::string& text : odd)
    expected += (expected.empty() && text.empty() ? "" : "|") + text;
  EXPECT_EQ(outcome->output, expected);
}

TEST(Process, TheEnvironmentIsAddedToOurs) {
  const auto outcome =
      run_process({python(), "-c", "import os; print(os.environ['COLOUR'], 'PATH' in os.environ)"},
                  {{"COLOUR", "a b"}}, {});
  ASSERT_TRUE(outcome && outcome->ok);
  EXPECT_EQ(outcome->output, "a b True\n");
}

TEST(Process, SaysHowItEnded) {
  EXPECT_EQ(run_python("import sys; sys.exit(3)")->failure, "ended with exit status 3");
  EXPECT_NE(run_python("import os; os.abort()")->failure.find("signal 6"), std::string::npos);
  const auto reason = run_python("import sys; sys.exit('no licence')");
  EXPECT_FALSE(reason->ok);
  EXPECT_EQ(reason->errors, "no licence\n");
  const auto absent = run_process({"no-such-program-here"}, {}, {});
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, ErrorCode::kDeviceFailed);
}

TEST(Process, AHangingProgramIsKilledWithItsChildren) {
  const test::TempDir dir;
  const std::string file = (dir.path() / "pid").string();
  ProcessLimits limits;
  limits.timeout = 2s;
  limits.grace = 100ms;
  const auto start = std::chrono::steady_clock::now();
  const auto outcome = run_python(
      "import subprocess, sys, time, signal\n"
      "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
      "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
      "open(sys.argv[1], 'w').write(str(p.pid))\ntime.sleep(600)",
      {file}, limits);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->failure, "did not end within 2 s");
  EXPECT_LT(std::chrono::steady_clock::now() - start, 300s);
  int pid = 0;
  std::ifstream(file) >> pid;
  ASSERT_GT(pid, 0);
  EXPECT_TRUE(is_gone(pid));
}

TEST(Process, WhatItLeavesBehindIsKilledAndNotWaitedFor) {
  const auto start = std::chrono::steady_clock::now();
  const auto outcome = run_python(
      "import subprocess, sys\n"
      "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
      "print(p.pid)");
  ASSERT_TRUE(outcome && outcome->ok);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 300s);
  EXPECT_TRUE(is_gone(std::stoi(outcome->output)));
}

TEST(Process, OutputIsBoundedAndComplete) {
  const auto large = run_python("import sys; sys.stdout.write('x' * 3000000)");
  ASSERT_TRUE(large && large->ok);
  EXPECT_EQ(large->output.size(), 3000000u);
  ProcessLimits limits;
  limits.output_bytes = 100'000;
  const auto flood = run_python("while True: print('x' * 1000)", {}, limits);
  EXPECT_EQ(flood->failure, "printed more than 100000 bytes");
  const auto noisy = run_python("import sys\nsys.stderr.write('y' * 1000000 + 'end')");
  ASSERT_TRUE(noisy && noisy->ok);
  EXPECT_LE(noisy->errors.size(), 4096u);
  EXPECT_TRUE(noisy->errors.ends_with("end"));
}

}  // namespace
}  // namespace edgesage
