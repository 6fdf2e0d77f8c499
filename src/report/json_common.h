// Pieces that the JSON of several commands shares.
#pragma once

#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "edgesage/answer.h"
#include "src/base/csv.h"
#include "src/base/json.h"
#include "src/base/text.h"

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

// Objects of one form as lines under their keys; no text without any, no cell for null and for what
// is not finite.
[[nodiscard]] inline std::string rows_csv(const Json& rows) {
  std::string text;
  for (const Json& row : rows) {
    std::vector<std::string> names, values;
    for (const auto& [name, value] : row.items()) {
      names.push_back(name);
      const bool is_known =
          !value.is_null() && (!value.is_number_float() || std::isfinite(value.get<double>()));
      values.push_back(!is_known           ? ""
                       : value.is_string() ? csv_cell(value.get<std::string>())
                                           : value.dump());
    }
    if (text.empty()) text = join(names, ",") + '\n';
    text += join(values, ",") + '\n';
  }
  return text;
}

}  // namespace edgesage::report
