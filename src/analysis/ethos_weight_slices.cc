#include "src/analysis/ethos_weight_slices.h"

#include <algorithm>

namespace edgesage {
namespace {

constexpr int64_t kStep = 16;

int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

EthosWeightSlices ethos_weight_slices(int64_t depth, int64_t block_depth, double transfer,
                                      double slack, const std::function<double(int64_t)>& cycles) {
  EthosWeightSlices slices{.first = depth, .held = depth};
  if (transfer <= slack) return slices;
  const double early = static_cast<double>(depth) * std::max(slack, 0.0) / transfer;
  slices.first = std::max(static_cast<int64_t>(early) / kStep * kStep, kStep);
  if (slices.first >= depth) {
    slices.first = depth;
    return slices;
  }
  const double meanwhile = static_cast<double>(depth) * cycles(slices.first) / transfer;
  const int64_t wanted = static_cast<int64_t>(std::min(meanwhile, static_cast<double>(depth)));
  slices.later = std::max(round_up(std::max<int64_t>(wanted, 1), block_depth), kStep);
  const int64_t rest = depth - slices.first;
  slices.later = std::min(slices.later, rest);
  slices.later_count = (rest + slices.later - 1) / slices.later;
  slices.last = rest - (slices.later_count - 1) * slices.later;
  // Odd and even slices have a place each.
  const int64_t even =
      slices.later_count > 1
          ? std::max(slices.first, slices.later_count > 2 ? slices.later : slices.last)
          : slices.first;
  slices.held = std::min(even + slices.later, depth);
  return slices;
}

}  // namespace edgesage
