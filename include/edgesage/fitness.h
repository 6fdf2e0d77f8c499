// Whether a device is fit to be measured now: what was looked at, what was found, and what to do.
// Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace edgesage {

enum class FitnessLevel : uint8_t {
  kOk,
  kUnknown,  // it could not be read; says nothing for or against
  kWarning,  // labels may be noisy or belong to a state that changes
  kUnfit,    // labels would be wrong
};

struct FitnessFinding {
  // "governor", "turbo", "load", "processes", "steal", "quota", "temperature", "throttling"
  std::string check;
  FitnessLevel level = FitnessLevel::kUnknown;
  std::string found;   // what was read: "powersave on 4 cores"; empty when nothing could be
  std::string reason;  // why it matters, or why it is unknown; empty when it is fine
  std::string remedy;  // what to do; empty when there is nothing to do
};

struct Fitness {
  std::string device;
  FitnessLevel level = FitnessLevel::kOk;  // the worst finding; unknown ones do not count
  std::vector<FitnessFinding> findings;
};

// "ok", "unknown", "warning", "unfit"
[[nodiscard]] constexpr std::string_view to_string(FitnessLevel level) {
  switch (level) {
    case FitnessLevel::kOk:
      return "ok";
    case FitnessLevel::kUnknown:
      return "unknown";
    case FitnessLevel::kWarning:
      return "warning";
    case FitnessLevel::kUnfit:
      return "unfit";
  }
  return "unknown";
}

}  // namespace edgesage
