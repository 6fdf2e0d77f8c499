// edgesage: what a network costs on a device. Exceptions of the parser, and those that nothing
// below expects, end here.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>
#include <span>

#include "src/app/instruction_set.h"
#include "src/base/text.h"
#include "tools/edgesage/command_line.h"
#include "tools/edgesage/commands.h"

namespace edgesage::cli {
namespace {

constexpr Command kCommands[] = {
    {"inspect", "Operators, MACs, parameters and memory of models", declare_inspect},
    {"predict", "Latency and memory of models on devices, per operator", declare_predict},
    {"check", "Exit with 1 where models do not keep to a budget", declare_check},
    {"compare", "Two models, devices or predictors: where the difference is from", declare_compare},
    {"advise", "What to change about a model for a device", declare_advise},
    {"measure", "Run models on a device, and store every sample", declare_measure},
    {"devices", "What can be predicted or measured here, and why not", declare_devices},
    {"generate", "Sample networks of a search space as .tflite files", declare_generate},
    {"annotate", "Sample networks in bulk and measure them; resumable", declare_annotate},
    {"import", "Measurements of other tools as labels", declare_import},
    {"store", "What a store of measurements holds", declare_store},
    {"dataset", "Labels as files: export, import, info, verify", declare_dataset},
    {"sample", "Which networks to measure first and next", declare_sample},
    {"calibrate", "Learn a device in one command, from about 100 measurements", declare_calibrate},
    {"search", "Smaller networks of one, by what a device needs for them", declare_search},
    {"train", "Learn a predictor from labels", declare_train},
    {"evaluate", "Accuracy of a predictor beside its controls", declare_evaluate},
    {"selftest", "Does this installation work?", declare_selftest},
    {"strip", "A copy of a model without its weights, for bug reports", declare_strip},
    {"completion", "Completion of commands and options for a shell", declare_completion},
    {"man", "Manual pages of the commands", declare_man},
    {"version", "Version of the program and of what it was built with", declare_version},
};

constexpr int kUsage = static_cast<int>(ErrorCode::kInvalidArgument);
constexpr int kInternal = static_cast<int>(ErrorCode::kInternal);

int usage_error(std::string_view message, std::string_view command) {
  fmt::print(stderr, "edgesage: error: {}; see edgesage {}{}--help\n", message, command,
             command.empty() ? "" : " ");
  return kUsage;
}

std::string suggestion(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string_view close = closest(name, candidates);
  return close.empty() ? "" : fmt::format(", did you mean {}?", close);
}

int unknown_command(std::string_view name) {
  std::vector<std::string> names;
  for (const Command& command : kCommands) names.emplace_back(command.name);
  std::string hint = suggestion(name, names);
  if (hint.empty()) hint = fmt::format("; there are {}", join(names, ", "));
  return usage_error(fmt::format("no command {}{}", name, hint), "");
}

int unknown_argument(const CLI::App& command, const std::string& argument,
                     std::string_view command_name) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  const std::string name = argument.substr(0, argument.find('='));
  const bool is_option = name.starts_with('-');
  return usage_error(fmt::format("{} {}{}", is_option ? "no option" : "unexpected argument", name,
                                 is_option ? suggestion(name, names) : ""),
                     command_name);
}

// The innermost command that was named: "store info" for subcommands.
const CLI::App* innermost(const CLI::App* command, std::string& name) {
  const auto below = command->get_subcommands();
  if (below.empty()) return command;
  name += (name.empty() ? "" : " ") + below.front()->get_name();
  return innermost(below.front(), name);
}

int run(int argc, char** argv) {
  CLI::App program("What a neural network costs on an edge device, before it is deployed.",
                   "edgesage");
  program.set_help_flag("--help,-h", "Print this help");
  program.set_version_flag("--version", EDGESAGE_VERSION, "Print the version");
  program.require_subcommand(1);
  program.footer(
      "Example:\n  edgesage inspect model.tflite\n\n`edgesage COMMAND --help` has more.");
  Session session;
  std::vector<std::pair<CLI::App*, Run>> runs;
  for (const Command& command : kCommands) {
    CLI::App* parser = program.add_subcommand(command.name, command.summary);
    // Left-over arguments are judged below, with a suggestion.
    parser->allow_extras();
    runs.emplace_back(parser, command.declare(*parser, session));
    session.add_common(*parser);
  }
  const std::span<char*> arguments(argv, static_cast<size_t>(argc));
  if (argc > 1 && arguments[1][0] != '-' &&
      std::ranges::none_of(kCommands, [&](const Command& command) {
        return std::string_view(arguments[1]) == command.name;
      }))
    return unknown_command(arguments[1]);
  if (argc == 1) {
    fmt::print(stderr, "{}", program.help());
    return kUsage;
  }
  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return program.exit(help);
  } catch (const CLI::ParseError& error) {
    std::string name;
    const CLI::App* command = innermost(&program, name);
    if (const auto rest = command->remaining(); !rest.empty())
      return unknown_argument(*command, rest.front(), name);
    return usage_error(error.what(), name);
  }
  std::string name;
  const CLI::App* command = innermost(&program, name);
  if (const auto rest = command->remaining(); !rest.empty())
    return unknown_argument(*command, rest.front(), name);
  handle_interrupts();
  remember_command_line(arguments);
  if (const Status chosen = app::choose_instruction_set(); !chosen)
    return usage_error(chosen.error().to_string(), name);
  for (const auto& [parser, body] : runs)
    if (parser->parsed()) return body();
  return kInternal;
}

}  // namespace
}  // namespace edgesage::cli

int main(int argc, char** argv) {
  try {
    return edgesage::cli::run(argc, argv);
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "edgesage: error: out of memory\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "edgesage: error: internal: {}; please report this\n", error.what());
  }
  return edgesage::cli::kInternal;
}
