// Which predictor file serves a device.
#pragma once

#include <filesystem>
#include <string_view>

#include "edgesage/result.h"
#include "src/app/context.h"

namespace edgesage::app {

inline constexpr std::string_view kPredictorEnding = ".edgesage";

// <directory>/<device>.edgesage of the first directory that has it. kInvalidArgument when there is
// none, with how to make one. The file is not opened.
[[nodiscard]] Result<std::filesystem::path> find_predictor(const Context& context,
                                                           std::string_view device);

}  // namespace edgesage::app
