// `--format`: how a command prints its result.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace edgesage::cli {

// `format` holds the default and must outlive the parser; it becomes one of `formats`. `about`:
// what the help says, where it is more than the list of them ("text, json or csv").
void add_format(CLI::App& command, std::string& format, const std::vector<std::string>& formats,
                const std::string& about = "");

}  // namespace edgesage::cli
