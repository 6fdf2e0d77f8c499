// What of a network can be made smaller, as integer genes, and the networks that they stand for.
//
//   Result<PruningSpace> space = PruningSpace::make(graph, {});
//   Genome genome = space->base();                  // every gene at its last value: the original
//   genome[3] = 0;                                  // the narrowest width of the fourth gene
//   Result<Graph> smaller = space->build(genome);   // real weights, sliced
//
// A gene is the width of a channel group, the side of the image, or whether a residual block is
// there. Widths keep the units with the largest weights, so that a narrower network's units are
// some of a wider one's. Groups that an operator mixes without weights (SOFTMAX) are no genes: what
// is left would not be the original with channels masked.
//
// Immutable but for set_values; concurrent const use is safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "edgesage/result.h"
#include "src/graph/graph.h"
#include "src/transform/blocks.h"
#include "src/transform/channel_groups.h"
#include "src/transform/select_channels.h"

namespace edgesage {

// One entry a gene: an index of its values.
using Genome = std::vector<int32_t>;

struct PruningGene {
  enum class Kind : uint8_t { kWidth, kSide, kBlock };
  Kind kind = Kind::kWidth;
  int32_t index = -1;           // channel group, or block; -1 for the side
  std::string name;             // "width of operator 3 (CONV_2D)"
  std::vector<int32_t> values;  // ascending; the last is the original's. Of a block: 0, 1

  [[nodiscard]] int32_t count() const { return static_cast<int32_t>(values.size()); }
};

struct PruningOptions {
  double least_share = 0.25;  // of a group's channels
  int32_t levels = 16;        // widths of a group, at most, evenly spread
  // Sides of the image as shares of the original; those that the network cannot take are left out.
  std::vector<double> side_shares;
  bool drop_blocks = true;
};

class PruningSpace {
 public:
  // kUnsupported where nothing can be made smaller, with the reasons.
  [[nodiscard]] static Result<PruningSpace> make(Graph graph, const PruningOptions& options);

  [[nodiscard]] const Graph& graph() const { return graph_; }
  [[nodiscard]] const ChannelGroups& groups() const { return groups_; }
  [[nodiscard]] const std::vector<Block>& blocks() const { return blocks_; }
  [[nodiscard]] const std::vector<PruningGene>& genes() const { return genes_; }
  // Units of a group, the most important first.
  [[nodiscard]] const std::vector<int32_t>& ranking(int32_t group) const {
    return ranking_[static_cast<size_t>(group)];
  }
  // Gene of a channel group; -1: its width is fixed.
  [[nodiscard]] int32_t gene_of_group(int32_t group) const {
    return gene_of_group_[static_cast<size_t>(group)];
  }
  [[nodiscard]] Genome base() const;
  [[nodiscard]] int32_t value(const Genome& genome, size_t gene) const {
    return genes_[gene].values[static_cast<size_t>(genome[gene])];
  }
  // kInvalidArgument for another number of genes, or an index beyond a gene's values.
  [[nodiscard]] Status check(const Genome& genome) const;

  // Other widths for a gene: ascending, the last one the original's, each at least 1.
  void set_values(size_t gene, std::vector<int32_t> values);

  // The network with its weights. The base genome gives the original graph itself. Cost: a copy of
  // the constants that change.
  [[nodiscard]] Result<Graph> build(const Genome& genome) const;
  // The same sides and blocks, but channels that build() removes are kept and count for nothing:
  // the weights by which they are read are zero. Its outputs are those of build(), exactly where
  // arithmetic is on integers.
  [[nodiscard]] Result<Graph> build_masked(const Genome& genome) const;
  // Units that are kept, by group; empty: all.
  [[nodiscard]] ChannelSelection selection(const Genome& genome) const;
  // Which blocks are dropped, ascending.
  [[nodiscard]] std::vector<int32_t> dropped(const Genome& genome) const;
  // Of the image; 0: as it is.
  [[nodiscard]] int32_t side(const Genome& genome) const;
  // "12 of 53 widths, side 160, 2 blocks dropped"
  [[nodiscard]] std::string describe(const Genome& genome) const;

  // Side and blocks applied to a graph with the tensors and operators of graph(), weights or none.
  // `old_tensor`, where given, becomes for each tensor that is left its number before.
  [[nodiscard]] Status reshape(Graph& graph, int32_t side, std::span<const int32_t> dropped,
                               std::vector<int32_t>* old_tensor = nullptr) const;

 private:
  void add_width_genes(const PruningOptions& options);
  void add_side_gene(const PruningOptions& options);
  void add_block_genes();
  [[nodiscard]] std::string name_of_group(int32_t group) const;

  Graph graph_;
  ChannelGroups groups_;
  std::vector<Block> blocks_;
  std::vector<PruningGene> genes_;
  std::vector<int32_t> gene_of_group_;
  std::vector<std::vector<int32_t>> ranking_;  // by group
};

// At most `levels` widths from `least_share` of `width` to `width`, evenly spread.
[[nodiscard]] std::vector<int32_t> even_widths(int32_t width, double least_share, int32_t levels);

}  // namespace edgesage
