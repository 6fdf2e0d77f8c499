#include "src/io/ncnn_param.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

namespace edgesage {
namespace {

constexpr std::string_view kMagic = "7767517";
constexpr int kArrayBase = -23300;
constexpr int kMostParameters = 64;
constexpr int64_t kMostLayers = 1'000'000;
constexpr double kMostInteger = 9e15;
constexpr size_t kShown = 60;  // characters of the file in a message

template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

std::string shown(std::string_view text) { return fmt::format("'{}'", text.substr(0, kShown)); }

class Parser {
 public:
  Parser(std::string_view text, std::string_view where) : text_(text), where_(where) {}

  Result<NcnnParam> run() {
    if (!next_line() || line() != kMagic) return bad("is not 7767517, which begins an ncnn .param");
    if (!next_line()) return bad("is missing; it gives the numbers of layers and blobs");
    const auto layers = parse_number<int64_t>(word());
    const auto blobs = parse_number<int64_t>(word());
    if (!layers || !blobs || !word().empty() || *layers < 1 || *layers > kMostLayers || *blobs < 1)
      return bad(fmt::format("is {}; it gives the numbers of layers (1 to {}) and blobs",
                             shown(line()), kMostLayers));
    NcnnParam read;
    while (static_cast<int64_t>(read.layers.size()) < *layers && next_line()) {
      if (line().empty()) continue;
      NcnnLayer layer;
      EDGESAGE_RETURN_IF_ERROR(read_layer(layer));
      read.layers.push_back(std::move(layer));
    }
    if (static_cast<int64_t>(read.layers.size()) != *layers)
      return bad(fmt::format("is the end: {} layers, where line 2 gives {}; the file is cut short",
                             read.layers.size(), *layers));
    if (static_cast<int64_t>(made_.size()) != *blobs)
      return bad(
          fmt::format("is the last layer: {} blobs, where line 2 gives {}", made_.size(), *blobs));
    while (next_line())
      if (!line().empty()) ++read.ignored_lines;
    return read;
  }

 private:
  bool next_line() {
    ++number_;
    if (at_ >= text_.size()) {
      line_ = rest_ = {};
      return false;
    }
    const size_t end = std::min(text_.find('\n', at_), text_.size());
    line_ = text_.substr(at_, end - at_);
    at_ = end + 1;
    while (!line_.empty() && is_blank(line_.back())) line_.remove_suffix(1);
    rest_ = line_;
    return true;
  }
  [[nodiscard]] std::string_view line() const { return line_; }
  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

  // The next word of the line; empty at its end.
  std::string_view word() {
    while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
    size_t end = 0;
    while (end < rest_.size() && !is_blank(rest_[end])) ++end;
    const std::string_view found = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return found;
  }

  tl::unexpected<Error> bad(std::string message) const {
    return make_error(ErrorCode::kBadModel, fmt::format("{}: line {}", where_, number_),
                      std::move(message));
  }

  Status read_layer(NcnnLayer& layer) {
    layer.line = number_;
    layer.type = word();
    layer.name = word();
    const auto inputs = parse_number<int64_t>(word());
    const auto outputs = parse_number<int64_t>(word());
    if (layer.name.empty() || !inputs || !outputs || *inputs < 0 || *outputs < 0)
      return bad(
          fmt::format("is {}; a layer is: type, name, number of inputs, number of outputs, "
                      "their blobs, parameters",
                      shown(line_)));
    for (int64_t i = 0; i < *inputs; ++i) {
      const std::string_view blob = word();
      if (blob.empty()) return bad(fmt::format("ends before the {} inputs it gives", *inputs));
      if (!made_.contains(std::string(blob)))
        return bad(
            fmt::format("reads blob {}, which no layer before it makes (a cycle, or layers "
                        "out of order)",
                        shown(blob)));
      layer.inputs.emplace_back(blob);
    }
    for (int64_t i = 0; i < *outputs; ++i) {
      const std::string_view blob = word();
      if (blob.empty()) return bad(fmt::format("ends before the {} outputs it gives", *outputs));
      if (!made_.emplace(blob).second)
        return bad(fmt::format("makes blob {}, which another layer makes already", shown(blob)));
      layer.outputs.emplace_back(blob);
    }
    for (std::string_view item = word(); !item.empty(); item = word())
      EDGESAGE_RETURN_IF_ERROR(read_parameter(item, layer));
    return {};
  }

  Status read_parameter(std::string_view item, NcnnLayer& layer) {
    const size_t equals = item.find('=');
    const auto id = parse_number<int>(item.substr(0, equals));
    const bool is_array = id && *id <= kArrayBase;
    const int number = !id ? -1 : is_array ? kArrayBase - *id : *id;
    if (equals == std::string_view::npos || number < 0 || number >= kMostParameters)
      return bad(
          fmt::format("has {}; a parameter is id=value with ids 0 to {} (arrays: -23300 - "
                      "id)",
                      shown(item), kMostParameters - 1));
    std::vector<double> values;
    std::string_view rest = item.substr(equals + 1);
    while (true) {
      const size_t comma = rest.find(',');
      const auto value = parse_number<double>(rest.substr(0, comma));
      if (!value || !std::isfinite(*value))
        return bad(fmt::format("has {}; its values must be finite numbers", shown(item)));
      values.push_back(*value);
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
    if (is_array) {
      if (values.front() != static_cast<double>(values.size() - 1))
        return bad(fmt::format("has {}; the first number must be how many follow", shown(item)));
      values.erase(values.begin());
    } else if (values.size() != 1) {
      return bad(fmt::format("has {}; one value is allowed (arrays: -23300 - id)", shown(item)));
    }
    layer.parameters[number] = std::move(values);
    return {};
  }

  std::string_view text_, where_;
  std::string_view line_, rest_;
  size_t at_ = 0;
  int64_t number_ = 0;
  std::set<std::string> made_;  // blobs
};

int64_t to_integer(double value) {
  return static_cast<int64_t>(std::clamp(value, -kMostInteger, kMostInteger));
}

}  // namespace

bool looks_like_ncnn(std::string_view text) {
  if (!text.starts_with(kMagic)) return false;
  const size_t end = kMagic.size();
  return text.size() == end || text[end] == '\n' || text[end] == '\r';
}

int64_t NcnnLayer::integer(int id, int64_t otherwise) const {
  const auto it = parameters.find(id);
  return it == parameters.end() || it->second.empty() ? otherwise : to_integer(it->second.front());
}

double NcnnLayer::real(int id, double otherwise) const {
  const auto it = parameters.find(id);
  return it == parameters.end() || it->second.empty() ? otherwise : it->second.front();
}

std::vector<int64_t> NcnnLayer::integers(int id) const {
  std::vector<int64_t> values;
  if (const auto it = parameters.find(id); it != parameters.end())
    for (const double value : it->second) values.push_back(to_integer(value));
  return values;
}

Result<NcnnParam> parse_ncnn_param(std::string_view text, std::string_view where) {
  return Parser(text, where).run();
}

}  // namespace edgesage
