// NAME=VALUE pairs of the command line as options of a worker.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "src/base/json.h"

namespace edgesage::app {

// Values are JSON where they parse as such, otherwise text.
[[nodiscard]] inline Json worker_options(
    std::span<const std::pair<std::string, std::string>> pairs) {
  Json options = Json::object();
  for (const auto& [name, text] : pairs) {
    auto value = parse_json(text, name, ErrorCode::kInvalidArgument);
    options[name] = value ? std::move(*value) : Json(text);
  }
  return options;
}

}  // namespace edgesage::app
