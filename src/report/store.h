// What a store holds, as text and JSON.
#pragma once

#include <string>

#include "edgesage/store_info.h"

namespace edgesage::report {

[[nodiscard]] std::string store_text(const StoreSummary& store);
[[nodiscard]] std::string store_json(const StoreSummary& store);

}  // namespace edgesage::report
