// What to change about a model for a device. Every gain is the difference between two predictions:
// of the model, and of the model with that change made. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "edgesage/predict.h"

namespace edgesage {

// What a model costs, as far as a change can move it.
struct AdvisedCost {
  std::optional<double> latency_ms;
  std::optional<double> energy_mj;
  std::optional<double> peak_ram_bytes;
  int64_t activations_bytes = 0;
  int64_t weights_bytes = 0;
  int64_t macs = 0;
  int32_t fallbacks = 0;  // operators that the accelerator leaves to the CPU
};

struct Advice {
  // "channels": a width just above a step of the device; "operator": falls back or is slow here;
  // "memory": lowers the peak; "first layer": the network's beginning costs too much.
  std::string topic;
  std::string what;                // "operators 3 to 5: 32 channels instead of 33"
  std::string why;                 // "3 % fewer channels, 21 % less time in these operators"
  std::vector<int32_t> operators;  // that it is about
  AdvisedCost after;
  bool in_range = true;  // of the changed model's prediction
  std::string file;      // the changed model, where files were asked for

  // Negative: better. Empty where one of the two is not known.
  [[nodiscard]] std::optional<double> latency_change_ms(const AdvisedCost& before) const {
    if (!after.latency_ms || !before.latency_ms) return std::nullopt;
    return *after.latency_ms - *before.latency_ms;
  }
};

struct AdviceReport {
  Prediction prediction;  // of the model as it is, with its inspection
  AdvisedCost before;
  std::vector<Advice> advice;  // largest saving of time first, then those that save memory alone
  int64_t tried = 0;           // changed models that were predicted
  // What was looked for and could not be changed: operators that fall back and have no replacement.
  std::vector<std::string> notes;
};

}  // namespace edgesage
