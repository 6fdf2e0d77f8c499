// What a store holds, as text and JSON.
#pragma once

#include <string>

#include "edgesage/store_info.h"

namespace edgesage::report {

[[nodiscard]] std::string store_text(const StoreSummary& store);
[[nodiscard]] std::string store_json(const StoreSummary& store);

[[nodiscard]] std::string store_merge_text(const StoreMergeSummary& merge);
[[nodiscard]] std::string store_merge_json(const StoreMergeSummary& merge);

}  // namespace edgesage::report
