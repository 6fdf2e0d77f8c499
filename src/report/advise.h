// What `edgesage advise` answers.
#pragma once

#include <string>

#include "edgesage/advise.h"

namespace edgesage::report {

[[nodiscard]] std::string advise_text(const AdviceReport& report);
[[nodiscard]] std::string advise_markdown(const AdviceReport& report);
[[nodiscard]] std::string advise_json(const AdviceReport& report);

}  // namespace edgesage::report
