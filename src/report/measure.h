// Measurements as text and JSON.
#pragma once

#include <string>

#include "edgesage/answer.h"
#include "edgesage/measure.h"

namespace edgesage::report {

[[nodiscard]] std::string measure_text(const Answers<MeasuredModel>& answers);
[[nodiscard]] std::string measure_json(const Answers<MeasuredModel>& answers);

}  // namespace edgesage::report
