#include "src/devices/worker_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/devices/command_device.h"
#include "src/devices/device_backend.h"
#include "src/devices/worker_messages.h"
#include "src/devices/worker_process.h"

namespace edgesage {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Event = WorkerProcess::Event;

// A worker that is asked to end gets this long; one that closed its pipe gets it to become a
// zombie.
constexpr milliseconds kGrace{500};

// Answers come from a worker process.
class WorkerBackend : public DeviceBackend {
 public:
  WorkerBackend(std::vector<std::string> command, WorkerLimits limits)
      : command_(std::move(command)), limits_(limits) {}
  ~WorkerBackend() override { end(); }
  WorkerBackend(const WorkerBackend&) = delete;
  WorkerBackend& operator=(const WorkerBackend&) = delete;

  Result<WorkerHello> hello() override;
  Result<Json> request(std::string_view kind, Json body, milliseconds deadline) override;
  void stop() override { end(); }
  [[nodiscard]] bool running() const override { return process_ != nullptr; }
  [[nodiscard]] int restarts() const override { return std::max(0, starts_ - 1); }
  [[nodiscard]] int pid() const override {
    return process_ ? static_cast<int>(process_->pid()) : -1;
  }

 private:
  void end() {
    if (process_) process_->finish(kGrace);
    process_.reset();
  }
  Result<WorkerHello> read_hello();
  bool has_stray_lines();
  Result<Json> wait_for_answer(int64_t id, milliseconds deadline);
  tl::unexpected<Error> give_up(std::string_view what, milliseconds grace = milliseconds{0});
  tl::unexpected<Error> nonsense(std::string_view what) {
    return give_up(fmt::format("the worker talks nonsense: {}", what));
  }

  std::vector<std::string> command_;
  WorkerLimits limits_;
  std::unique_ptr<WorkerProcess> process_;
  WorkerHello hello_;
  milliseconds beat_{0};  // promised by the worker; 0: nothing promised
  int starts_ = 0;
  int64_t last_id_ = 0;
};

// Ends the worker and says why, how it ended and what it printed last.
tl::unexpected<Error> WorkerBackend::give_up(std::string_view what, milliseconds grace) {
  const std::string ending = process_->finish(grace);
  const std::string printed = process_->printed();
  process_.reset();
  std::string message(what);
  if (ending != "had to be killed") message += fmt::format("; it {}", ending);
  if (!printed.empty()) message += fmt::format("; it printed: {}", printed);
  return make_error(ErrorCode::kDeviceFailed, command_.front(), std::move(message));
}

Result<WorkerHello> WorkerBackend::read_hello() {
  std::string line;
  switch (process_->read_line(line, steady_clock::now() + limits_.hello, limits_.line_bytes)) {
    case Event::kLine:
      break;
    case Event::kTimeout:
      return give_up(fmt::format("no hello within {} ms", limits_.hello.count()));
    case Event::kClosed:
      return give_up("the worker ended before its hello", kGrace);
    case Event::kTooLong:
      return nonsense(fmt::format("a line of more than {} bytes", limits_.line_bytes));
  }
  Result<WorkerHello> hello = parse_worker_hello(line);
  if (!hello) return give_up(hello.error().message);
  beat_ = promised_beat(*hello);
  return hello;
}

Result<WorkerHello> WorkerBackend::hello() {
  if (process_) return hello_;
  EDGESAGE_ASSIGN_OR_RETURN(process_, WorkerProcess::start(command_, limits_.stderr_bytes));
  ++starts_;
  EDGESAGE_ASSIGN_OR_RETURN(hello_, read_hello());
  return hello_;
}

// Lines that nobody asked for would be taken for the next answer.
bool WorkerBackend::has_stray_lines() {
  std::string line;
  for (;;) {
    const Event event = process_->read_line(line, steady_clock::now(), limits_.line_bytes);
    if (event == Event::kTimeout) return false;
    if (event != Event::kLine) return true;
    if (!is_beat(line)) return true;
  }
}

Result<Json> WorkerBackend::wait_for_answer(int64_t id, milliseconds deadline) {
  const auto until = steady_clock::now() + deadline;
  for (;;) {
    auto wait = until;
    const milliseconds silence = std::max(limits_.silence, 5 * beat_);
    if (beat_.count() > 0) wait = std::min(wait, steady_clock::now() + silence);
    std::string line;
    switch (process_->read_line(line, wait, limits_.line_bytes)) {
      case Event::kLine:
        break;
      case Event::kTimeout:
        if (steady_clock::now() >= until)
          return give_up(fmt::format("no answer within {} ms", deadline.count()));
        return give_up(fmt::format("no beat for {} ms", silence.count()));
      case Event::kClosed:
        return give_up("the worker went away while it worked", kGrace);
      case Event::kTooLong:
        return nonsense(fmt::format("a line of more than {} bytes", limits_.line_bytes));
    }
    WorkerMessage message = parse_worker_line(line, id, hello_);
    switch (message.kind) {
      case WorkerMessage::Kind::kAnswer:
        return std::move(message.body);
      case WorkerMessage::Kind::kError:
        return tl::unexpected(std::move(message.error));
      case WorkerMessage::Kind::kNonsense:
        return give_up(message.error.message);
      case WorkerMessage::Kind::kNothing:
        break;
    }
    // A worker that beats or chatters for ever is stopped by the deadline all the same.
    if (steady_clock::now() >= until)
      return give_up(fmt::format("no answer within {} ms", deadline.count()));
  }
}

Result<Json> WorkerBackend::request(std::string_view kind, Json body, milliseconds deadline) {
  if (process_ && has_stray_lines()) stop();
  EDGESAGE_RETURN_IF_ERROR(hello());
  const int64_t id = ++last_id_;
  Json message;
  message["id"] = id;
  message[std::string(kind)] = std::move(body);
  if (!process_->write_line(to_text(message), steady_clock::now() + deadline))
    return give_up("the worker does not take requests", kGrace);
  return wait_for_answer(id, deadline);
}

}  // namespace

WorkerClient::WorkerClient(std::vector<std::string> command, WorkerLimits limits)
    : backend_(std::make_unique<WorkerBackend>(std::move(command), limits)) {}
WorkerClient::~WorkerClient() = default;
WorkerClient::WorkerClient(WorkerClient&&) noexcept = default;
WorkerClient& WorkerClient::operator=(WorkerClient&&) noexcept = default;

Result<WorkerClient> WorkerClient::for_device(const DeviceDescription& device,
                                              const DevicePlaces& places, WorkerLimits limits) {
  EDGESAGE_RETURN_IF_ERROR(check_device(device, places));
  if (device.command) {
    WorkerClient client({}, limits);
    client.backend_ = make_command_device(device, places);
    return client;
  }
  EDGESAGE_ASSIGN_OR_RETURN(std::vector<std::string> command, worker_command(device, places));
  return WorkerClient(std::move(command), limits);
}

Result<WorkerHello> WorkerClient::hello() { return backend_->hello(); }
Result<Json> WorkerClient::request(std::string_view kind, Json body, milliseconds deadline) {
  return backend_->request(kind, std::move(body), deadline);
}
void WorkerClient::stop() { backend_->stop(); }
bool WorkerClient::running() const { return backend_->running(); }
int WorkerClient::restarts() const { return backend_->restarts(); }
int WorkerClient::pid() const { return backend_->pid(); }

}  // namespace edgesage
