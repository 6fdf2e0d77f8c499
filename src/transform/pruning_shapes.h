// Pruned networks as shapes, made from each other in microseconds: what costs are computed from.
//
//   PruningShapes shapes(space);                      // one a thread
//   Result<PrunedShapes> now = shapes.at(genome);     // valid until the next call
//   lower(*now->graph, target)
//
// Filters and biases have shapes and types of the original, but no bytes, and of scales by channel
// only two. A graph is kept for every side of the image and set of dropped blocks, up to a number;
// other widths change the dimensions in it that depend on them, and nothing else.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "edgesage/result.h"
#include "src/transform/pruning_space.h"

namespace edgesage {

struct PrunedShapes {
  const Graph* graph = nullptr;
  // For each tensor of its main subgraph the one of the space's graph that it was.
  std::span<const int32_t> base_tensor;
};

// Not synchronised. The space must outlive it, with its present values.
class PruningShapes {
 public:
  explicit PruningShapes(const PruningSpace& space);
  PruningShapes(const PruningShapes&) = delete;
  PruningShapes& operator=(const PruningShapes&) = delete;

  // kInvalidArgument for a genome that is none; kUnsupported and kBadModel as PruningSpace::build.
  [[nodiscard]] Result<PrunedShapes> at(const Genome& genome);

 private:
  // A dimension that becomes shorter by `step` with every unit that the gene takes away.
  struct Slope {
    int32_t dimension = 0, gene = 0;
    int64_t step = 0;
  };
  // By tensor of the space's graph; of one side of the image.
  struct Sizes {
    int32_t side = 0;
    Graph graph;  // all widths, all blocks
    std::vector<std::vector<Slope>> slopes;
  };
  // A dimension of a tensor that genes change: `slopes` of Sizes::slopes[base_tensor].
  struct Dimension {
    int32_t tensor = 0, dimension = 0;
    int64_t size = 0;  // with all units
    bool in_signature = false;
    std::vector<Slope> slopes;
  };
  using StructureKey = std::pair<int32_t, std::vector<int32_t>>;  // side, dropped blocks
  struct Structure {
    StructureKey key;
    Graph graph;
    std::vector<int32_t> base_tensor;
    std::vector<Dimension> dimensions;
  };

  Result<std::shared_ptr<const Sizes>> sizes_of(int32_t side);
  Result<Structure*> structure_of(StructureKey key);
  static std::vector<Dimension> dimensions_of(const Sizes& sizes, Structure& structure);

  const PruningSpace* space_;
  std::shared_ptr<const Graph> bare_;  // the original without the bytes of its weights
  std::vector<std::shared_ptr<const Sizes>> sizes_;
  std::list<Structure> structures_;  // the last used first
  std::map<StructureKey, std::list<Structure>::iterator> known_;
  std::vector<int64_t> removed_;  // units, by gene, of the call in hand
};

}  // namespace edgesage
