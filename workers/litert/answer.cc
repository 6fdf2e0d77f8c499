#include "workers/litert/answer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <memory>
#include <vector>

#include "workers/litert/host.h"
#include "workers/litert/timing.h"

namespace worker {
namespace {

struct Options {
  int threads = 1;
  std::vector<int> cores;  // empty: wherever the system puts it
  uint64_t seed = 0;
  bool high_priority = true;
  TimingOptions timing;
};

double number(const std::string& name, const Json& value, double low, double high) {
  if (!value.is_number() || value.get<double>() < low || value.get<double>() > high)
    throw Refused("bad_options",
                  fmt::format("{} is {}; allowed: {} to {}", name, value.dump(), low, high));
  return value.get<double>();
}

Options options_of(const Json& request) {
  Options options;
  const Json given = request.value("options", Json::object());
  TimingOptions& timing = options.timing;
  std::string clock;
  for (const auto& [name, value] : given.items()) {
    if (name == "threads") {
      options.threads = static_cast<int>(number(name, value, 1, 1024));
    } else if (name == "cpu") {
      options.cores = {static_cast<int>(number(name, value, 0, 1023))};
    } else if (name == "cores") {
      options.cores = parse_cores(value.is_string() ? value.get<std::string>() : value.dump());
    } else if (name == "seed") {
      options.seed = static_cast<uint64_t>(number(name, value, 0, 9e15));
    } else if (name == "priority") {
      if (value != "high" && value != "normal")
        throw Refused("bad_options",
                      fmt::format("priority is {}; allowed: high, normal", value.dump()));
      options.high_priority = value == "high";
    } else if (name == "clock") {
      if (value != "process" && value != "wall")
        throw Refused("bad_options",
                      fmt::format("clock is {}; allowed: process, wall", value.dump()));
      clock = value.get<std::string>();
    } else if (name == "min_runs") {
      timing.min_runs = static_cast<int64_t>(number(name, value, 1, 1e9));
    } else if (name == "max_runs") {
      timing.max_runs = static_cast<int64_t>(number(name, value, 1, 1e9));
    } else if (name == "min_time_ms") {
      timing.min_time_ms = number(name, value, 0, 1e7);
    } else if (name == "max_time_ms") {
      timing.max_time_ms = number(name, value, 0, 1e7);
    } else if (name == "bursts") {
      timing.bursts = static_cast<int64_t>(number(name, value, 1, 1000));
    } else if (name == "burst_gap_ms") {
      timing.burst_gap_ms = number(name, value, 0, 1e6);
    } else {
      throw Refused("bad_options", fmt::format("unknown option {}; allowed: threads, cores, cpu, "
                                               "seed, clock, priority, min_runs, max_runs, "
                                               "min_time_ms, max_time_ms, bursts, burst_gap_ms",
                                               name));
    }
  }
  // With several threads only the wall tells how long it took.
  if (clock.empty()) clock = options.threads == 1 ? "process" : "wall";
  timing.clock = clock == "process" ? SampleClock::kProcess : SampleClock::kWall;
  // Half of the deadline for timing leaves room for loading and for a busy machine.
  if (const double deadline = request.value("deadline_ms", 0.0); deadline > 0)
    timing.max_time_ms = std::min(timing.max_time_ms, deadline / 2);
  return options;
}

// Standard error, kept aside while it lives: LiteRT says there why it refuses a model.
class CapturedErrors {
 public:
  CapturedErrors()
      : file_(memfd_create("litert-errors", MFD_CLOEXEC)), saved_(fcntl(2, F_DUPFD_CLOEXEC, 10)) {
    if (file_ >= 0) dup2(file_, 2);
  }
  ~CapturedErrors() {
    restore();
    close(file_);
  }
  CapturedErrors(const CapturedErrors&) = delete;
  CapturedErrors& operator=(const CapturedErrors&) = delete;

  void restore() {
    if (saved_ < 0) return;
    dup2(saved_, 2);
    close(saved_);
    saved_ = -1;
  }
  // The lines that report errors, at most three.
  std::string errors() {
    restore();
    std::string text(4096, '\0');
    const ssize_t size = pread(file_, text.data(), text.size(), 0);
    text.resize(size > 0 ? static_cast<size_t>(size) : 0);
    std::vector<std::string> lines;
    for (size_t at = 0; at < text.size() && lines.size() < 3;) {
      const size_t end = std::min(text.find('\n', at), text.size());
      const std::string line = text.substr(at, end - at);
      if (line.find("ERROR") != std::string::npos || line.starts_with("E0")) lines.push_back(line);
      at = end + 1;
    }
    return fmt::format("{}", fmt::join(lines, " | "));
  }

