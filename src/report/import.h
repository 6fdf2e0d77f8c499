// What `edgesage import` answers.
#pragma once

#include <string>

#include "edgesage/import.h"

namespace edgesage::report {

[[nodiscard]] std::string import_text(const Import& import);
[[nodiscard]] std::string import_json(const Import& import);

}  // namespace edgesage::report
