// Where a narrower layer is really cheaper: a device's steps over the widths of one group.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace edgesage::search {

struct Staircase {
  std::vector<int32_t> widths;  // ascending
  std::vector<double> cost;     // of the whole network with the group so wide
  std::vector<int32_t> steps;   // ascending: widths that no wider one is as cheap as
};

// Steps of a sampled curve: a width is one where every wider one costs more by at least `tolerance`
// of the curve's whole height. The widest always is.
[[nodiscard]] Staircase find_steps(std::vector<int32_t> widths, std::vector<double> cost,
                                   double tolerance = 0.002);

// At most `count` of the steps, the widest included, evenly spread over the widths.
[[nodiscard]] std::vector<int32_t> choose_steps(const Staircase& stairs, int32_t count);

// Widths at which to ask: all where there are not more than `most`, else multiples of a power of
// two. From `least` to `width`, both included.
[[nodiscard]] std::vector<int32_t> sampled_widths(int32_t width, int32_t least, int32_t most);

}  // namespace edgesage::search
