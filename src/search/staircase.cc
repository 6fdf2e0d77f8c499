#include "src/search/staircase.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace edgesage::search {

Staircase find_steps(std::vector<int32_t> widths, std::vector<double> cost, double tolerance) {
  Staircase stairs{std::move(widths), std::move(cost), {}};
  if (stairs.cost.empty()) return stairs;
  const auto [low, high] = std::ranges::minmax_element(stairs.cost);
  const double least = tolerance * (*high - *low);
  double cheapest = std::numeric_limits<double>::infinity();
  for (size_t i = stairs.widths.size(); i-- > 0;) {
    if (i + 1 < stairs.widths.size() && !(stairs.cost[i] < cheapest - least)) continue;
    stairs.steps.push_back(stairs.widths[i]);
    cheapest = std::min(cheapest, stairs.cost[i]);
  }
  std::ranges::reverse(stairs.steps);
  return stairs;
}

std::vector<int32_t> choose_steps(const Staircase& stairs, int32_t count) {
  const auto& steps = stairs.steps;
  if (steps.size() <= static_cast<size_t>(std::max(count, 1))) return steps;
  std::vector<int32_t> chosen;
  const double low = steps.front(), high = steps.back();
  size_t next = 0;
  for (int32_t i = 0; i < count; ++i) {
    const double wanted = low + (high - low) * i / std::max(count - 1, 1);
    // The nearest one that leaves enough for the rest.
    const size_t last = steps.size() - static_cast<size_t>(count - i);
    size_t best = next;
    for (size_t k = next; k <= last; ++k)
      if (std::abs(steps[k] - wanted) < std::abs(steps[best] - wanted)) best = k;
    if (i + 1 == count) best = steps.size() - 1;
    chosen.push_back(steps[best]);
    next = best + 1;
  }
  return chosen;
}

std::vector<int32_t> sampled_widths(int32_t width, int32_t least, int32_t most) {
  int32_t stride = 1;
  while ((width - least) / stride > most) stride *= 2;
  std::vector<int32_t> widths;
  if (least % stride != 0) widths.push_back(least);
  for (int32_t at = (least + stride - 1) / stride * stride; at <= width; at += stride)
    if (at > 0) widths.push_back(at);
  if (widths.empty() || widths.back() != width) widths.push_back(width);
  return widths;
}

}  // namespace edgesage::search
