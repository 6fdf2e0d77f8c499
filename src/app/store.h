// `edgesage store`: what a store of measurements holds.
#pragma once

#include <string>

#include "edgesage/result.h"
#include "edgesage/store_info.h"

namespace edgesage::app {

// kBadStore for a file that is no store, damaged or of another version.
[[nodiscard]] Result<StoreSummary> store_info(const std::string& file);

}  // namespace edgesage::app
