// A NAS-Bench-201 cell as the graph that BRP-NAS learns from (Dudziak et al., NeurIPS 2020, and the
// released predictors of LatBench's authors).
//
// Nine nodes: a global one, the input, one for each edge of the code, the output. Nodes are
// operations: an edge leads from an operation to those that read its result, `skip_connect`
// connects what is around it, `none` disconnects. A node off every path from input to output keeps
// its place without edges and without a feature. A node sums the rows of those it leads to and its
// own; the global node sums all. Sums are not divided by the number of terms.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "src/kernels/segment.h"
#include "src/spaces/nas_bench_201.h"

namespace edgesage {

struct BrpNasGraph {
  static constexpr int kNodes = 9;
  static constexpr int kGlobal = 0, kInput = 1, kOutput = 8;  // edge e of the code: node 2 + e
  // 1x1 convolution, 3x3 convolution, average pool, input, output, global.
  static constexpr int kFeatures = 6;

  std::array<int32_t, kNodes> feature{};    // which of the features is one; -1: none
  std::array<uint16_t, kNodes> leads_to{};  // bit j: to node j; without itself
};

[[nodiscard]] BrpNasGraph brp_nas_graph(const NasBench201Cell& cell);

// Lists of rows, as the kernels read them.
struct RowLists {
  std::vector<int32_t> offset{0};
  std::vector<int32_t> index;

  void append(std::span<const int32_t> rows);
  [[nodiscard]] size_t size() const { return offset.size() - 1; }
  [[nodiscard]] kernels::Segments segments() const { return {offset.data(), index.data()}; }
  // For each of `rows` rows, in which lists it is.
  [[nodiscard]] RowLists transposed(size_t rows) const;
};

// Many graphs as one, with one row for all nodes that compute the same: those with equal features
// that lead to equal nodes. Ten random cells have 90 nodes and about 40 different ones.
struct BrpNasBatch {
  std::vector<int32_t> feature;      // of each row
  RowLists sums;                     // of each row: the rows that it sums
  RowLists global_sums;              // of each graph: the rows that its global node sums
  RowLists in_sums, in_global_sums;  // transposed

  [[nodiscard]] int64_t rows() const { return static_cast<int64_t>(feature.size()); }
  [[nodiscard]] int64_t graphs() const { return static_cast<int64_t>(global_sums.size()); }
};

[[nodiscard]] BrpNasBatch brp_nas_batch(std::span<const NasBench201Cell> cells);

}  // namespace edgesage
