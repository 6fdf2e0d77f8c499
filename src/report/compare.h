// What `edgesage compare` answers.
#pragma once

#include <cstddef>
#include <string>

#include "edgesage/compare.h"

namespace edgesage::report {

// `top`: how many operators are shown, those with the largest differences; the others are one line.
[[nodiscard]] std::string compare_text(const Comparison& comparison, size_t top);
[[nodiscard]] std::string compare_markdown(const Comparison& comparison, size_t top);
// All operators, in the order of the models.
[[nodiscard]] std::string compare_json(const Comparison& comparison);
[[nodiscard]] std::string compare_csv(const Comparison& comparison);

}  // namespace edgesage::report
