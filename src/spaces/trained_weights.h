// Filters that look trained. What an NPU's compiler makes of a filter, its encoded size and with it
// time, depends on the values: heavy tails leave most of them small, pruning leaves zeros,
// clustering few distinct ones.
#pragma once

#include <cstdint>
#include <span>

#include "src/base/rng.h"
#include "src/graph/builder.h"
#include "src/spaces/parameter.h"

namespace edgesage {

// Draws what a network has in common (pruned? clustered? how heavy are its tails?) and then fills
// filter after filter. Everything follows from the seed.
class TrainedWeights {
 public:
  explicit TrainedWeights(uint64_t seed);
  // Values -127 to 127; each output channel's largest magnitude is 127 (fully connected: the
  // largest of all).
  void fill(const FilterLayout& layout, std::span<int8_t> stored);
  // The ranges drawn from, for the documentation of spaces.
  static std::span<const Parameter* const> parameters();

 private:
  Rng rng_;
  double sparsity_ = 0;   // of the network; 0 if it is not pruned
  int64_t clusters_ = 0;  // distinct values; 0 if it is not clustered
  double tail_ = 0;       // typical degrees of freedom
};

}  // namespace edgesage
