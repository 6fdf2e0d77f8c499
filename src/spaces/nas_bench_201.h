// NAS-Bench-201 (Dong and Yang, ICLR 2020): classifiers made of one repeated cell. A cell has four
// nodes; its code names the operation of each of the six edges:
//
//   |nor_conv_3x3~0|+|none~0|skip_connect~1|+|avg_pool_3x3~0|none~1|nor_conv_1x1~2|
//
// `|operation~i|` is the edge from node i, `+` ends a node, and a node is the sum of its edges.
// `nor_conv_kxk` is ReLU-Conv-BN, `skip_connect` the identity, `avg_pool_3x3` has stride 1, `none`
// is nothing. The network: a 3x3 convolution to 16 channels, then three stages of five cells with
// 16, 32 and 64 channels; before the later ones a residual block halves the map (two ReLU-Conv3x3-
// BN, beside them a 2x2 average pool and a 1x1 convolution); BN, ReLU, global average, 10 classes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "edgesage/result.h"
#include "src/base/rng.h"
#include "src/graph/builder.h"

namespace edgesage {

enum class CellOperation : uint8_t { kNone, kSkip, kConv1x1, kConv3x3, kAveragePool3x3 };

struct NasBench201Cell {
  // Edges 0->1; 0->2, 1->2; 0->3, 1->3, 2->3: the order of the code.
  std::array<CellOperation, 6> operations{};

  // kInvalidArgument with what is allowed.
  [[nodiscard]] static Result<NasBench201Cell> parse(std::string_view code);
  [[nodiscard]] std::string code() const;
  // Without the edges that lie on no path from node 0 to node 3: 9,445 cells of the 15,625 are
  // different then (341 have no edge left).
  [[nodiscard]] NasBench201Cell pruned() const;
  // The output does not depend on the input, so the network is a constant.
  [[nodiscard]] bool constant() const;
  // Equal for cells that the benchmark's authors take as isomorphic (section 2.1: the expression of
  // the output, sums sorted, zeros kept): 6,466 classes. Cells of a class compute the same, in
  // another order.
  [[nodiscard]] std::string isomorphism_class() const;
  bool operator==(const NasBench201Cell&) const = default;
};

// All 15,625 codes are equally likely.
[[nodiscard]] NasBench201Cell draw_nas_bench_201(Rng& rng);

struct NasBench201Options {
  int64_t resolution = 32;  // height and width of the image; a multiple of 4
  // Operators without weights that read the same tensors are one (a ReLU in front of two
  // convolutions, two pools of one node), as after the common-subexpression elimination of
  // TensorFlow's and LiteRT's converters. False: one for each edge, as the cell is written.
  bool merge_common = true;
};

// Appends the network; returns its 10 outputs. Batch normalisation is part of the convolution
// before it; the last one, behind a sum, is MUL and ADD. A ReLU is fused into the convolution or
// sum that makes its input where nothing else reads that, else it is an operator. Edges outside
// `pruned()` are left out. The operators of a node's edges come in the order of the code, then its
// sums: ((a + b) + c). kNoTensor where the cell is constant.
GraphBuilder::Id emit_nas_bench_201(GraphBuilder& net, const NasBench201Cell& cell,
                                    const NasBench201Options& options);

}  // namespace edgesage
