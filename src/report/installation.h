// What `edgesage selftest` and `edgesage strip` answer.
#pragma once

#include <string>
#include <vector>

#include "edgesage/selftest.h"
#include "edgesage/strip.h"

namespace edgesage::report {

[[nodiscard]] std::string selftest_text(const std::vector<SelftestStep>& steps);
[[nodiscard]] std::string selftest_json(const std::vector<SelftestStep>& steps);
[[nodiscard]] std::string strip_text(const Stripped& stripped);
[[nodiscard]] std::string strip_json(const Stripped& stripped);

}  // namespace edgesage::report
