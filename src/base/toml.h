// TOML files as JSON values: one kind of tree to walk, and the one place where toml++ is used.
// Dates and times become strings.
#pragma once

#include <filesystem>
#include <string_view>

#include "edgesage/result.h"
#include "src/base/json.h"

namespace edgesage {

// Errors name the file, line and column.
[[nodiscard]] Result<Json> parse_toml(std::string_view text, std::string_view where,
                                      ErrorCode code);
[[nodiscard]] Result<Json> read_toml(const std::filesystem::path& path, ErrorCode code);

}  // namespace edgesage
