// Inspections as text, JSON and a page.
#pragma once

#include <string>

#include "edgesage/answer.h"
#include "edgesage/inspect.h"

namespace edgesage::report {

[[nodiscard]] std::string inspect_text(const Answers<Inspection>& answers);

// One answer is the object itself; several are {"schema_version": 1, "models": [...]}. The keys are
// in docs/json.md.
[[nodiscard]] std::string inspect_json(const Answers<Inspection>& answers);

// A page of its own that asks nothing of any other: summary, operators, and the picture of the
// arena over time. One section a model. ASCII.
[[nodiscard]] std::string inspect_html(const Answers<Inspection>& answers);

}  // namespace edgesage::report
