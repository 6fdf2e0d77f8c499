#include "src/devices/placeholders.h"

#include <fmt/format.h>

namespace edgesage {
namespace {

constexpr std::string_view kQuote = "sh:";

// A piece of a text: literal, or the inside of a pair of braces.
struct Piece {
  std::string_view text;
  bool placeholder = false;
};

std::vector<Piece> pieces_of(std::string_view text) {
  std::vector<Piece> pieces;
  size_t at = 0, literal = 0;
  const auto end_literal = [&](size_t end) {
    if (end > literal) pieces.push_back({text.substr(literal, end - literal)});
  };
  while (at < text.size()) {
    const bool twice = at + 1 < text.size() && text[at + 1] == text[at];
    if ((text[at] == '{' || text[at] == '}') && twice) {
      end_literal(at + 1);
      at += 2;
      literal = at;
    } else if (text[at] == '{') {
      const size_t close = text.find('}', at);
      if (close == std::string_view::npos) break;
      end_literal(at);
      pieces.push_back({text.substr(at + 1, close - at - 1), true});
      at = literal = close + 1;
    } else {
      ++at;
    }
  }
  end_literal(text.size());
  return pieces;
}

}  // namespace

std::string shell_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'')
      quoted += "'\\''";
    else
      quoted += c;
  }
  return quoted + "'";
}

Result<std::string> fill_placeholders(std::string_view text, const PlaceholderValue& value,
                                      std::string_view where, std::string_view known) {
  std::string filled;
  for (const Piece& piece : pieces_of(text)) {
    if (!piece.placeholder) {
      filled += piece.text;
      continue;
    }
    const bool quote = piece.text.starts_with(kQuote);
    const std::string_view name = quote ? piece.text.substr(kQuote.size()) : piece.text;
    const std::optional<std::string> found = value(name);
    if (!found)
      return make_error(ErrorCode::kInvalidArgument, std::string(where),
                        fmt::format("unknown placeholder {{{}}}; allowed: {}; a brace itself is "
                                    "written twice",
                                    name, known));
    filled += quote ? shell_quoted(*found) : *found;
  }
  return filled;
}

std::vector<std::string> placeholder_names(std::string_view text) {
  std::vector<std::string> names;
  for (const Piece& piece : pieces_of(text))
    if (piece.placeholder)
      names.emplace_back(piece.text.starts_with(kQuote) ? piece.text.substr(kQuote.size())
                                                        : piece.text);
  return names;
}

}  // namespace edgesage
