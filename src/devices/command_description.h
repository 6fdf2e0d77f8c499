// A device that is driven by commands: argument vectors for push, run, pull and clean, and how to
// read the time from what the run prints. Described in TOML (docs/adding_a_device.md).
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "edgesage/result.h"
#include "src/base/json.h"

namespace edgesage {

// One argument, or a group of them that is left out when one of its placeholders has no value.
struct CommandArgument {
  std::vector<std::string> parts;
  bool optional = false;
};

// One program to start; no shell sees its arguments.
struct CommandStep {
  std::vector<CommandArgument> arguments;  // empty: there is no such step
  std::chrono::milliseconds timeout{0};
  int retries = 0;  // further attempts after a failure
  [[nodiscard]] bool exists() const { return !arguments.empty(); }
};

// How long a unit is, in milliseconds: "ns", "us", "ms", "s". nullopt for another name.
[[nodiscard]] std::optional<double> unit_ms(std::string_view unit);

// How the times are found in the output of the run.
struct OutputParser {
  enum class Kind : uint8_t { kBenchmarkModel, kRegex, kJson };
  Kind kind = Kind::kBenchmarkModel;
  bool from_file = false;  // of the pulled {output} instead of standard output
  std::string pattern;     // kRegex: with a group named `time`, and perhaps one named `unit`
  std::string pointer;     // kJson: RFC 6901, to a number or an array of numbers
  std::string unit;        // of the numbers; empty where a group of the pattern gives it
};

struct CommandDescription {
  CommandStep check;     // does the device answer? before the first network, and after a failure
  CommandStep version;   // prints the version of the runtime
  CommandStep identify;  // prints what tells this machine from others
  CommandStep push, run, pull, clean;
  int repeat = 1;  // how often `run` is started for one measurement
  std::string remote_dir;
  std::map<std::string, std::string> environment;  // added to that of this program
  std::string runtime_version;                     // where no step prints it
  OutputParser parser;

  // Every step with its name, in the order in which they are described.
  [[nodiscard]] std::vector<std::pair<std::string_view, const CommandStep*>> steps() const;
};

// The table [command] of a description. kInvalidArgument names the file, the key and what is
// allowed.
[[nodiscard]] Result<CommandDescription> parse_command(const Json& table,
                                                       const std::filesystem::path& file);

// Every placeholder of the steps must be one that edgesage fills in or a name in `options`, and one
// that may have no value (threads, cores) must stand in a group. kInvalidArgument otherwise.
[[nodiscard]] Status check_placeholders(const CommandDescription& command, const Json& options,
                                        const std::filesystem::path& file);

// Whether a step uses the placeholder.
[[nodiscard]] bool uses_placeholder(const CommandDescription& command, std::string_view name);

}  // namespace edgesage
