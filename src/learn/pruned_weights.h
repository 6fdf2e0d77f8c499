// Statistics of pruned weights without slicing them.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "src/analysis/weight_stats.h"
#include "src/lower/rows.h"
#include "src/transform/pruning_space.h"
#include "src/transform/weight_magnitude.h"

namespace edgesage {

// What weight_stats says of the filters of PruningSpace::build(genome), from the elements that it
// would look at. Remembered by the genes that a filter depends on. Not synchronised; the space must
// outlive it, with its present values.
class PrunedWeights {
 public:
  explicit PrunedWeights(const PruningSpace& space);

  // One a row; `base_tensor` as PrunedShapes has it.
  [[nodiscard]] std::vector<WeightStats> row_stats(const Lowering& lowering,
                                                   std::span<const int32_t> base_tensor,
                                                   const Genome& genome);

 private:
  struct Filter {
    WeightedOperator weighted;
    std::vector<int32_t> genes;
    std::unordered_map<uint64_t, WeightStats> known;
  };
  const WeightStats& stats_of(int32_t tensor, const Genome& genome);
  WeightStats look_at(const Filter& filter, const Genome& genome);
  // Channels of some runs that are kept, of `all` channels.
  void kept_channels(const std::vector<ChannelRun>& runs, int64_t all, const Genome& genome,
                     std::vector<int32_t>& kept) const;

  const PruningSpace* space_;
  // Units of each gene's values, ascending.
  std::vector<std::vector<std::vector<int32_t>>> units_;
  std::vector<int32_t> filter_of_;  // by tensor of the space's graph; -1: none that is pruned
  std::vector<Filter> filters_;
  std::unordered_map<int32_t, WeightStats> others_;
  std::vector<int32_t> out_, in_;
  std::vector<size_t> places_;
  std::vector<std::byte> sample_;
};

}  // namespace edgesage
