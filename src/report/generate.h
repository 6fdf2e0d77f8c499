// Sampled networks as text, JSON and CSV.
#pragma once

#include <string>
#include <vector>

#include "edgesage/generate.h"

namespace edgesage::report {

[[nodiscard]] std::string generate_text(const std::vector<GeneratedNetwork>& networks);
[[nodiscard]] std::string generate_json(const std::vector<GeneratedNetwork>& networks);
[[nodiscard]] std::string generate_csv(const std::vector<GeneratedNetwork>& networks);
[[nodiscard]] std::string spaces_text(const std::vector<SearchSpace>& spaces);

}  // namespace edgesage::report