 private:
  int file_, saved_;
};

std::unique_ptr<Session> prepare(const Runtime& runtime, const std::string& model,
                                 const Options& options) {
  CapturedErrors captured;
  try {
    return std::make_unique<Session>(runtime, model, options.threads, options.seed);
  } catch (const Refused& refused) {
    const std::string errors = captured.errors();
    if (errors.empty()) throw;
    throw Refused(refused.code, fmt::format("{}; LiteRT says: {}", refused.what(), errors));
  }
}

Json protocol_of(const Options& options, const Timings& timings, bool fully_delegated) {
  return {{"warm_up_runs", std::to_string(timings.warm_up_runs)},
          {"warm_up", "until two windows in a row are not 1 % faster"},
          {"runs", std::to_string(timings.runs)},
          {"invocations_per_sample", std::to_string(timings.invocations_per_sample)},
          {"samples_taken", std::to_string(timings.samples_taken)},
          {"bursts", std::to_string(options.timing.bursts)},
          {"burst_gap_ms", fmt::format("{}", options.timing.burst_gap_ms)},
          {"statistic", "min"},
          {"threads", std::to_string(options.threads)},
          {"affinity", affinity()},
          {"delegate", "xnnpack"},
          {"fully_delegated", fully_delegated ? "true" : "false"},
          {"clock", options.timing.clock == SampleClock::kWall ? "CLOCK_MONOTONIC"
                                                               : "CLOCK_PROCESS_CPUTIME_ID"},
          {"clock_read_ns", fmt::format("{:.0f}", timings.timer_ns)},
          {"inputs", fmt::format("random, seed {}", options.seed)}};
}

std::vector<char> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Refused("bad_options", fmt::format("{}: cannot be read", path));
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

Json answer_run(const Runtime& runtime, const Json& request, const std::function<void()>& beat) {
  const Options options = options_of(request);
  const std::string model = request.value("model", std::string());
  if (access(model.c_str(), R_OK) != 0)
    throw Refused("bad_model", fmt::format("{}: no such file", model));
  const std::vector<char> inputs = read_file(request.value("inputs", std::string()));
  const std::string path = request.value("outputs", std::string());
  const std::unique_ptr<Session> session = prepare(runtime, model, options);
  const size_t size = session->input_bytes();
  if (size == 0 || inputs.empty() || inputs.size() % size != 0)
    throw Refused("bad_options", fmt::format("{} bytes of inputs; the model reads {} at a time",
                                             inputs.size(), size));
  std::ofstream outputs(path, std::ios::binary);
  std::vector<std::byte> bytes;
  for (size_t at = 0; at < inputs.size(); at += size) {
    beat();
    session->write_inputs(reinterpret_cast<const std::byte*>(inputs.data() + at));
    session->run();
    session->read_outputs(bytes);
    outputs.write(reinterpret_cast<const char*>(bytes.data()),
                  static_cast<std::streamsize>(bytes.size()));
  }
  outputs.close();
  if (!outputs) throw Refused("bad_options", fmt::format("{}: cannot be written", path));
  return {{"runs", inputs.size() / size},
          {"input_bytes", size},
          {"output_bytes", session->output_bytes()}};
}

Json answer_measure(const Runtime& runtime, const Json& request, const std::string& runtime_version,
                    const std::function<void()>& beat) {
  const Options options = options_of(request);
  const std::string model = request.value("model", std::string());
  if (access(model.c_str(), R_OK) != 0)
    throw Refused("bad_model", fmt::format("{}: no such file", model));
  const Pinned pinned(options.cores);
  const RaisedPriority priority(options.high_priority);
  const auto before = host_environment();

  const auto start = std::chrono::steady_clock::now();
  const std::unique_ptr<Session> session = prepare(runtime, model, options);
  const std::chrono::duration<double, std::milli> load = std::chrono::steady_clock::now() - start;
  const Timings timings = time_model([&] { session->run(); }, options.timing, beat);

  Json answer;
  answer["device"] = request.value("device", "host-litert");
  answer["runtime"] = "litert";
  answer["runtime_version"] = runtime_version;
  answer["host_fingerprint"] = host_fingerprint();
  answer["statistic"] = "min";
  answer["quantities"] = {
      {"latency_ms", *std::min_element(timings.samples_ms.begin(), timings.samples_ms.end())},
      {"latency_wall_p50_ms", timings.wall_p50_ms},
      {"first_latency_ms", timings.first_ms},
      {"load_ms", load.count()}};
  answer["samples_ms"] = timings.samples_ms;
  answer["protocol"] = protocol_of(options, timings, session->fully_delegated());
  answer["protocol"]["priority"] = priority.description();
  answer["environment"] = before;
  answer["environment"]["load_average_after"] = host_environment().at("load_average");
  return answer;
}

}  // namespace worker
