// The single checks behind fitness.h. Private to this folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "edgesage/fitness.h"

namespace edgesage::fitness {

namespace fs = std::filesystem;

// The first line, trimmed; nullopt where there is no such file or it cannot be read.
std::optional<std::string> first_line(const fs::path& path);
std::optional<double> first_number(const fs::path& path);
// Directories of `folder` whose names are `prefix` and a number, by number.
std::vector<std::pair<int, fs::path>> numbered(const fs::path& folder, const std::string& prefix);

FitnessFinding unknown(std::string check, std::string reason);

// `cores`: the ones that will be used; empty: all.
FitnessFinding check_governor(const fs::path& root, const std::vector<int>& cores);
FitnessFinding check_turbo(const fs::path& root);
FitnessFinding check_temperature(const fs::path& root);
// The throttling events counted since the machine was started; nullopt where nothing counts them.
std::optional<int64_t> throttle_events(const fs::path& root);
FitnessFinding check_throttling(std::optional<int64_t> before, std::optional<int64_t> after);

}  // namespace edgesage::fitness
