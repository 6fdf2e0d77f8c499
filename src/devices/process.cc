#include "src/devices/process.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "src/devices/spawn.h"

extern char** environ;

namespace edgesage {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// How often a wait looks whether the child still lives: a daemon may hold the pipe open.
constexpr milliseconds kSlice{50};

std::vector<std::string> merged_environment(const std::map<std::string, std::string>& added) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!added.contains(text.substr(0, text.find('=')))) merged.push_back(text);
  }
  for (const auto& [name, value] : added) merged.push_back(name + "=" + value);
  return merged;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

class Child {
 public:
  ~Child() { end(milliseconds{0}); }
  Child() = default;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  Status start(const std::vector<std::string>& argv,
               const std::map<std::string, std::string>& environment);
  // Until it has ended, its time is over or it printed too much; says what is wrong, or nothing.
  std::string wait(const ProcessLimits& limits);
  // Ends the group, reaps the child, and gives its status.
  int end(milliseconds grace);
  void drain(const ProcessLimits& limits);

  std::string output, errors;

 private:
  void read_some(spawn::Ends& ends, std::string& text);

  pid_t pid_ = -1;
  spawn::Ends output_, errors_;
};

Status Child::start(const std::vector<std::string>& argv,
                    const std::map<std::string, std::string>& environment) {
  if (argv.empty() || !spawn::open_pipe(output_) || !spawn::open_pipe(errors_))
    return make_error(ErrorCode::kDeviceFailed, argv.empty() ? "" : argv.front(),
                      fmt::format("cannot be started: {}", std::strerror(errno)));
  std::vector<std::string> arguments = argv;
  std::vector<std::string> variables = merged_environment(environment);
  const std::vector<char*> argument_pointers = pointers_to(arguments);
  const std::vector<char*> variable_pointers = pointers_to(variables);
  spawn::Settings settings;
  posix_spawn_file_actions_addopen(&settings.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&settings.actions, output_.theirs, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&settings.actions, errors_.theirs, STDERR_FILENO);
  const int failure =
      posix_spawnp(&pid_, argument_pointers.front(), &settings.actions, &settings.attributes,
                   argument_pointers.data(), variable_pointers.data());
  if (failure != 0) {
    pid_ = -1;
    return make_error(ErrorCode::kDeviceFailed, argv.front(),
                      fmt::format("cannot be started: {}", std::strerror(failure)));
  }
  spawn::close_fd(output_.theirs);
  spawn::close_fd(errors_.theirs);
  return {};
}

void Child::read_some(spawn::Ends& ends, std::string& text) {
  std::array<char, 65536> chunk;
  const ssize_t count = read(ends.ours, chunk.data(), chunk.size());
  if (count > 0) text.append(chunk.data(), static_cast<size_t>(count));
  if (count == 0) spawn::close_fd(ends.ours);
}

void Child::drain(const ProcessLimits& limits) {
  // Bounded: a daemon that it left behind may print without end.
  for (size_t before = output.size() + 1;
       output_.ours >= 0 && output.size() != before && output.size() <= limits.output_bytes;) {
    before = output.size();
    read_some(output_, output);
  }
  for (size_t before = errors.size() + 1; errors_.ours >= 0 && errors.size() != before;) {
    before = errors.size();
    read_some(errors_, errors);
    if (errors.size() > size_t{1} << 20) break;
  }
}

std::string Child::wait(const ProcessLimits& limits) {
  const auto until = steady_clock::now() + limits.timeout;
  while (!spawn::has_ended(pid_)) {
    if (output.size() > limits.output_bytes)
      return fmt::format("printed more than {} bytes", limits.output_bytes);
    const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now());
    if (left.count() <= 0)
      return fmt::format("did not end within {:g} s",
                         static_cast<double>(limits.timeout.count()) / 1e3);
    // Closed pipes are -1, which poll skips.
    pollfd waits[2] = {{output_.ours, POLLIN, 0}, {errors_.ours, POLLIN, 0}};
    poll(waits, 2, static_cast<int>(std::min(left, kSlice).count()));
    if (waits[0].revents != 0) read_some(output_, output);
    if (waits[1].revents != 0) read_some(errors_, errors);
    if (errors.size() > 4 * limits.error_bytes) errors.erase(0, errors.size() - limits.error_bytes);
  }
  return "";
}

int Child::end(milliseconds grace) {
  if (pid_ < 0) return 0;
  if (!spawn::has_ended(pid_) && grace.count() > 0) {
    kill(-pid_, SIGTERM);
    const auto until = steady_clock::now() + grace;
    while (!spawn::has_ended(pid_) && steady_clock::now() < until)
      std::this_thread::sleep_for(milliseconds{5});
  }
  kill(-pid_, SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return status;
}

}  // namespace

Result<ProcessOutcome> run_process(const std::vector<std::string>& argv,
                                   const std::map<std::string, std::string>& environment,
                                   const ProcessLimits& limits) {
  const auto start = steady_clock::now();
  Child child;
  EDGESAGE_RETURN_IF_ERROR(child.start(argv, environment));
  ProcessOutcome outcome;
  outcome.failure = child.wait(limits);
  const int status = child.end(limits.grace);
  child.drain(limits);
  outcome.seconds = std::chrono::duration<double>(steady_clock::now() - start).count();
  if (outcome.failure.empty() && child.output.size() > limits.output_bytes)
    outcome.failure = fmt::format("printed more than {} bytes", limits.output_bytes);
  outcome.output = std::move(child.output);
  outcome.errors = std::move(child.errors);
  if (outcome.errors.size() > limits.error_bytes)
    outcome.errors.erase(0, outcome.errors.size() - limits.error_bytes);
  if (outcome.failure.empty() && WIFSIGNALED(status))
    outcome.failure =
        fmt::format("was killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  if (outcome.failure.empty() && WEXITSTATUS(status) != 0)
    outcome.failure = fmt::format("ended with exit status {}", WEXITSTATUS(status));
  outcome.ok = outcome.failure.empty();
  return outcome;
}

}  // namespace edgesage
