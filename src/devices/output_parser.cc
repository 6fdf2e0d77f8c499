#include "src/devices/output_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <regex>

#include "src/base/json.h"
#include "src/base/text.h"

namespace edgesage {
namespace {

constexpr size_t kMaxLine = 4096;

tl::unexpected<Error> nothing(std::string what, std::string_view text) {
  return make_error(ErrorCode::kDeviceFailed, "output",
                    fmt::format("{}; it printed: {}", what, excerpt_of(text)));
}

Result<double> checked_ms(double value, double factor, std::string_view from) {
  const double ms = value * factor;
  if (!std::isfinite(ms) || ms <= 0)
    return make_error(ErrorCode::kDeviceFailed, "output",
                      fmt::format("the time is {}; a time is a finite number above 0", from));
  return ms;
}

// The pattern with its names taken out, and the numbers of the two groups that matter (0: absent).
struct NamedPattern {
  std::string plain;
  size_t time = 0, unit = 0;
};

// The standard library has no named groups: (?<name>...) and (?P<name>...) become plain ones.
NamedPattern without_names(const std::string& pattern) {
  NamedPattern out;
  size_t groups = 0;
  bool in_class = false;
  for (size_t at = 0; at < pattern.size(); ++at) {
    const char c = pattern[at];
    out.plain += c;
    if (c == '\\' && at + 1 < pattern.size()) {
      out.plain += pattern[++at];
    } else if (c == '[') {
      in_class = true;
    } else if (c == ']') {
      in_class = false;
    } else if (c == '(' && !in_class) {
      if (pattern.compare(at + 1, 1, "?") != 0) {
        ++groups;
        continue;
      }
      const size_t open = pattern.compare(at + 2, 2, "P<") == 0  ? at + 4
                          : pattern.compare(at + 2, 1, "<") == 0 ? at + 3
                                                                 : std::string::npos;
      const size_t close = open == std::string::npos ? open : pattern.find('>', open);
      if (close == std::string::npos) continue;
      ++groups;
      const std::string name = pattern.substr(open, close - open);
      if (name == "time") out.time = groups;
      if (name == "unit") out.unit = groups;
      at = close;
    }
  }
  return out;
}

Result<std::regex> compile(const std::string& plain) {
  auto flags = std::regex::ECMAScript;
#ifdef __GLIBCXX__
  flags |= std::regex_constants::__polynomial;  // no pattern takes exponential time or deep stacks
#endif
  try {
    return std::regex(plain, flags);
  } catch (const std::regex_error& error) {
    return make_error(ErrorCode::kInvalidArgument, "command.parser.pattern",
                      fmt::format("is not a regular expression: {}", error.what()));
  }
}

Result<double> match_ms(const std::smatch& match, const NamedPattern& pattern,
                        const std::string& unit) {
  const std::string number = match[pattern.time].str();
  const std::string given = pattern.unit > 0 ? match[pattern.unit].str() : unit;
  const std::optional<double> factor = unit_ms(given);
  if (!factor)
    return make_error(ErrorCode::kDeviceFailed, "output",
                      fmt::format("the unit '{}' of '{}' is not known; allowed: ns, us, ms, s",
                                  given, match[0].str()));
  const std::optional<double> value = whole_text_number(number);
  if (!value)
    return make_error(ErrorCode::kDeviceFailed, "output",
                      fmt::format("the time '{}' in '{}' is no number", number, match[0].str()));
  return checked_ms(*value, *factor, number);
}

Result<ParsedOutput> parse_regex(const OutputParser& parser, std::string_view text) {
  const NamedPattern pattern = without_names(parser.pattern);
  EDGESAGE_ASSIGN_OR_RETURN(const std::regex regex, compile(pattern.plain));
  ParsedOutput parsed;
  for (std::string line : split(text, '\n')) {
    line.resize(std::min(line.size(), kMaxLine));
    for (std::sregex_iterator match(line.begin(), line.end(), regex), end; match != end; ++match) {
      EDGESAGE_ASSIGN_OR_RETURN(const double ms, match_ms(*match, pattern, parser.unit));
      parsed.samples_ms.push_back(ms);
    }
  }
  if (parsed.samples_ms.empty())
    return nothing(fmt::format("no time: nothing matches {}", parser.pattern), text);
  return parsed;
}

Result<ParsedOutput> parse_pointer(const OutputParser& parser, std::string_view text) {
  const Result<Json> json = parse_json(trim(text), "output", ErrorCode::kDeviceFailed);
  if (!json) return nothing("no time: the output is not one JSON value", text);
  Json found;
  try {
    const nlohmann::ordered_json::json_pointer pointer(parser.pointer);
    if (json->contains(pointer)) found = json->at(pointer);
  } catch (const nlohmann::ordered_json::exception&) {
    found = nullptr;
  }
  const Json values = found.is_array() ? found : Json::array({found});
  ParsedOutput parsed;
  for (const Json& value : values) {
    if (!value.is_number())
      return nothing(fmt::format("no time: {} is {}, not a number or an array of numbers",
                                 parser.pointer, found.is_null() ? "absent" : to_text(value)),
                     text);
    EDGESAGE_ASSIGN_OR_RETURN(
        const double ms,
        checked_ms(value.get<double>(), unit_ms(parser.unit).value_or(0), to_text(value)));
    parsed.samples_ms.push_back(ms);
  }
  if (parsed.samples_ms.empty())
    return nothing(fmt::format("no time: {} is an empty array", parser.pointer), text);
  return parsed;
}

tl::unexpected<Error> bad_parser(std::string message) {
  return make_error(ErrorCode::kInvalidArgument, "command.parser", std::move(message));
}

}  // namespace

std::optional<double> whole_text_number(std::string_view text) {
  text = trim(text);
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string excerpt_of(std::string_view text, size_t length) {
  std::vector<std::string> lines;
  for (const std::string& line : split(text, '\n'))
    if (const std::string_view trimmed = trim(line); !trimmed.empty()) lines.emplace_back(trimmed);
  std::string whole = join(lines, " | ");
  if (whole.empty()) return "nothing";
  for (char& c : whole)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  if (whole.size() <= length) return whole;
  size_t start = whole.size() - length;
  // Not in the middle of a character of UTF-8.
  while (start < whole.size() && (static_cast<unsigned char>(whole[start]) & 0xC0U) == 0x80U)
    ++start;
  return "..." + whole.substr(start);
}

Status check_parser(const OutputParser& parser) {
  const auto unit_is_known = [&] { return unit_ms(parser.unit).has_value(); };
  switch (parser.kind) {
    case OutputParser::Kind::kBenchmarkModel:
      if (!parser.unit.empty() || !parser.pattern.empty() || !parser.pointer.empty())
        return bad_parser("command.parser: benchmark_model takes no unit, pattern or pointer");
      return {};
    case OutputParser::Kind::kRegex: {
      const NamedPattern pattern = without_names(parser.pattern);
      if (pattern.time == 0)
        return bad_parser(
            "command.parser.pattern needs a group named time, e.g. "
            "'took (?<time>[0-9.]+) us'");
      const Result<std::regex> regex = compile(pattern.plain);
      if (!regex) return bad_parser("command.parser.pattern " + regex.error().message);
      if ((pattern.unit > 0) == !parser.unit.empty())
        return bad_parser(
            "command.parser needs either unit = \"us\" (or ns, ms, s) or a group "
            "named unit in the pattern");
      if (pattern.unit == 0 && !unit_is_known()) break;
      return {};
    }
    case OutputParser::Kind::kJson:
      if (!parser.pointer.empty() && parser.pointer.front() != '/')
        return bad_parser(
            fmt::format("command.parser.pointer is '{}'; a pointer starts with /, "
                        "e.g. /timings/us; the empty one is the whole output",
                        parser.pointer));
      if (!unit_is_known()) break;
      return {};
  }
  return bad_parser(
      fmt::format("command.parser.unit is '{}'; allowed: ns, us, ms, s", parser.unit));
}

Result<ParsedOutput> parse_output(const OutputParser& parser, std::string_view text) {
  switch (parser.kind) {
    case OutputParser::Kind::kRegex:
      return parse_regex(parser, text);
    case OutputParser::Kind::kJson:
      return parse_pointer(parser, text);
    case OutputParser::Kind::kBenchmarkModel:
      break;
  }
  ParsedOutput parsed;
  EDGESAGE_ASSIGN_OR_RETURN(parsed.benchmark, parse_benchmark_model(text));
  return parsed;
}

}  // namespace edgesage
