// Programs that tests compare with: scripts and runtimes that are not ours.
#pragma once

#include <string>

namespace edgesage::test {

struct ProgramOutcome {
  int status = -1;     // of wait(2); 0 is success
  std::string output;  // standard output and error
};

// Runs a line of the shell.
[[nodiscard]] ProgramOutcome run_program(const std::string& command);

}  // namespace edgesage::test
