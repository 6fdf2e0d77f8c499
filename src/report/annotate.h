// What a run of annotation did, as text and JSON.
#pragma once

#include <string>

#include "edgesage/annotate.h"

namespace edgesage::report {

[[nodiscard]] std::string annotate_text(const AnnotationSummary& summary);
[[nodiscard]] std::string annotate_json(const AnnotationSummary& summary);

}  // namespace edgesage::report
