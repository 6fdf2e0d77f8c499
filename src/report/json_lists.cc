#include "src/report/json_lists.h"

#include <string_view>
#include <utility>

namespace edgesage::report {
namespace {

constexpr int kIndent = 2;
// How a discarded value is written. With the end of a key before it no string can hold it: quotes
// inside strings are escaped.
constexpr std::string_view kPlace = "\": <discarded>";

// The spaces that begin the line on which text[at] stands.
std::string margin_of(std::string_view text, size_t at) {
  const size_t line = text.rfind('\n', at) + 1;
  return std::string(text.find_first_not_of(' ', line) - line, ' ');
}

void append_indented(std::string& out, std::string_view text, const std::string& margin) {
  for (size_t at = 0;;) {
    const size_t end = text.find('\n', at);
    out.append(margin).append(text.substr(at, end - at));
    if (end == std::string_view::npos) return;
    out += '\n';
    at = end + 1;
  }
}

}  // namespace

Json LongLists::add(size_t size, std::function<Json(size_t)> entry) {
  lists_.push_back({size, std::move(entry)});
  return Json(Json::value_t::discarded);
}

std::string LongLists::to_text(const Json& document) const {
  const std::string frame = edgesage::to_text(document, kIndent);
  std::string out;
  size_t done = 0;
  for (const List& list : lists_) {
    size_t place = frame.find(kPlace, done);
    while (place != std::string::npos && frame[place - 1] == '\\')
      place = frame.find(kPlace, place + 1);
    if (place == std::string::npos) break;
    const std::string margin = margin_of(frame, place);
    const std::string inner(margin.size() + kIndent, ' ');
    out.append(frame, done, place + 3 - done).append(list.size == 0 ? "[]" : "[");
    for (size_t i = 0; i < list.size; ++i) {
      out += i == 0 ? "\n" : ",\n";
      append_indented(out, edgesage::to_text(list.entry(i), kIndent), inner);
    }
    if (list.size > 0) out.append("\n").append(margin).append("]");
    done = place + kPlace.size();
  }
  return out.append(frame, done);
}

}  // namespace edgesage::report
