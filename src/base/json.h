// JSON and the one place where nlohmann's exceptions end.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "edgesage/result.h"

namespace edgesage {

using Json = nlohmann::ordered_json;

// `where` names the file or the peer in the error.
[[nodiscard]] Result<Json> parse_json(std::string_view text, std::string_view where,
                                      ErrorCode code);

// The value at `key`, or `otherwise` where it is absent, null or of another type.
[[nodiscard]] double json_number(const Json& object, const char* key, double otherwise);
[[nodiscard]] int64_t json_int(const Json& object, const char* key, int64_t otherwise);
[[nodiscard]] std::string json_string(const Json& object, const char* key,
                                      std::string_view otherwise = {});
[[nodiscard]] bool json_bool(const Json& object, const char* key, bool otherwise);

// Compact, with invalid UTF-8 replaced (names in models can hold any bytes); indent 2 for people.
[[nodiscard]] std::string to_text(const Json& json, int indent = -1);

}  // namespace edgesage
