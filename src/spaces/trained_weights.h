// Filters that look trained. What an NPU's compiler makes of a filter, its encoded size and with it
// time, depends on the values: heavy tails leave most of them small, pruning leaves zeros,
// clustering few distinct ones.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "src/base/rng.h"
#include "src/graph/builder.h"
#include "src/spaces/parameter.h"

namespace edgesage {

// Draws what a network has in common (pruned? clustered? how heavy are its tails?) and then fills
// filter after filter. Everything follows from the seed and the way of drawing.
class TrainedWeights {
 public:
  // kEach: every value is a variate of its own (8 ns). kTabled: values are picked from 8192
  // variates of the network (2 ns), tails have the network's weight, and pruning takes the smallest
  // by their place in the table; for networks of millions of weights.
  enum class Drawing : uint8_t { kEach, kTabled };
  explicit TrainedWeights(uint64_t seed, Drawing drawing = Drawing::kEach);
  // Values -127 to 127; each output channel's largest magnitude is 127 (fully connected: the
  // largest of all).
  void fill(const FilterLayout& layout, std::span<int8_t> stored);
  // The ranges drawn from, for the documentation of spaces.
  static std::span<const Parameter* const> parameters();

 private:
  // What one filter's values are drawn from.
  struct Filter {
    int64_t shape = 0;
    double freedom = 0, spread = 0, sparsity = 0;
  };
  void fill_each(const FilterLayout& layout, const Filter& filter, Rng& rng,
                 std::span<int8_t> stored);
  void fill_tabled(const FilterLayout& layout, const Filter& filter, Rng& rng,
                   std::span<int8_t> stored);
  [[nodiscard]] const std::vector<float>& table(int64_t shape);

  Rng rng_;
  Drawing drawing_ = Drawing::kEach;
  uint64_t seed_ = 0;
  std::array<std::vector<float>, 5> tables_;  // by shape, made when first used
  std::vector<double> variates_;              // of the filter at hand
  std::vector<float> values_;
  double sparsity_ = 0;   // of the network; 0 if it is not pruned
  int64_t clusters_ = 0;  // distinct values; 0 if it is not clustered
  double tail_ = 0;       // typical degrees of freedom
};

}  // namespace edgesage
