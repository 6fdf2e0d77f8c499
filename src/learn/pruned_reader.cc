#include "src/learn/pruned_reader.h"

#include <utility>

#include "src/analysis/liveness.h"
#include "src/features/extract.h"

namespace edgesage {

PrunedReader::PrunedReader(const PruningSpace& space, Target target,
                           std::span<const Quantity> quantities)
    : target_(std::move(target)),
      quantities_(quantities.begin(), quantities.end()),
      shapes_(space),
      weights_(space) {}

Result<PrunedNetwork> PrunedReader::read(const Genome& genome) {
  EDGESAGE_ASSIGN_OR_RETURN(const PrunedShapes pruned, shapes_.at(genome));
  PrunedNetwork now{
      .graph = pruned.graph, .lowering = lower(*pruned.graph, target_), .facts = {}, .tensors = {}};
  const std::vector<WeightStats> stats =
      weights_.row_stats(now.lowering, pruned.base_tensor, genome);
  now.facts =
      gather_facts(*now.graph, now.lowering, liveness(*now.graph, now.lowering), stats, blocks_);
  now.tensors = extract_features(now.lowering, now.facts, quantities_, &features_);
  return now;
}

}  // namespace edgesage
