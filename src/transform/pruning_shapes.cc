#include "src/transform/pruning_shapes.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "src/transform/select_channels.h"

namespace edgesage {
namespace {

constexpr size_t kMostStructures = 512;  // of some tens of kilobytes

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

// Of many scales two are enough to say that there are several, and whether all are positive: what
// is done for every candidate would go through thousands. Names are nobody's here.
void shorten(Graph& graph) {
  for (Tensor& tensor : graph.main().tensors) {
    tensor.name.clear();
    Quantization& q = tensor.quantization;
    const bool alike =
        std::ranges::adjacent_find(q.zero_point, std::ranges::not_equal_to()) == q.zero_point.end();
    if (!tensor.is_constant() || q.scale.size() <= 2 || !alike) continue;
    const auto worst = std::ranges::find_if_not(q.scale, [](float scale) { return scale > 0; });
    if (worst != q.scale.end()) std::iter_swap(q.scale.begin(), worst);
    q.scale.resize(2);
    if (q.zero_point.size() > 2) q.zero_point.resize(2);
    q.min.clear(), q.max.clear();
  }
  for (Operator& op : graph.main().operators) op.name.clear();
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
  shorten(sizes->graph);
  sizes_.push_back(sizes);
  return std::shared_ptr<const Sizes>(sizes);
}

std::vector<PruningShapes::Dimension> PruningShapes::dimensions_of(const Sizes& sizes,
                                                                   Structure& structure) {
  std::vector<Dimension> dimensions;
  std::vector<Tensor>& tensors = structure.graph.main().tensors;
  for (size_t t = 0; t < tensors.size(); ++t) {
    const std::vector<Slope>& slopes = sizes.slopes[static_cast<size_t>(structure.base_tensor[t])];
    if (slopes.empty()) continue;
    const std::vector<int64_t>& shape = tensors[t].shape;
    std::vector<int64_t>& signature = tensors[t].shape_signature;
    for (size_t d = 0; d < shape.size(); ++d) {
      const bool in_signature = d < signature.size() && signature[d] >= 0;
      if (in_signature) signature[d] = shape[d];
      Dimension dimension{
          static_cast<int32_t>(t), static_cast<int32_t>(d), shape[d], in_signature, {}};
      for (const Slope& slope : slopes)
        if (slope.dimension == dimension.dimension) dimension.slopes.push_back(slope);
      if (!dimension.slopes.empty()) dimensions.push_back(std::move(dimension));
    }
  }
  return dimensions;
}

Result<PruningShapes::Structure*> PruningShapes::structure_of(StructureKey key) {
  if (const auto known = known_.find(key); known != known_.end()) {
    structures_.splice(structures_.begin(), structures_, known->second);
    return &structures_.front();
  }
  EDGESAGE_ASSIGN_OR_RETURN(std::shared_ptr<const Sizes> sizes, sizes_of(key.first));
  Structure structure{
      .key = std::move(key), .graph = sizes->graph, .base_tensor = {}, .dimensions = {}};
  EDGESAGE_RETURN_IF_ERROR(
      space_->reshape(structure.graph, 0, structure.key.second, &structure.base_tensor));
  structure.dimensions = dimensions_of(*sizes, structure);
  structures_.push_front(std::move(structure));
  known_.emplace(structures_.front().key, structures_.begin());
  if (structures_.size() > kMostStructures) {
    known_.erase(structures_.back().key);
    structures_.pop_back();
  }
  return &structures_.front();
}

Result<PrunedShapes> PruningShapes::at(const Genome& genome) {
  EDGESAGE_RETURN_IF_ERROR(space_->check(genome));
  EDGESAGE_ASSIGN_OR_RETURN(Structure * now,
                            structure_of({space_->side(genome), space_->dropped(genome)}));
  removed_.resize(genome.size());
  for (size_t g = 0; g < genome.size(); ++g)
    removed_[g] = space_->genes()[g].values.back() - space_->value(genome, g);
  std::vector<Tensor>& tensors = now->graph.main().tensors;
  for (const Dimension& dimension : now->dimensions) {
    int64_t size = dimension.size;
    for (const Slope& slope : dimension.slopes)
      size -= slope.step * removed_[static_cast<size_t>(slope.gene)];
    Tensor& tensor = tensors[static_cast<size_t>(dimension.tensor)];
    const auto d = static_cast<size_t>(dimension.dimension);
    tensor.shape[d] = size;
    if (dimension.in_signature) tensor.shape_signature[d] = size;
  }
  return PrunedShapes{&now->graph, now->base_tensor};
}

}  // namespace edgesage
