// Inspections as text and JSON.
#pragma once

#include <string>

#include "edgesage/answer.h"
#include "edgesage/inspect.h"

namespace edgesage::report {

[[nodiscard]] std::string inspect_text(const Answers<Inspection>& answers);

// One answer is the object itself; several are {"schema_version": 1, "models": [...]}. The keys are
// in docs/json.md.
[[nodiscard]] std::string inspect_json(const Answers<Inspection>& answers);

}  // namespace edgesage::report
