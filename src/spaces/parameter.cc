#include "src/spaces/parameter.h"

#include <fmt/format.h>

#include <cmath>

#include "src/base/portable_math.h"

namespace edgesage {

double Parameter::draw(Rng& rng) const {
  switch (scale) {
    case Scale::kIntegers:
      return static_cast<double>(
          rng.integer(static_cast<int64_t>(low), static_cast<int64_t>(high)));
    case Scale::kUniform:
      return rng.uniform(low, high);
    case Scale::kLogarithmic:
      return portable_log_uniform(rng, low, high);
    case Scale::kChance:
      return rng.chance(high) ? 1 : 0;
    case Scale::kChoices:
      break;
  }
  double total = 0;
  for (size_t i = 0; i < choice_count; ++i) total += choices[i].weight;
  double rest = rng.uniform() * total;
  for (size_t i = 0; i + 1 < choice_count; ++i) {
    rest -= choices[i].weight;
    if (rest < 0) return choices[i].value;
  }
  return choices[choice_count - 1].value;
}

int64_t Parameter::draw_integer(Rng& rng) const {
  return static_cast<int64_t>(std::floor(draw(rng) + 0.5));
}

bool Parameter::draw_chance(Rng& rng) const { return draw(rng) != 0; }

std::string Parameter::range_text() const {
  switch (scale) {
    case Scale::kIntegers:
      return fmt::format("{:g} to {:g}", low, high);
    case Scale::kUniform:
      return fmt::format("{:g} to {:g}, uniform", low, high);
    case Scale::kLogarithmic:
      return fmt::format("{:g} to {:g}, log-uniform", low, high);
    case Scale::kChance:
      return fmt::format("{:g} %", 100 * high);
    case Scale::kChoices:
      break;
  }
  double total = 0;
  for (size_t i = 0; i < choice_count; ++i) total += choices[i].weight;
  std::string text;
  for (size_t i = 0; i < choice_count; ++i)
    text += fmt::format("{}{:g} ({:.0f} %)", i == 0 ? "" : ", ", choices[i].value,
                        100 * choices[i].weight / total);
  return text;
}

}  // namespace edgesage
