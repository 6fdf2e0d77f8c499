#include "tests/support/run_program.h"

#include <array>
#include <cstdio>

namespace edgesage::test {

ProgramOutcome run_program(const std::string& command) {
  ProgramOutcome outcome;
  std::FILE* pipe = ::popen(("{ " + command + "; } 2>&1").c_str(), "r");
  if (pipe == nullptr) return outcome;
  std::array<char, 4096> chunk{};
  while (const size_t count = std::fread(chunk.data(), 1, chunk.size(), pipe))
    outcome.output.append(chunk.data(), count);
  outcome.status = ::pclose(pipe);
  return outcome;
}

}  // namespace edgesage::test
