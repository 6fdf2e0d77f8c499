// The parameters of a search space as data: what the sampler draws from and what the documentation
// prints are one table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "src/base/rng.h"

namespace edgesage {

// A value and how often it is drawn, relative to the others.
struct Choice {
  double value = 0;
  double weight = 1;
};

struct Parameter {
  enum class Scale : uint8_t { kChoices, kIntegers, kUniform, kLogarithmic, kChance };
  static constexpr size_t kMaxChoices = 20;

  std::string_view name;     // "expansion"
  std::string_view meaning;  // one line, with the unit where there is one
  Scale scale = Scale::kChoices;
  double low = 0, high = 0;  // ranges; `high` is the probability of a chance
  std::array<Choice, kMaxChoices> choices{};
  size_t choice_count = 0;

  // A seeded value of the range.
  [[nodiscard]] double draw(Rng& rng) const;
  [[nodiscard]] int64_t draw_integer(Rng& rng) const;  // rounded
  [[nodiscard]] bool draw_chance(Rng& rng) const;
  // "3 (70 %), 5 (20 %), 7 (10 %)", "1 to 4", "0.2e6 to 4e8, log-uniform", "15 %".
  [[nodiscard]] std::string range_text() const;
};

[[nodiscard]] constexpr Parameter one_of(std::string_view name, std::string_view meaning,
                                         std::initializer_list<Choice> choices) {
  Parameter parameter{.name = name, .meaning = meaning};
  for (const Choice& choice : choices) parameter.choices[parameter.choice_count++] = choice;
  return parameter;
}
[[nodiscard]] constexpr Parameter integers(std::string_view name, std::string_view meaning, int low,
                                           int high) {
  return {.name = name,
          .meaning = meaning,
          .scale = Parameter::Scale::kIntegers,
          .low = static_cast<double>(low),
          .high = static_cast<double>(high)};
}
[[nodiscard]] constexpr Parameter uniform(std::string_view name, std::string_view meaning,
                                          double low, double high) {
  return {.name = name,
          .meaning = meaning,
          .scale = Parameter::Scale::kUniform,
          .low = low,
          .high = high};
}
[[nodiscard]] constexpr Parameter log_uniform(std::string_view name, std::string_view meaning,
                                              double low, double high) {
  return {.name = name,
          .meaning = meaning,
          .scale = Parameter::Scale::kLogarithmic,
          .low = low,
          .high = high};
}
[[nodiscard]] constexpr Parameter chance(std::string_view name, std::string_view meaning,
                                         double probability) {
  return {
      .name = name, .meaning = meaning, .scale = Parameter::Scale::kChance, .high = probability};
}

}  // namespace edgesage
