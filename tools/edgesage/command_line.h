// What was typed, for pages that say how they were made.
#pragma once

#include <span>
#include <string>

namespace edgesage::cli {

// Once, before a command runs.
void remember_command_line(std::span<char* const> arguments);

// As one line, quoted where a shell would want it.
[[nodiscard]] const std::string& command_line();

}  // namespace edgesage::cli
