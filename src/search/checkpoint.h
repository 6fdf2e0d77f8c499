// A search's state as JSON, so that it can be kept and resumed.
#pragma once

#include <string_view>

#include "edgesage/result.h"
#include "src/base/json.h"
#include "src/search/nsga2.h"

namespace edgesage::search {

[[nodiscard]] Json state_to_json(const SearchState& state);
// Equal to what was kept, bit for bit. kBadStore, naming `where`, for anything else.
[[nodiscard]] Result<SearchState> state_from_json(const Json& json, std::string_view where);

}  // namespace edgesage::search
