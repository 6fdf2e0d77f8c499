// From a genome to what a predictor reads, without building the network: what a search asks
// thousands of times a second.
//
//   PrunedReader reader(space, predictor.target(), predictor.quantities());  // one a thread
//   Result<PrunedNetwork> network = reader.read(genome);
//   predictor.estimate(network->tensors, workspace);
//
// Only what genes change is worked out again: dimensions are changed in place, and statistics of
// weights, blocks of an NPU and features of a layer are remembered by what they depend on. Rows are
// lowered anew, 6 % of the time. The answer is, to the bit, that of extract_features for the
// network that PruningSpace::build makes.
#pragma once

#include "edgesage/result.h"
#include "src/analysis/ethos_block_memo.h"
#include "src/features/feature_memo.h"
#include "src/features/graph_tensors.h"
#include "src/features/priors.h"
#include "src/learn/pruned_weights.h"
#include "src/transform/pruning_shapes.h"

namespace edgesage {

struct PrunedNetwork {
  const Graph* graph = nullptr;  // shapes alone (PruningShapes); valid until the next read
  Lowering lowering;
  LoweringFacts facts;
  GraphTensors tensors;
};

// Memory is bounded. Not synchronised; the space must outlive it, with its present values.
class PrunedReader {
 public:
  PrunedReader(const PruningSpace& space, Target target, std::span<const Quantity> quantities);

  // Errors are those of PruningShapes::at.
  [[nodiscard]] Result<PrunedNetwork> read(const Genome& genome);

 private:
  Target target_;
  std::vector<Quantity> quantities_;
  PruningShapes shapes_;
  PrunedWeights weights_;
  EthosBlockMemo blocks_;
  FeatureMemo features_;
};

}  // namespace edgesage
