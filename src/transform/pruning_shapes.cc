#include "src/transform/pruning_shapes.h"

#include <algorithm>
#include <utility>

#include "src/transform/select_channels.h"

namespace edgesage {
namespace {

constexpr size_t kMostStructures = 64;

// Integers without a scale are shapes, axes and paddings, which others read.
bool is_weight(const Tensor& tensor) {
  const bool plain_integer = (tensor.type == DataType::kInt32 || tensor.type == DataType::kInt64) &&
                             tensor.quantization.scale.empty();
  return tensor.is_constant() && !plain_integer && tensor.element_count() > 1;
}

Graph without_weights(const Graph& graph) {
  Graph bare = graph;
  for (const Tensor& tensor : graph.main().tensors)
    if (is_weight(tensor)) bare.buffers[static_cast<size_t>(tensor.buffer)] = Buffer{};
  return bare;
}

}  // namespace

PruningShapes::PruningShapes(const PruningSpace& space)
    : space_(&space), bare_(std::make_shared<const Graph>(without_weights(space.graph()))) {}

// By trial: one gene after the other at its least, everything else as it is. Sizes are linear in
// the units that are there.
Result<std::shared_ptr<const PruningShapes::Sizes>> PruningShapes::sizes_of(int32_t side) {
  for (const auto& known : sizes_)
    if (known->side == side) return known;
  auto sizes = std::make_shared<Sizes>();
  sizes->side = side;
  sizes->graph = *bare_;
  EDGESAGE_RETURN_IF_ERROR(space_->reshape(sizes->graph, side, {}));
  const std::vector<Tensor>& tensors = sizes->graph.main().tensors;
  sizes->slopes.resize(tensors.size());
  const Genome base = space_->base();
  for (size_t g = 0; g < base.size(); ++g) {
    const PruningGene& gene = space_->genes()[g];
    if (gene.kind != PruningGene::Kind::kWidth) continue;
    Genome narrow = base;
    narrow[g] = 0;
    EDGESAGE_ASSIGN_OR_RETURN(Graph trial,
                              select_channels(*bare_, space_->groups(), space_->selection(narrow)));
    EDGESAGE_RETURN_IF_ERROR(space_->reshape(trial, side, {}));
    const int64_t removed = gene.values.back() - gene.values.front();
    for (size_t t = 0; t < tensors.size(); ++t)
      for (size_t d = 0; d < tensors[t].shape.size(); ++d)
        if (const int64_t less = tensors[t].shape[d] - trial.main().tensors[t].shape[d]; less != 0)
          sizes->slopes[t].push_back(
              {static_cast<int32_t>(d), static_cast<int32_t>(g), less / removed});
  }
  sizes_.push_back(sizes);
  return std::shared_ptr<const Sizes>(sizes);
}

Result<PruningShapes::Structure*> PruningShapes::structure_of(int32_t side,
                                                              std::vector<int32_t> dropped) {
  const auto known = std::ranges::find_if(structures_, [&](const Structure& structure) {
    return structure.side == side && structure.dropped == dropped;
  });
  if (known != structures_.end()) {
    structures_.splice(structures_.begin(), structures_, known);
    return &structures_.front();
  }
  EDGESAGE_ASSIGN_OR_RETURN(std::shared_ptr<const Sizes> sizes, sizes_of(side));
  Structure structure{.side = side, .dropped = std::move(dropped), .graph = sizes->graph};
  EDGESAGE_RETURN_IF_ERROR(
      space_->reshape(structure.graph, 0, structure.dropped, &structure.base_tensor));
  structure.sizes = std::move(sizes);
  structures_.push_front(std::move(structure));
  if (structures_.size() > kMostStructures) structures_.pop_back();
  return &structures_.front();
}

Result<PrunedShapes> PruningShapes::at(const Genome& genome) {
  EDGESAGE_RETURN_IF_ERROR(space_->check(genome));
  EDGESAGE_ASSIGN_OR_RETURN(Structure * now,
                            structure_of(space_->side(genome), space_->dropped(genome)));
  std::vector<int64_t> removed(genome.size(), 0);
  for (size_t g = 0; g < genome.size(); ++g)
    removed[g] = space_->genes()[g].values.back() - space_->value(genome, g);
  std::vector<Tensor>& tensors = now->graph.main().tensors;
  for (size_t t = 0; t < tensors.size(); ++t) {
    const auto base = static_cast<size_t>(now->base_tensor[t]);
    const std::vector<Slope>& slopes = now->sizes->slopes[base];
    if (slopes.empty()) continue;
    std::vector<int64_t>& shape = tensors[t].shape;
    shape = now->sizes->graph.main().tensors[base].shape;
    for (const Slope& slope : slopes)
      shape[static_cast<size_t>(slope.dimension)] -=
          slope.step * removed[static_cast<size_t>(slope.gene)];
    std::vector<int64_t>& signature = tensors[t].shape_signature;
    for (size_t d = 0; d < signature.size() && d < shape.size(); ++d)
      if (signature[d] >= 0) signature[d] = shape[d];
  }
  return PrunedShapes{&now->graph, now->base_tensor};
}

}  // namespace edgesage
