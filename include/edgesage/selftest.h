// Does this installation work? Plain data.
#pragma once

#include <string>
#include <vector>

namespace edgesage {

struct SelftestStep {
  enum class Outcome { kPassed, kFailed, kSkipped };
  std::string name;
  Outcome outcome = Outcome::kPassed;
  std::string detail;  // what was found, why it failed, or why it was skipped and the remedy
};

}  // namespace edgesage
