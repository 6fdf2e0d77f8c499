#include "src/transform/pruning_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "src/graph/op_registry.h"
#include "src/transform/constants.h"
#include "src/transform/refit.h"
#include "src/transform/weight_magnitude.h"

namespace edgesage {
namespace {

constexpr int32_t kLeastSide = 16;

// Kinds that make a channel's value depend on all others, without weights that could be masked.
bool mixes_channels(OpKind kind) { return kind == OpKind::kSoftmax; }

std::vector<bool> mixed_groups(const Graph& graph, const ChannelGroups& groups) {
  std::vector<bool> mixed(groups.groups.size(), false);
  for (const Operator& op : graph.main().operators) {
    if (!mixes_channels(op.kind)) continue;
    for (const int32_t tensor : op.inputs)
      if (tensor >= 0)
        for (const ChannelRun& run : groups.runs[static_cast<size_t>(tensor)])
          mixed[static_cast<size_t>(run.group)] = true;
  }
  return mixed;
}

// The image whose side can be another: the only input, of four dimensions.
const Tensor* image_of(const Graph& graph) {
  const Subgraph& main = graph.main();
  if (main.inputs.size() != 1) return nullptr;
  const Tensor& image = main.tensors[static_cast<size_t>(main.inputs[0])];
  const bool fits =
      image.shape.size() == 4 && std::min(image.shape[1], image.shape[2]) > kLeastSide;
  return fits ? &image : nullptr;
}

// Weights must stay as they are: columns of a dense layer behind a flattened map would go.
bool same_constants(const Graph& a, const Graph& b) {
  for (size_t t = 0; t < a.main().tensors.size(); ++t) {
    const Tensor& before = a.main().tensors[t];
    if (before.is_constant() && before.shape != b.main().tensors[t].shape) return false;
  }
  return true;
}

}  // namespace

std::vector<int32_t> even_widths(int32_t width, double least_share, int32_t levels) {
  const int32_t least = std::clamp(
      static_cast<int32_t>(std::ceil(static_cast<double>(width) * least_share)), int32_t{1}, width);
  const int32_t steps = std::min(std::max(levels, int32_t{1}), width - least + 1);
  std::vector<int32_t> widths;
  for (int32_t i = 0; i < steps; ++i)
    widths.push_back(steps == 1
                         ? width
                         : static_cast<int32_t>(std::lround(
                               least + static_cast<double>(width - least) * i / (steps - 1))));
  return widths;
}

Result<PruningSpace> PruningSpace::make(Graph graph, const PruningOptions& options) {
  if (graph.subgraphs.empty() || graph.main().operators.empty())
    return make_error(ErrorCode::kUnsupported, graph.description, "the model has no operators");
  if (!std::ranges::all_of(graph.main().operators, is_complete))
    return make_error(ErrorCode::kUnsupported, graph.description,
                      "an operator lacks an input that it needs");
  PruningSpace space;
  space.graph_ = std::move(graph);
  space.groups_ = channel_groups(space.graph_, {.free_multiplier = true});
  space.ranking_ = rank_units(space.graph_, space.groups_);
  space.add_width_genes(options);
  space.add_side_gene(options);
  if (options.drop_blocks) space.add_block_genes();
  if (!space.genes_.empty()) return space;
  std::string why = "it has no channels";
  for (const ChannelGroup& group : space.groups_.groups)
    if (group.fixed()) why = group.reason;
  return make_error(ErrorCode::kUnsupported, space.graph_.description,
                    fmt::format("nothing of it can be made smaller: no width is free ({}), no "
                                "other side of an image fits, and no residual block can go",
                                why));
}

std::string PruningSpace::name_of_group(int32_t group) const {
  const auto& tensors = groups_.groups[static_cast<size_t>(group)].tensors;
  for (size_t i = 0; i < graph_.main().operators.size(); ++i)
    for (const int32_t output : graph_.main().operators[i].outputs)
      if (std::ranges::binary_search(tensors, output))
        return fmt::format("width of operator {} ({})", i,
                           op_name(graph_.main().operators[i].kind));
  return fmt::format("width of channel group {}", group);
}

void PruningSpace::add_width_genes(const PruningOptions& options) {
  const std::vector<bool> mixed = mixed_groups(graph_, groups_);
  gene_of_group_.assign(groups_.groups.size(), -1);
  for (size_t g = 0; g < groups_.groups.size(); ++g) {
    const ChannelGroup& group = groups_.groups[g];
    if (group.fixed() || group.width < 2 || mixed[g]) continue;
    std::vector<int32_t> widths = even_widths(group.width, options.least_share, options.levels);
    if (widths.size() < 2) continue;
    gene_of_group_[g] = static_cast<int32_t>(genes_.size());
    genes_.push_back({PruningGene::Kind::kWidth, static_cast<int32_t>(g),
                      name_of_group(static_cast<int32_t>(g)), std::move(widths)});
  }
}

void PruningSpace::add_side_gene(const PruningOptions& options) {
  const Tensor* image = image_of(graph_);
  if (image == nullptr) return;
  const int64_t height = image->shape[1];
  const int64_t multiple = height >= 128 ? 16 : 4;
  std::set<int32_t> sides;
  for (const double share : options.side_shares) {
    const auto wanted = static_cast<int64_t>(
        std::llround(static_cast<double>(height) * share / static_cast<double>(multiple)));
    const int64_t side = wanted * multiple;
    if (side < kLeastSide || side >= height) continue;
    Graph trial = graph_;
    if (reshape(trial, static_cast<int32_t>(side), {}) && same_constants(graph_, trial))
      sides.insert(static_cast<int32_t>(side));
  }
  if (sides.empty()) return;
  PruningGene gene{PruningGene::Kind::kSide, -1, "side of the image",
                   std::vector<int32_t>(sides.begin(), sides.end())};
  gene.values.push_back(static_cast<int32_t>(height));
  genes_.push_back(std::move(gene));
}

void PruningSpace::add_block_genes() {
  for (Block& block : shape_keeping_blocks(graph_)) {
    const int32_t last = block.operators.back();
    if (graph_.main().operators[static_cast<size_t>(last)].kind != OpKind::kAdd) continue;
    genes_.push_back({PruningGene::Kind::kBlock,
                      static_cast<int32_t>(blocks_.size()),
                      fmt::format("block of operators {} to {}", block.operators.front(), last),
                      {0, 1}});
    blocks_.push_back(std::move(block));
  }
}

Genome PruningSpace::base() const {
  Genome genome;
  for (const PruningGene& gene : genes_) genome.push_back(gene.count() - 1);
  return genome;
}

Status PruningSpace::check(const Genome& genome) const {
  if (genome.size() != genes_.size())
    return make_error(ErrorCode::kInvalidArgument, "genome",
                      fmt::format("{} entries for {} genes", genome.size(), genes_.size()));
  for (size_t i = 0; i < genome.size(); ++i)
    if (genome[i] < 0 || genome[i] >= genes_[i].count())
      return make_error(ErrorCode::kInvalidArgument, fmt::format("gene {}", i),
                        fmt::format("{}; 0 to {} are allowed", genome[i], genes_[i].count() - 1));
  return {};
}

void PruningSpace::set_values(size_t gene, std::vector<int32_t> values) {
  genes_[gene].values = std::move(values);
}

ChannelSelection PruningSpace::selection(const Genome& genome) const {
  ChannelSelection selection(groups_.groups.size());
  for (size_t i = 0; i < genes_.size(); ++i) {
    if (genes_[i].kind != PruningGene::Kind::kWidth || genome[i] == genes_[i].count() - 1) continue;
    const std::vector<int32_t>& order = ranking(genes_[i].index);
    auto& units = selection[static_cast<size_t>(genes_[i].index)];
    units.assign(order.begin(), order.begin() + value(genome, i));
    std::ranges::sort(units);
  }
  return selection;
}

std::vector<int32_t> PruningSpace::dropped(const Genome& genome) const {
  std::vector<int32_t> blocks;
  for (size_t i = 0; i < genes_.size(); ++i)
    if (genes_[i].kind == PruningGene::Kind::kBlock && value(genome, i) == 0)
      blocks.push_back(genes_[i].index);
  return blocks;
}

int32_t PruningSpace::side(const Genome& genome) const {
  for (size_t i = 0; i < genes_.size(); ++i)
    if (genes_[i].kind == PruningGene::Kind::kSide && genome[i] != genes_[i].count() - 1)
      return value(genome, i);
  return 0;
}

Status PruningSpace::reshape(Graph& graph, int32_t side, std::span<const int32_t> dropped,
                             std::vector<int32_t>* old_tensor) const {
  if (side > 0) {
    const Graph before = graph;
    Tensor& image = graph.main().tensors[static_cast<size_t>(graph.main().inputs[0])];
    const int64_t height = image.shape[1];
    image.shape[2] = std::max<int64_t>(
        1, std::llround(static_cast<double>(image.shape[2] * side) / static_cast<double>(height)));
    image.shape[1] = side;
    for (const size_t d : {size_t{1}, size_t{2}})
      if (image.shape_signature.size() == 4 && image.shape_signature[d] >= 0)
        image.shape_signature[d] = image.shape[d];
    EDGESAGE_RETURN_IF_ERROR(refit_shapes(before, graph));
  }
  std::vector<int32_t> old;
  if (dropped.empty()) {
    for (size_t t = 0; t < graph.main().tensors.size(); ++t) old.push_back(static_cast<int32_t>(t));
  } else {
    std::vector<Block> gone;
    for (const int32_t block : dropped) gone.push_back(blocks_[static_cast<size_t>(block)]);
    old = drop_blocks(graph, gone);
  }
  if (old_tensor != nullptr) *old_tensor = std::move(old);
  return {};
}

Result<Graph> PruningSpace::build(const Genome& genome) const {
  EDGESAGE_RETURN_IF_ERROR(check(genome));
  if (genome == base()) return graph_;
  EDGESAGE_ASSIGN_OR_RETURN(Graph smaller, select_channels(graph_, groups_, selection(genome)));
  EDGESAGE_RETURN_IF_ERROR(reshape(smaller, side(genome), dropped(genome)));
  return smaller;
}

Result<Graph> PruningSpace::build_masked(const Genome& genome) const {
  EDGESAGE_RETURN_IF_ERROR(check(genome));
  EDGESAGE_ASSIGN_OR_RETURN(Graph masked, mask_channels(graph_, groups_, selection(genome)));
  EDGESAGE_RETURN_IF_ERROR(reshape(masked, side(genome), dropped(genome)));
  return masked;
}

std::string PruningSpace::describe(const Genome& genome) const {
  int widths = 0, narrower = 0;
  for (size_t i = 0; i < genes_.size(); ++i) {
    if (genes_[i].kind != PruningGene::Kind::kWidth) continue;
    ++widths;
    if (genome[i] != genes_[i].count() - 1) ++narrower;
  }
  std::string text = fmt::format("{} of {} widths", narrower, widths);
  if (const int32_t side_now = side(genome); side_now > 0)
    text += fmt::format(", side {}", side_now);
  if (const size_t gone = dropped(genome).size(); gone > 0)
    text += fmt::format(", {} block{} dropped", gone, gone == 1 ? "" : "s");
  return text;
}

}  // namespace edgesage
