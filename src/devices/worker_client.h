// The client's end of the worker protocol (docs/worker_protocol.md): keeps one worker process
// alive, and replaces it when it crashes, hangs or talks nonsense. A device of commands is served
// behind the same calls, without a process that stays (command_device.h).
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "edgesage/result.h"
#include "src/base/json.h"
#include "src/devices/device.h"

namespace edgesage {

inline constexpr int kWorkerProtocolMajor = 1;
inline constexpr int kWorkerProtocolMinor = 3;

struct WorkerLimits {
  std::chrono::milliseconds hello{30'000};    // from the start to `hello`
  std::chrono::milliseconds silence{60'000};  // between two lines of a working worker
  size_t line_bytes = size_t{64} << 20;       // a longer line is nonsense
  size_t stderr_bytes = 4096;                 // how much of the tail of stdout and stderr to keep
};

// What a worker said of itself.
struct WorkerHello {
  int protocol_major = 0, protocol_minor = 0;
  std::string worker;           // "vela"
  std::string runtime;          // "vela", "litert"
  std::string runtime_version;  // "5.2.0"
  std::string host_fingerprint;
  std::vector<std::string> devices;  // empty: whatever the description names
  std::vector<std::string> quantities;
  Json raw;  // the whole message body, unknown keys included
};

class DeviceBackend;

// One worker process. Not copyable, not thread-safe: one thread at a time; several clients may live
// side by side. The destructor ends the process group and reaps it. No signal handler is installed
// and no process-wide state changes; the caller's SIGPIPE disposition does not matter.
class WorkerClient {
 public:
  // Nothing is started before the first call of hello() or request().
  explicit WorkerClient(std::vector<std::string> command, WorkerLimits limits = {});
  ~WorkerClient();
  WorkerClient(WorkerClient&&) noexcept;
  WorkerClient& operator=(WorkerClient&&) noexcept;

  // Checks the device (check_device), and makes a client for its command. Starts nothing.
  static Result<WorkerClient> for_device(const DeviceDescription& device,
                                         const DevicePlaces& places, WorkerLimits limits = {});

  // Starts the worker when none is running. kDeviceFailed when the program cannot be started, ends
  // or stays silent before its `hello`, or speaks another major version: trying again will not
  // help, and the reason says what the worker printed.
  [[nodiscard]] Result<WorkerHello> hello();

  // Sends {"<kind>": body} with a fresh id, starting a worker when none is running, and returns the
  // body of the answer. Beats in between are consumed. kDeviceFailed with the reason for: the
  // worker's own error answer (the worker stays); a crash (signal or exit status named, tail of its
  // output), `deadline` passed, silence, nonsense (the worker is killed, and the next request gets
  // a fresh one). kBadModel when the worker says so of the model.
  [[nodiscard]] Result<Json> request(std::string_view kind, Json body,
                                     std::chrono::milliseconds deadline);

  // Ends the worker now; the next request starts another.
  void stop();

  [[nodiscard]] bool running() const;
  [[nodiscard]] int restarts() const;  // workers started after the first
  [[nodiscard]] int pid() const;       // -1 when none is running

 private:
  std::unique_ptr<DeviceBackend> backend_;
};

}  // namespace edgesage
