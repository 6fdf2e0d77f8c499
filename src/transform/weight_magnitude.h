// How much of a network's weights a pruned one keeps, by their magnitude.
#pragma once

#include <cstdint>
#include <vector>

#include "src/graph/graph.h"
#include "src/transform/channel_groups.h"
#include "src/transform/pruning_space.h"

namespace edgesage {

// An operator with a constant filter, as the channels see it.
struct WeightedOperator {
  int32_t op = -1;
  int32_t filter = kNoTensor;
  size_t out_dimension = 0;   // of the filter
  int32_t in_dimension = -1;  // -1: each channel has its own (depthwise)
  std::vector<ChannelRun> out_runs, in_runs;
};
[[nodiscard]] std::vector<WeightedOperator> weighted_operators(const Graph& graph,
                                                               const ChannelGroups& groups);

// For each group its units, the most important first: by the sum of the magnitudes of the filters
// that make them, each filter's mean being 1; ties by number. Filters without bytes: by number.
[[nodiscard]] std::vector<std::vector<int32_t>> rank_units(const Graph& graph,
                                                           const ChannelGroups& groups);

// Mean over the operators with filters of the share of the filter's magnitude (sum of |weight|)
// that is kept; 0 for operators that are dropped with their block. 1 for the original, and never
// more for a narrower network.
class KeptMagnitude {
 public:
  // Reads all weights once, for the present values of the genes.
  explicit KeptMagnitude(const PruningSpace& space);
  // Microseconds. Safe to call from several threads.
  [[nodiscard]] double operator()(const Genome& genome) const;

 private:
  // Sums over a pair of runs, by the level of the output's gene and of the input's, cumulative.
  struct Piece {
    int32_t out_gene = -1, in_gene = -1;  // -1: fixed, one level
    int32_t in_levels = 1;
    std::vector<double> sum;
  };
  struct Filter {
    std::vector<Piece> pieces;
    double total = 0;
    std::vector<int32_t> block_genes;  // it goes with any of these
  };
  std::vector<Filter> filters_;
};

}  // namespace edgesage
