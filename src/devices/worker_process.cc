#include "src/devices/worker_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "src/base/text.h"
#include "src/devices/spawn.h"

extern char** environ;

namespace edgesage {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kChildIn = 3, kChildOut = 4;
// How often a wait looks whether the child still lives: a grandchild may hold the pipe open.
constexpr milliseconds kSlice{200};

using spawn::close_fd;
using spawn::Ends;
using spawn::lift;
using spawn::open_pipe;

bool open_socket(Ends& ends) {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) return false;
  ends.ours = fds[0];
  ends.theirs = fds[1];
  // The child only reads here: it sees the end of the requests when our side is closed.
  return lift(ends.theirs) && fcntl(ends.ours, F_SETFL, O_NONBLOCK) == 0;
}

int remaining_ms(WorkerProcess::Time until) {
  const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now());
  return static_cast<int>(std::clamp(left, milliseconds{0}, kSlice).count());
}

}  // namespace

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::start(const std::vector<std::string>& command,
                                                            size_t tail_bytes) {
  if (command.empty())
    return make_error(ErrorCode::kInvalidArgument, "worker", "its argument vector is empty");
  Ends requests, answers, output;
  if (!open_socket(requests) || !open_pipe(answers) || !open_pipe(output))
    return make_error(ErrorCode::kDeviceFailed, command.front(),
                      fmt::format("no descriptors for a worker: {}", std::strerror(errno)));
  std::vector<std::string> arguments = command;
  arguments.insert(arguments.end(),
                   {"--in-fd", std::to_string(kChildIn), "--out-fd", std::to_string(kChildOut)});
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);

  spawn::Settings settings;
  posix_spawn_file_actions_addopen(&settings.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&settings.actions, output.theirs, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&settings.actions, output.theirs, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&settings.actions, requests.theirs, kChildIn);
  posix_spawn_file_actions_adddup2(&settings.actions, answers.theirs, kChildOut);
  pid_t pid = -1;
  const int failure = posix_spawnp(&pid, argv.front(), &settings.actions, &settings.attributes,
                                   argv.data(), environ);
  if (failure != 0)
    return make_error(ErrorCode::kDeviceFailed, command.front(),
                      fmt::format("the worker cannot be started: {}", std::strerror(failure)));

  std::unique_ptr<WorkerProcess> process(new WorkerProcess());
  process->pid_ = pid;
  process->tail_bytes_ = tail_bytes;
  process->to_child_ = std::exchange(requests.ours, -1);
  process->from_child_ = std::exchange(answers.ours, -1);
  process->output_ = std::exchange(output.ours, -1);
  return process;
}

WorkerProcess::~WorkerProcess() { finish(milliseconds{0}); }

void WorkerProcess::read_output() {
  // Bounded, so that a child that prints without end does not keep us here.
  constexpr int kChunks = 64;
  std::array<char, 4096> chunk;
  for (int i = 0; i < kChunks && output_ >= 0; ++i) {
    const ssize_t count = read(output_, chunk.data(), chunk.size());
    if (count < 0) return;
    if (count == 0) return close_fd(output_);
    tail_.append(chunk.data(), static_cast<size_t>(count));
    if (tail_.size() > 2 * tail_bytes_) tail_.erase(0, tail_.size() - tail_bytes_);
  }
}

bool WorkerProcess::read_answers() {
  std::array<char, 65536> chunk;
  const ssize_t count = read(from_child_, chunk.data(), chunk.size());
  if (count > 0) buffer_.append(chunk.data(), static_cast<size_t>(count));
  return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

bool WorkerProcess::take_line(std::string& line) {
  const size_t end = buffer_.find('\n', searched_);
  searched_ = buffer_.size();
  if (end == std::string::npos) return false;
  line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  searched_ = 0;
  return true;
}

bool WorkerProcess::has_ended() const { return spawn::has_ended(pid_); }

bool WorkerProcess::write_line(std::string_view line, Time until) {
  std::string message(line);
  message += '\n';
  size_t sent = 0;
  while (sent < message.size()) {
    const ssize_t count =
        send(to_child_, message.data() + sent, message.size() - sent, MSG_NOSIGNAL);
    if (count > 0) {
      sent += static_cast<size_t>(count);
      continue;
    }
    if (errno != EAGAIN && errno != EINTR) return false;
    if (steady_clock::now() >= until) return false;
    read_output();  // a child that is stuck printing does not read
    pollfd wait{to_child_, POLLOUT, 0};
    poll(&wait, 1, std::min(remaining_ms(until), 20));
  }
  return true;
}

WorkerProcess::Event WorkerProcess::read_line(std::string& line, Time until, size_t max_bytes) {
  bool ended = false;
  for (;;) {
    if (take_line(line)) return Event::kLine;
    if (buffer_.size() > max_bytes) return Event::kTooLong;
    if (ended) return Event::kClosed;
    const int wait_ms = remaining_ms(until);
    pollfd waits[2] = {{from_child_, POLLIN, 0}, {output_, POLLIN, 0}};
    const int ready = poll(waits, 2, wait_ms);
    if (output_ >= 0) read_output();
    if (ready > 0 && waits[0].revents != 0) {
      ended = !read_answers();
    } else if (has_ended()) {
      read_answers();
      ended = true;
    } else if (steady_clock::now() >= until) {
      return Event::kTimeout;
    }
  }
}

std::string WorkerProcess::finish(milliseconds grace) {
  if (pid_ < 0) return ending_;
  close_fd(to_child_);
  const auto until = steady_clock::now() + grace;
  bool by_itself = has_ended();
  while (!by_itself && steady_clock::now() < until) {
    read_output();
    std::this_thread::sleep_for(milliseconds{2});
    by_itself = has_ended();
  }
  kill(-pid_, SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  read_output();
  close_fd(from_child_);
  close_fd(output_);
  if (!by_itself) {
    ending_ = "had to be killed";
  } else if (WIFSIGNALED(status)) {
    ending_ =
        fmt::format("was killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  } else {
    ending_ = fmt::format("ended with exit status {}", WEXITSTATUS(status));
  }
  return ending_;
}

std::string WorkerProcess::printed() {
  read_output();
  std::string text = tail_.size() > tail_bytes_ ? tail_.substr(tail_.size() - tail_bytes_) : tail_;
  std::vector<std::string> lines;
  for (const std::string& line : split(text, '\n'))
    if (const std::string_view trimmed = trim(line); !trimmed.empty()) lines.emplace_back(trimmed);
  return join(lines, " | ");
}

}  // namespace edgesage
