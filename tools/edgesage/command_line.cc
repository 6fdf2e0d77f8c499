#include "tools/edgesage/command_line.h"

#include <string_view>

namespace edgesage::cli {
namespace {

std::string& remembered() {
  static std::string line;
  return line;
}

}  // namespace

void remember_command_line(std::span<char* const> arguments) {
  std::string& line = remembered();
  line.clear();
  for (const std::string_view argument : arguments) {
    if (!line.empty()) line += ' ';
    const bool plain =
        !argument.empty() && argument.find_first_not_of(
                                 "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "0123456789-_./=,:@+%") == std::string_view::npos;
    if (plain) {
      line += argument;
      continue;
    }
    line += '\'';
    for (const char c : argument) line += c == '\'' ? "'\\''" : std::string(1, c);
    line += '\'';
  }
}

const std::string& command_line() { return remembered(); }

}  // namespace edgesage::cli
