#include "src/devices/command_description.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "src/base/text.h"
#include "src/devices/output_parser.h"
#include "src/devices/placeholders.h"

namespace edgesage {
namespace fs = std::filesystem;
namespace {

using std::chrono::milliseconds;

// What a measurement fills in, beside the places and the options.
constexpr std::array<std::string_view, 13> kFilledIn = {
    "model",  "model_name", "remote_dir", "remote_model", "remote_output", "output",       "device",
    "run_id", "device_dir", "source_dir", "worker_dir",   "python",        "site_packages"};
// What the protocol may leave open.
constexpr std::array<std::string_view, 3> kOpen = {"threads", "cores", "core_mask"};

tl::unexpected<Error> bad(const fs::path& file, std::string message) {
  return make_error(ErrorCode::kInvalidArgument, file.string(), std::move(message));
}

Status refuse_unknown(const Json& table, std::span<const std::string> known,
                      std::string_view section, const fs::path& file) {
  for (const auto& [key, value] : table.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const std::string_view near = closest(key, known);
    return bad(file, fmt::format("unknown key {} in {}{}; allowed: {}", key, section,
                                 near.empty() ? "" : fmt::format(", did you mean {}?", near),
                                 join(known, ", ")));
  }
  return {};
}

Result<std::vector<CommandArgument>> arguments_of(const Json& values, std::string_view section,
                                                  const fs::path& file) {
  const auto refuse = [&] {
    return bad(file, fmt::format("{} must be a program with its arguments, an array of strings (an "
                                 "array inside it is a group that may be left out); no shell "
                                 "reads it",
                                 section));
  };
  if (!values.is_array() || values.empty() || !values.front().is_string()) return refuse();
  std::vector<CommandArgument> arguments;
  for (const Json& value : values) {
    CommandArgument argument;
    argument.optional = value.is_array();
    if (value.is_string()) argument.parts.push_back(value.get<std::string>());
    if (value.is_array())
      for (const Json& part : value) {
        if (!part.is_string()) return refuse();
        argument.parts.push_back(part.get<std::string>());
      }
    if (argument.parts.empty()) return refuse();
    arguments.push_back(std::move(argument));
  }
  if (arguments.front().parts.front().empty()) return refuse();
  return arguments;
}

Result<int> whole_number(const Json& table, const char* key, int otherwise, int high,
                         std::string_view section, const fs::path& file) {
  if (!table.contains(key)) return otherwise;
  const Json& value = table[key];
  const bool fits =
      value.is_number_integer() && value.get<int64_t>() >= 0 && value.get<int64_t>() <= high;
  if (!fits)
    return bad(file,
               fmt::format("{}.{} is {}; allowed: 0 to {}", section, key, to_text(value), high));
  return value.get<int>();
}

// A step: its argument vector, or a table with one.
Result<CommandStep> step_of(const Json& table, const char* name, double timeout_s,
                            const fs::path& file) {
  CommandStep step;
  if (!table.contains(name)) return step;
  const std::string section = fmt::format("command.{}", name);
  const Json& value = table[name];
  step.timeout = milliseconds(static_cast<int64_t>(timeout_s * 1000));
  if (!value.is_object()) {
    EDGESAGE_ASSIGN_OR_RETURN(step.arguments, arguments_of(value, section, file));
    return step;
  }
  std::vector<std::string> known = {"arguments", "timeout_s", "retries"};
  if (std::string_view(name) == "run") known.emplace_back("repeat");
  EDGESAGE_RETURN_IF_ERROR(refuse_unknown(value, known, section, file));
  if (!value.contains("arguments")) return bad(file, section + " has no arguments");
  EDGESAGE_ASSIGN_OR_RETURN(step.arguments, arguments_of(value["arguments"], section, file));
  if (value.contains("timeout_s")) {
    const Json& seconds = value["timeout_s"];
    if (!seconds.is_number() || !(seconds.get<double>() > 0) || seconds.get<double>() > 86400)
      return bad(file, fmt::format("{}.timeout_s is {}; allowed: above 0, at most 86400", section,
                                   to_text(seconds)));
    step.timeout = milliseconds(static_cast<int64_t>(std::ceil(seconds.get<double>() * 1000)));
  }
  EDGESAGE_ASSIGN_OR_RETURN(step.retries, whole_number(value, "retries", 0, 100, section, file));
  return step;
}

Result<OutputParser> parser_of(const Json& table, const fs::path& file) {
  if (!table.contains("parser") || !table["parser"].is_object())
    return bad(file,
               "[command.parser] is missing: kind = \"benchmark_model\", \"regex\" or "
               "\"json\"");
  const Json& value = table["parser"];
  static const std::vector<std::string> known = {"kind", "source", "pattern", "pointer", "unit"};
  EDGESAGE_RETURN_IF_ERROR(refuse_unknown(value, known, "command.parser", file));
  OutputParser parser;
  const std::string kind = json_string(value, "kind");
  if (kind == "benchmark_model") {
    parser.kind = OutputParser::Kind::kBenchmarkModel;
  } else if (kind == "regex") {
    parser.kind = OutputParser::Kind::kRegex;
  } else if (kind == "json") {
    parser.kind = OutputParser::Kind::kJson;
  } else {
    return bad(file, fmt::format("command.parser.kind is '{}'; allowed: benchmark_model, regex, "
                                 "json",
                                 kind));
  }
  const std::string source = json_string(value, "source", "stdout");
  if (source != "stdout" && source != "file")
    return bad(file, fmt::format("command.parser.source is '{}'; allowed: stdout, and file, which "
                                 "is the pulled {{output}}",
                                 source));
  parser.from_file = source == "file";
  parser.pattern = json_string(value, "pattern");
  parser.pointer = json_string(value, "pointer");
  parser.unit = json_string(value, "unit");
  if (const Status sound = check_parser(parser); !sound) return bad(file, sound.error().message);
  return parser;
}

Status read_environment(const Json& table, CommandDescription& command, const fs::path& file) {
  if (!table.contains("environment")) return {};
  if (!table["environment"].is_object())
    return bad(file, "command.environment must be a table of strings");
  for (const auto& [name, value] : table["environment"].items()) {
    if (!value.is_string() || name.find('=') != std::string::npos)
      return bad(file, fmt::format("command.environment.{} must be a string", name));
    command.environment[name] = value.get<std::string>();
  }
  return {};
}

}  // namespace

std::optional<double> unit_ms(std::string_view unit) {
  if (unit == "ns") return 1e-6;
  if (unit == "us") return 1e-3;
  if (unit == "ms") return 1.0;
  if (unit == "s") return 1e3;
  return std::nullopt;
}

std::vector<std::pair<std::string_view, const CommandStep*>> CommandDescription::steps() const {
  return {{"check", &check}, {"version", &version}, {"identify", &identify}, {"push", &push},
          {"run", &run},     {"pull", &pull},       {"clean", &clean}};
}

Result<CommandDescription> parse_command(const Json& table, const fs::path& file) {
  if (!table.is_object()) return bad(file, "command must be a table, [command]");
  static const std::vector<std::string> known = {
      "check",  "version",    "identify",    "push",           "run", "pull", "clean",
      "parser", "remote_dir", "environment", "runtime_version"};
  EDGESAGE_RETURN_IF_ERROR(refuse_unknown(table, known, "[command]", file));
  CommandDescription command;
  struct Named {
    const char* name;
    CommandStep* step;
    double timeout_s;
  };
  const Named steps[] = {{"check", &command.check, 30},       {"version", &command.version, 30},
                         {"identify", &command.identify, 30}, {"push", &command.push, 120},
                         {"run", &command.run, 300},          {"pull", &command.pull, 120},
                         {"clean", &command.clean, 60}};
  for (const Named& named : steps) {
    EDGESAGE_ASSIGN_OR_RETURN(*named.step, step_of(table, named.name, named.timeout_s, file));
  }
  if (!command.run.exists())
    return bad(file, "command.run is missing: the program that runs the model, with its arguments");
  if (table["run"].is_object()) {
    EDGESAGE_ASSIGN_OR_RETURN(command.repeat,
                              whole_number(table["run"], "repeat", 1, 10'000, "command.run", file));
    command.repeat = std::max(1, command.repeat);
  }
  command.remote_dir = json_string(table, "remote_dir");
  command.runtime_version = json_string(table, "runtime_version");
  EDGESAGE_RETURN_IF_ERROR(read_environment(table, command, file));
  EDGESAGE_ASSIGN_OR_RETURN(command.parser, parser_of(table, file));
  if (command.parser.from_file && !uses_placeholder(command, "output"))
    return bad(file, "command.parser reads the pulled file, and no step writes {output}");
  for (const char* remote : {"remote_dir", "remote_model", "remote_output"})
    if (command.remote_dir.empty() && uses_placeholder(command, remote))
      return bad(file, fmt::format("{{{}}} needs command.remote_dir, the directory on the device",
                                   remote));
  return command;
}

bool uses_placeholder(const CommandDescription& command, std::string_view name) {
  for (const auto& [step_name, step] : command.steps())
    for (const CommandArgument& argument : step->arguments)
      for (const std::string& part : argument.parts)
        for (const std::string& used : placeholder_names(part))
          if (used == name) return true;
  return false;
}

Status check_placeholders(const CommandDescription& command, const Json& options,
                          const fs::path& file) {
  for (const auto& [step_name, step] : command.steps())
    for (const CommandArgument& argument : step->arguments)
      for (const std::string& part : argument.parts)
        for (const std::string& name : placeholder_names(part)) {
          const auto is_name = [&](std::string_view known) { return known == name; };
          if (std::any_of(kFilledIn.begin(), kFilledIn.end(), is_name)) continue;
          const bool given = options.contains(name == "core_mask" ? "cores" : name);
          const bool open = std::any_of(kOpen.begin(), kOpen.end(), is_name);
          if (given || (open && argument.optional)) continue;
          if (open)
            return bad(file, fmt::format("command.{} uses {{{}}}, which may have no value: put it "
                                         "into a group, [\"...{{{}}}\"], or give it in [options]",
                                         step_name, name, name));
          return bad(
              file,
              fmt::format("unknown placeholder {{{}}} in command.{}; allowed: {}, {}, and "
                          "the names in [options]; a brace itself is written twice",
                          name, step_name, fmt::join(kFilledIn, ", "), fmt::join(kOpen, ", ")));
        }
  return {};
}

}  // namespace edgesage
