// Small text helpers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace edgesage {

[[nodiscard]] std::vector<std::string> split(std::string_view text, char separator);
[[nodiscard]] std::string_view trim(std::string_view text);
[[nodiscard]] std::string join(std::span<const std::string> parts, std::string_view separator);

// The candidate closest to `name` (edit distance of at most a third of its length), or empty: for
// "did you mean" in errors.
[[nodiscard]] std::string_view closest(std::string_view name,
                                       std::span<const std::string> candidates);

// "12.5 MB", "3.2 kB", "17 B": decimal units, three digits.
[[nodiscard]] std::string human_bytes(int64_t bytes);
// "2.66 M", "812": three digits.
[[nodiscard]] std::string human_count(double count);

}  // namespace edgesage
