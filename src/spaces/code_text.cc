#include "src/spaces/code_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "src/base/text.h"

namespace edgesage {

tl::unexpected<Error> bad_code(std::string_view code, std::string message) {
  constexpr size_t kShown = 160;
  return make_error(ErrorCode::kInvalidArgument, std::string(code.substr(0, kShown)),
                    std::move(message));
}

bool CodeNumbers::allows(int64_t number) const {
  if (!only.empty()) return std::find(only.begin(), only.end(), number) != only.end();
  return number >= least && number <= most;
}

std::string CodeNumbers::range_text() const {
  if (only.empty()) return fmt::format("{} to {}", least, most);
  return fmt::format("{} or {}", fmt::join(only.first(only.size() - 1), ", "), only.back());
}

Status check_code_numbers(std::string_view code, std::span<const int64_t> numbers, size_t count,
                          const CodeNumbers& allowed) {
  if (numbers.size() != count)
    return bad_code(code, fmt::format("{} {}; {} are needed, each {}", numbers.size(), allowed.what,
                                      count, allowed.range_text()));
  for (const int64_t number : numbers)
    if (!allowed.allows(number))
      return bad_code(code, fmt::format("{} among the {}; {} are allowed", number, allowed.what,
                                        allowed.range_text()));
  return {};
}

Result<std::vector<int64_t>> parse_code_numbers(std::string_view code, std::string_view text,
                                                size_t count, const CodeNumbers& allowed) {
  std::vector<int64_t> numbers;
  for (const std::string& part : split(text, '-')) {
    int64_t number = 0;
    const char* const end = part.data() + part.size();
    const auto [rest, error] = std::from_chars(part.data(), end, number);
    if (error != std::errc() || rest != end)
      return bad_code(code,
                      fmt::format("\"{}\" among the {}; {} numbers with - between them are "
                                  "needed, each {}",
                                  part.substr(0, 40), allowed.what, count, allowed.range_text()));
    numbers.push_back(number);
    if (numbers.size() > count) break;
  }
  EDGESAGE_RETURN_IF_ERROR(check_code_numbers(code, numbers, count, allowed));
  return numbers;
}

}  // namespace edgesage
