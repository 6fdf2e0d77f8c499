// A child process with two descriptors for lines, in a process group of its own. Used by
// WorkerClient alone.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "edgesage/result.h"

namespace edgesage {

// Not thread-safe. Every descriptor is close-on-exec here; the child has standard input from
// /dev/null, its standard output and error in one pipe whose tail is kept, and the two descriptors
// named to it by `--in-fd N --out-fd M` at the end of its arguments.
class WorkerProcess {
 public:
  using Time = std::chrono::steady_clock::time_point;
  enum class Event {
    kLine,     // `line` holds it, without its end
    kTimeout,  // `until` has passed
    kClosed,   // the child ended or closed its end
    kTooLong,  // no end of line within the limit
  };

  // kDeviceFailed with the system's reason where the program cannot be started.
  static Result<std::unique_ptr<WorkerProcess>> start(const std::vector<std::string>& command,
                                                      size_t tail_bytes);
  // Ends the whole group and reaps the child.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // False when the child is gone or does not read before `until`.
  [[nodiscard]] bool write_line(std::string_view line, Time until);
  [[nodiscard]] Event read_line(std::string& line, Time until, size_t max_bytes);

  // Closes the descriptors, gives the child `grace` to end by itself, kills what is left of its
  // group, reaps it, and says how it ended: "ended with exit status 3", "was killed by signal 11
  // (Segmentation fault)", "had to be killed". The same answer when called again.
  std::string finish(std::chrono::milliseconds grace);

  [[nodiscard]] pid_t pid() const { return pid_; }
  // The end of what it printed, trimmed, as one line; may be empty.
  [[nodiscard]] std::string printed();

 private:
  WorkerProcess() = default;
  void read_output();
  [[nodiscard]] bool has_ended() const;
  [[nodiscard]] bool take_line(std::string& line);
  bool read_answers();  // false at its end

  pid_t pid_ = -1;
  int to_child_ = -1;  // a socket, so that writing never raises SIGPIPE
  int from_child_ = -1;
  int output_ = -1;
  size_t tail_bytes_ = 0;
  std::string buffer_;
  size_t searched_ = 0;  // of buffer_: no end of line before this
  std::string tail_;
  std::string ending_;
};

}  // namespace edgesage
