// Pieces that the JSON of several commands shares.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "edgesage/answer.h"
#include "src/base/json.h"

namespace edgesage::report {

inline constexpr int kSchemaVersion = 1;

// An empty object with room for `keys` of them. Growing copies everything in it, to any depth (keys
// are constant, which forbids moving), as do initialiser lists: large objects start with this.
[[nodiscard]] inline Json object_with_room(size_t keys) {
  Json out = Json::object();
  out.get_ref<Json::object_t&>().reserve(keys);
  return out;
}

template <class T>
[[nodiscard]] Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

[[nodiscard]] inline Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

// {"code": 3, "where": "...", "message": "..."}
[[nodiscard]] inline Json error_json(const Error& error) {
  return {
      {"code", static_cast<int>(error.code)}, {"where", error.where}, {"message", error.message}};
}

[[nodiscard]] inline Json texts_json(const std::map<std::string, std::string>& texts) {
  Json out = Json::object();
  for (const auto& [key, value] : texts) out[key] = value;
  return out;
}

}  // namespace edgesage::report
