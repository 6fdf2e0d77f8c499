// What `edgesage check` answers.
#pragma once

#include <string>
#include <string_view>

#include "edgesage/answer.h"
#include "edgesage/check.h"

namespace edgesage::report {

[[nodiscard]] std::string check_text(const Answers<Check>& answers);
[[nodiscard]] std::string check_json(const Answers<Check>& answers);
// For a comment on a pull request.
[[nodiscard]] std::string check_markdown(const Answers<Check>& answers);
// One suite a model and device, one case a rule: what CI services show as tests.
[[nodiscard]] std::string check_junit(const Answers<Check>& answers);

}  // namespace edgesage::report
