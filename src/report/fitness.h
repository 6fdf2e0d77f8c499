// Whether a device is fit to be measured, as text and JSON.
#pragma once

#include <string>

#include "edgesage/fitness.h"

namespace edgesage::report {

[[nodiscard]] std::string fitness_text(const Fitness& fitness);
[[nodiscard]] std::string fitness_json(const Fitness& fitness);

}  // namespace edgesage::report
