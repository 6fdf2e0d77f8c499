#include "src/devices/command_device.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "src/base/file.h"
#include "src/base/hash.h"
#include "src/base/text.h"
#include "src/devices/output_parser.h"
#include "src/devices/placeholders.h"
#include "src/devices/process.h"

namespace edgesage {
namespace fs = std::filesystem;
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kLastMaskBit = 63;

tl::unexpected<Error> failure(std::string where, std::string message) {
  return make_error(ErrorCode::kDeviceFailed, std::move(where), std::move(message));
}

// A directory for what is pulled, removed with its contents.
class ScratchDir {
 public:
  static Result<ScratchDir> make() {
    std::error_code error;
    std::string path = (fs::temp_directory_path(error) / "edgesage-XXXXXX").string();
    if (error || mkdtemp(path.data()) == nullptr)
      return failure(path, fmt::format("cannot make a directory: {}", std::strerror(errno)));
    ScratchDir dir;
    dir.path_ = path;
    return dir;
  }
  ScratchDir(ScratchDir&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScratchDir& operator=(ScratchDir&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ScratchDir(const ScratchDir&) = delete;
  ScratchDir& operator=(const ScratchDir&) = delete;
  ~ScratchDir() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  ScratchDir() = default;
  fs::path path_;
};

// Not the same for two measurements, whichever machine and process makes them.
std::string fresh_run_id() {
  static std::atomic<uint64_t> counter = 0;
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  Hasher hasher;
  hasher.add(std::string_view(host));
  hasher.add(static_cast<int64_t>(getpid()));
  hasher.add(static_cast<int64_t>(std::chrono::system_clock::now().time_since_epoch().count()));
  hasher.add(counter++);
  return hasher.hex().substr(0, 12);
}

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : to_text(value);
}

// "3" for cores 0 and 1; nullopt where a core is beyond 63.
std::optional<std::string> mask_of(const Json& cores) {
  const auto list = parse_cores(cores);
  if (!list || list->empty() || list->back() > kLastMaskBit) return std::nullopt;
  uint64_t mask = 0;
  for (const int core : *list) mask |= uint64_t{1} << core;
  return fmt::format("{:x}", mask);
}

Json operators_of(const BenchmarkReport& report) {
  Json operators = Json::array();
  for (const BenchmarkOperator& op : report.operators)
    if (op.index >= 0)
      operators.push_back({{"index", op.index},
                           {"cycles", op.ms * 1e6},
                           {"placement", "cpu"},
                           {"placement_reason", op.node_type}});
  return operators;
}

class CommandDevice : public DeviceBackend {
 public:
  CommandDevice(const DeviceDescription& device, DevicePlaces places)
      : device_(device), places_(std::move(places)), command_(*device.command) {}

  Result<WorkerHello> hello() override;
  Result<Json> request(std::string_view kind, Json body, milliseconds deadline) override;
  void stop() override { hello_.reset(); }
  [[nodiscard]] bool running() const override { return hello_.has_value(); }
  [[nodiscard]] int restarts() const override { return 0; }
  [[nodiscard]] int pid() const override { return -1; }

 private:
  // One measurement's values of the placeholders, and how long it may take.
  struct Run {
    std::map<std::string, std::string> values;
    fs::path output;
    steady_clock::time_point until;
    std::string printed;  // by all runs
    std::string clean;
  };

  Result<Run> prepare(const Json& body, milliseconds deadline);
  [[nodiscard]] std::optional<std::string> value_of(std::string_view name, const Json& options,
                                                    const Run& run) const;
  Result<std::vector<std::string>> arguments_of(const CommandStep& step, const Json& options,
                                                const Run& run) const;
  Result<std::string> run_step(std::string_view name, const CommandStep& step, const Json& options,
                               const Run& run, std::optional<steady_clock::time_point> until) const;
  Result<ParsedOutput> push_run_pull(const Json& options, Run& run) const;
  Json answer_of(const ParsedOutput& parsed, const Json& options, const Run& run) const;

