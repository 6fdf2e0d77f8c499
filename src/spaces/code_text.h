// Codes of published networks as lists of small numbers: "7-8-1".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgesage/result.h"

namespace edgesage {

// What a list may hold: a range, or `only` these.
struct CodeNumbers {
  int64_t least = 0, most = 0;
  std::span<const int64_t> only = {};
  std::string_view what = {};  // "blocks", for messages

  [[nodiscard]] bool allows(int64_t number) const;
  [[nodiscard]] std::string range_text() const;  // "0 to 8", "3, 5 or 7"
};

// Checks a list; kInvalidArgument naming `code`, shortened.
[[nodiscard]] Status check_code_numbers(std::string_view code, std::span<const int64_t> numbers,
                                        size_t count, const CodeNumbers& allowed);
// `count` numbers of `text`, a part of `code`, with '-' between them.
[[nodiscard]] Result<std::vector<int64_t>> parse_code_numbers(std::string_view code,
                                                              std::string_view text, size_t count,
                                                              const CodeNumbers& allowed);

[[nodiscard]] tl::unexpected<Error> bad_code(std::string_view code, std::string message);

template <class Numbers>
[[nodiscard]] std::string code_numbers(const Numbers& numbers) {
  std::string text;
  for (const auto number : numbers) {
    if (!text.empty()) text += '-';
    text += std::to_string(static_cast<int64_t>(number));
  }
  return text;
}

}  // namespace edgesage
