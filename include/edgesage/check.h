// Does a model keep to its budget? Plain data; units are in the names of the quantities.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace edgesage {

enum class Verdict {
  kMet,
  kMissed,
  kUnknown,  // the quantity is not known, so nobody can say that the budget is met
  kNew,      // nothing to compare with: the baseline does not have this model yet
};

// A budget is kept when nothing was missed and nothing that it limits is unknown.
[[nodiscard]] constexpr bool passes(Verdict verdict) {
  return verdict == Verdict::kMet || verdict == Verdict::kNew;
}

// One quantity against one rule.
struct CheckFinding {
  std::string quantity;  // "latency_ms", "in_range"
  std::string rule;      // "limit": of the budget; "growth": over the baseline
  Verdict verdict = Verdict::kUnknown;
  std::optional<double> value;  // what is predicted
  // What is compared: for a limit the upper end of the interval, or the value itself where it is
  // exact; for growth the value.
  std::optional<double> judged;
  std::optional<double> limit;     // the most that is allowed
  std::optional<double> baseline;  // what it was; of growth
  double allowed_percent = 0;      // over the baseline; of growth
  std::string reason;              // why it is not known, or new

  // judged - limit where it was missed; else empty.
  [[nodiscard]] std::optional<double> excess() const {
    if (verdict != Verdict::kMissed || !judged || !limit) return std::nullopt;
    return *judged - *limit;
  }
};

// A model on a device.
struct Check {
  std::string model;
  std::string device;
  std::string predictor_id;
  double level = 0.9;  // of the intervals whose upper ends are judged
  bool in_range = true;
  std::vector<std::string> reasons;   // why not in range
  std::vector<std::string> warnings;  // of the prediction
  std::vector<CheckFinding> findings;

  [[nodiscard]] bool passed() const {
    for (const CheckFinding& finding : findings)
      if (!passes(finding.verdict)) return false;
    return true;
  }
};

}  // namespace edgesage