  const DeviceDescription device_;
  const DevicePlaces places_;
  const CommandDescription& command_;  // of device_
  std::optional<WorkerHello> hello_;
  std::optional<ScratchDir> scratch_;
};

std::optional<std::string> CommandDevice::value_of(std::string_view name, const Json& options,
                                                   const Run& run) const {
  if (const auto filled = run.values.find(std::string(name)); filled != run.values.end())
    return filled->second;
  if (name == "core_mask")
    return options.contains("cores") ? mask_of(options["cores"]) : std::nullopt;
  const std::string key(name);
  if (options.contains(key)) return text_of(options[key]);
  return place_value(name, device_, places_);
}

Result<std::vector<std::string>> CommandDevice::arguments_of(const CommandStep& step,
                                                             const Json& options,
                                                             const Run& run) const {
  const auto value = [&](std::string_view name) { return value_of(name, options, run); };
  std::vector<std::string> argv;
  for (const CommandArgument& argument : step.arguments) {
    std::vector<std::string> filled;
    bool complete = true;
    for (const std::string& part : argument.parts) {
      const auto names = placeholder_names(part);
      complete = complete && std::all_of(names.begin(), names.end(), [&](const std::string& name) {
                   return value(name).has_value();
                 });
      if (argument.optional && !complete) break;
      EDGESAGE_ASSIGN_OR_RETURN(filled.emplace_back(),
                                fill_placeholders(part, value, device_.file.string(),
                                                  "what docs/adding_a_device.md lists"));
    }
    if (complete || !argument.optional) argv.insert(argv.end(), filled.begin(), filled.end());
  }
  return argv;
}

// Its standard output. Tried again after a failure, while there is time.
Result<std::string> CommandDevice::run_step(std::string_view name, const CommandStep& step,
                                            const Json& options, const Run& run,
                                            std::optional<steady_clock::time_point> until) const {
  EDGESAGE_ASSIGN_OR_RETURN(const auto argv, arguments_of(step, options, run));
  std::map<std::string, std::string> environment;
  for (const auto& [variable, text] : command_.environment) {
    EDGESAGE_ASSIGN_OR_RETURN(
        environment[variable],
        fill_placeholders(
            text, [&](std::string_view used) { return value_of(used, options, run); },
            device_.file.string(), "what docs/adding_a_device.md lists"));
  }
  std::string reason;
  for (int attempt = 0; attempt <= step.retries; ++attempt) {
    ProcessLimits limits;
    limits.timeout = step.timeout;
    if (until) {
      const auto left = std::chrono::ceil<milliseconds>(*until - steady_clock::now());
      limits.timeout = std::min(limits.timeout, left);
    }
    if (limits.timeout.count() <= 0) {
      if (reason.empty()) reason = "there was no time left for it";
      break;
    }
    EDGESAGE_ASSIGN_OR_RETURN(ProcessOutcome outcome, run_process(argv, environment, limits));
    if (outcome.ok) return std::move(outcome.output);
    const std::string said = excerpt_of(outcome.errors.empty() ? outcome.output : outcome.errors);
    reason = fmt::format("{} {}; it printed: {}", argv.front(), outcome.failure, said);
    if (attempt > 0) reason = fmt::format("{} (attempt {})", reason, attempt + 1);
  }
  return failure(std::string(name), fmt::format("{} failed: {}", name, reason));
}

Result<WorkerHello> CommandDevice::hello() {
  if (hello_) return *hello_;
  Run nothing;
  nothing.values = {{"device", base_name(device_.name)}, {"remote_dir", command_.remote_dir}};
  const Json& options = device_.options;
  if (command_.check.exists()) {
    const auto checked = run_step("check", command_.check, options, nothing, std::nullopt);
    if (!checked)
      return failure(device_.name,
                     fmt::format("the device does not answer: {}", checked.error().message));
  }
  WorkerHello hello;
  hello.protocol_major = kWorkerProtocolMajor;
  hello.protocol_minor = kWorkerProtocolMinor;
  hello.worker = "command";
  hello.runtime = device_.runtime;
  hello.runtime_version = command_.runtime_version.empty() ? "unknown" : command_.runtime_version;
  hello.quantities = device_.quantities;
  if (command_.version.exists()) {
    EDGESAGE_ASSIGN_OR_RETURN(const std::string printed, run_step("version", command_.version,
                                                                  options, nothing, std::nullopt));
    hello.runtime_version = excerpt_of(printed, 80);
  }
  if (command_.identify.exists()) {
    EDGESAGE_ASSIGN_OR_RETURN(const std::string printed, run_step("identify", command_.identify,
                                                                  options, nothing, std::nullopt));
    if (trim(printed).empty())
      return failure(device_.name,
                     "command.identify printed nothing: it must print what tells "
                     "this machine from others");
    Hasher hasher;
    hasher.add(trim(printed));
    hello.host_fingerprint = hasher.hex().substr(0, 16);
  }
  hello_ = hello;
  return hello;
}

Result<CommandDevice::Run> CommandDevice::prepare(const Json& body, milliseconds deadline) {
  if (!scratch_) {
    EDGESAGE_ASSIGN_OR_RETURN(scratch_, ScratchDir::make());
  }
  Run run;
  run.until = steady_clock::now() + deadline;
  const std::string model = json_string(body, "model");
  const std::string id = fresh_run_id();
  run.output = scratch_->path() / ("edgesage-" + id + ".out");
  const std::string remote = command_.remote_dir + "/edgesage-" + id;
  run.values = {{"model", model},
                {"model_name", fs::path(model).filename().string()},
                {"remote_dir", command_.remote_dir},
                {"remote_model", remote + ".tflite"},
                {"remote_output", remote + ".out"},
                {"output", run.output.string()},
                {"device", json_string(body, "device")},
                {"run_id", id}};
  return run;
}

Result<ParsedOutput> CommandDevice::push_run_pull(const Json& options, Run& run) const {
  if (command_.push.exists()) {
    EDGESAGE_RETURN_IF_ERROR(run_step("push", command_.push, options, run, run.until));
  }
  ParsedOutput all;
  for (int i = 0; i < command_.repeat; ++i) {
    std::error_code ignored;
    fs::remove(run.output, ignored);  // that of the run before
    EDGESAGE_ASSIGN_OR_RETURN(std::string text,
                              run_step("run", command_.run, options, run, run.until));
    if (command_.pull.exists()) {
      EDGESAGE_RETURN_IF_ERROR(run_step("pull", command_.pull, options, run, run.until));
    }
    if (command_.parser.from_file) {
      const auto file = read_text(run.output, ErrorCode::kDeviceFailed);
      if (!file)
        return failure("output", fmt::format("neither run nor pull wrote the file {{output}} ({})",
                                             file.error().message));
      // benchmark_model prints its summary, and writes its table into a file.
      const bool both = command_.parser.kind == OutputParser::Kind::kBenchmarkModel;
      text = both ? text + "\n" + *file : *file;
    }
    EDGESAGE_ASSIGN_OR_RETURN(ParsedOutput parsed, parse_output(command_.parser, text));
    all.samples_ms.insert(all.samples_ms.end(), parsed.samples_ms.begin(), parsed.samples_ms.end());
    // Of several summaries the fastest: one run may be disturbed, none is faster than the device.
    if (parsed.benchmark && (!all.benchmark || parsed.benchmark->mean_ms < all.benchmark->mean_ms))
      all.benchmark = std::move(parsed.benchmark);
  }
  return all;
}

Json CommandDevice::answer_of(const ParsedOutput& parsed, const Json& options,
                              const Run& run) const {
  Json answer, quantities = Json::object(), missing = Json::object(), protocol = Json::object();
  answer["statistic"] = device_.statistic;
  answer["samples_ms"] = parsed.samples_ms;
  protocol["run_repeats"] = std::to_string(command_.repeat);
  for (const auto& [name, value] : options.items()) protocol[name] = text_of(value);
  if (!run.clean.empty()) protocol["clean"] = run.clean;
  if (parsed.benchmark) {
    const BenchmarkReport& report = *parsed.benchmark;
    const auto put = [&](const char* name, const std::optional<double>& value) {
      if (value && std::isfinite(*value)) quantities[name] = *value;
    };
    const std::string& statistic = device_.statistic;
    const std::optional<double> label = statistic == "min"   ? report.min_ms
                                        : statistic == "p50" ? report.p50_ms
                                                             : std::optional(report.mean_ms);
    put("latency_ms", label);
    if (!label)
      missing["latency_ms"] = fmt::format(
          "benchmark_model printed no {} above 0: old versions print none, and it counts whole "
          "microseconds; use statistic = \"mean\"",
          statistic == "p50" ? "median" : "minimum");
    put("latency_mean_ms", report.mean_ms);
    put("latency_std_ms", report.std_ms);
    put("first_latency_ms", report.first_ms);
    put("load_ms", report.init_ms);
    put("footprint_bytes", report.footprint_bytes);
    if (report.runs > 0) protocol["runs"] = std::to_string(report.runs);
    answer["operators"] = operators_of(report);
    if (!answer["operators"].empty()) answer["operator_unit"] = "ns";
    if (report.delegated > 0)
      protocol["operators"] =
          fmt::format("{} rows of a delegate have no operator of the model", report.delegated);
  }
  answer["quantities"] = std::move(quantities);
  answer["missing"] = std::move(missing);
  answer["protocol"] = std::move(protocol);
  return answer;
}

Result<Json> CommandDevice::request(std::string_view kind, Json body, milliseconds deadline) {
  if (kind != "measure")
    return failure(device_.name, fmt::format("a device of commands cannot answer '{}'", kind));
  EDGESAGE_RETURN_IF_ERROR(hello());
  EDGESAGE_ASSIGN_OR_RETURN(Run run, prepare(body, deadline));
  const Json options = body.value("options", Json::object());
  const Result<ParsedOutput> parsed = push_run_pull(options, run);
  if (command_.clean.exists()) {
    const auto cleaned = run_step("clean", command_.clean, options, run, std::nullopt);
    if (!cleaned) run.clean = cleaned.error().message;
  }
  std::error_code ignored;
  fs::remove(run.output, ignored);
  if (!parsed) {
    hello_.reset();  // ask the device again before the next network
    Error error = parsed.error();
    if (!run.clean.empty()) error.message += "; and " + run.clean;
    return tl::unexpected(std::move(error));
  }
  Json answer = answer_of(*parsed, options, run);
  if (!answer["quantities"].contains("latency_ms") && answer["samples_ms"].empty())
    return failure("output", answer["missing"].value("latency_ms", "no latency"));
  return answer;
}

}  // namespace

std::unique_ptr<DeviceBackend> make_command_device(const DeviceDescription& device,
                                                   const DevicePlaces& places) {
  return std::make_unique<CommandDevice>(device, places);
}

}  // namespace edgesage
