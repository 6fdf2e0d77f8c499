// A figure that may not be known, as the public structs have it.
#pragma once

#include <cmath>
#include <optional>

namespace edgesage::app {

// Absent where it is not a finite number; else times `unit`.
[[nodiscard]] inline std::optional<double> if_known(double value, double unit = 1) {
  return std::isfinite(value) ? std::optional(unit * value) : std::nullopt;
}

}  // namespace edgesage::app
