#include "src/base/json.h"

#include <string>

namespace edgesage {

Result<Json> parse_json(std::string_view text, std::string_view where, ErrorCode code) {
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    return make_error(code, std::string(where), std::string("not valid JSON: ") + error.what());
  }
}

double json_number(const Json& object, const char* key, double otherwise) {
  if (!object.is_object()) return otherwise;
  const auto it = object.find(key);
  return it != object.end() && it->is_number() ? it->get<double>() : otherwise;
}

int64_t json_int(const Json& object, const char* key, int64_t otherwise) {
  if (!object.is_object()) return otherwise;
  const auto it = object.find(key);
  return it != object.end() && it->is_number_integer() ? it->get<int64_t>() : otherwise;
}

std::string json_string(const Json& object, const char* key, std::string_view otherwise) {
  if (object.is_object()) {
    const auto it = object.find(key);
    if (it != object.end() && it->is_string()) return it->get<std::string>();
  }
  return std::string(otherwise);
}

bool json_bool(const Json& object, const char* key, bool otherwise) {
  if (!object.is_object()) return otherwise;
  const auto it = object.find(key);
  return it != object.end() && it->is_boolean() ? it->get<bool>() : otherwise;
}

std::string to_text(const Json& json, int indent) {
  return json.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

}  // namespace edgesage
