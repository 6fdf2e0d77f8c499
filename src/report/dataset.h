// What label files hold and whether they hold, as text and JSON.
#pragma once

#include <string>

#include "edgesage/dataset.h"

namespace edgesage::report {

[[nodiscard]] std::string dataset_text(const DatasetSummary& summary);
[[nodiscard]] std::string dataset_json(const DatasetSummary& summary);

[[nodiscard]] std::string verification_text(const DatasetVerification& verification);
[[nodiscard]] std::string verification_json(const DatasetVerification& verification);

}  // namespace edgesage::report
