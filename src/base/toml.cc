#include "src/base/toml.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <sstream>

#include "src/base/file.h"

namespace edgesage {
namespace {

Json to_json(const toml::node& node) {
  if (const auto* table = node.as_table()) {
    Json object = Json::object();
    for (const auto& [key, value] : *table) object[std::string(key.str())] = to_json(value);
    return object;
  }
  if (const auto* array = node.as_array()) {
    Json list = Json::array();
    for (const auto& value : *array) list.push_back(to_json(value));
    return list;
  }
  if (const auto* value = node.as_string()) return value->get();
  if (const auto* value = node.as_integer()) return value->get();
  if (const auto* value = node.as_floating_point()) return value->get();
  if (const auto* value = node.as_boolean()) return value->get();
  std::ostringstream text;
  if (const auto* value = node.as_date()) text << value->get();
  if (const auto* value = node.as_time()) text << value->get();
  if (const auto* value = node.as_date_time()) text << value->get();
  return text.str();
}

}  // namespace

Result<Json> parse_toml(std::string_view text, std::string_view where, ErrorCode code) {
  try {
    return to_json(toml::parse(text, std::string(where)));
  } catch (const toml::parse_error& error) {
    return make_error(
        code,
        fmt::format("{}:{}:{}", where, error.source().begin.line, error.source().begin.column),
        std::string(error.description()));
  }
}

Result<Json> read_toml(const std::filesystem::path& path, ErrorCode code) {
  EDGESAGE_ASSIGN_OR_RETURN(const std::string text, read_text(path, code));
  return parse_toml(text, path.string(), code);
}

}  // namespace edgesage
