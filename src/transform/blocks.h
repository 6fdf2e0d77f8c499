// Blocks of a graph that keep the shape of their input, so that they can be left out or repeated.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edgesage/result.h"
#include "src/graph/graph.h"

namespace edgesage {

// Operators between a tensor and another of the same shape, type and quantised form, that read no
// activation from elsewhere: what a residual addition adds to its shortcut, the addition included,
// or a depthwise convolution with the pointwise one behind it.
struct Block {
  int32_t input = kNoTensor;
  int32_t output = kNoTensor;
  std::vector<int32_t> operators;  // ascending
};

// Of the main subgraph, in the order of their last operators. Blocks whose readers insist on the
// scale of what they read (pooling, concatenation, ...) are none, and neither are those whose
// output leaves the graph.
[[nodiscard]] std::vector<Block> shape_keeping_blocks(const Graph& graph);

// The block's readers read its input instead. The block is gone.
void drop_block(Graph& graph, const Block& block);

// Several blocks of one graph at once, each by what shape_keeping_blocks says of it; biases keep
// their real values. For each tensor that is left its number before.
std::vector<int32_t> drop_blocks(Graph& graph, std::span<const Block> blocks);

// The block once more behind itself, with the same constants.
void repeat_block(Graph& graph, const Block& block);

}  // namespace edgesage
