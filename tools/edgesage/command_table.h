// The commands with their options as plain data, from the same parsers that --help is printed from:
// what completion scripts and man pages are made of.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace edgesage::cli {

struct OptionRow {
  std::vector<std::string> names;    // "-o", "--output"; empty: a positional argument
  std::string value;                 // "FILE", "DEVICE"; empty: a flag
  std::vector<std::string> choices;  // where only these are allowed
  std::string positional;            // "MODEL"
  std::string description;
  std::string otherwise;  // the default
  bool required = false;
  bool many = false;  // takes several values
};

struct CommandRow {
  std::string name;  // "predict", "store info"; empty: the program itself
  std::string summary;
  std::vector<OptionRow> options;
  std::vector<std::string> commands;  // below it
  std::string footer;
};

// The program first, then its commands in their order, each followed by those below it.
[[nodiscard]] std::vector<CommandRow> command_table(const CLI::App& program);

// A script for bash, zsh or fish.
[[nodiscard]] std::string bash_completion(const std::vector<CommandRow>& table);
[[nodiscard]] std::string zsh_completion(const std::vector<CommandRow>& table);
[[nodiscard]] std::string fish_completion(const std::vector<CommandRow>& table);

// "edgesage-predict" for "predict"
[[nodiscard]] std::string man_page_name(const CommandRow& command);
// A page of section 1 in man(7)'s macros. `version` stands in its foot.
[[nodiscard]] std::string man_page(const CommandRow& command, const std::vector<CommandRow>& table,
                                   const std::string& version);

}  // namespace edgesage::cli
