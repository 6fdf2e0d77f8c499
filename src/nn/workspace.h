// What a forward pass keeps: results for the caller, activations for the backward pass.
//
// One workspace serves one call at a time; it grows with the largest batch seen and is then reused
// without allocating. A pass for prediction keeps no more than it needs: the node vectors of two
// layers, and the rest for a block of nodes at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "src/kernels/gemm_bf16.h"
#include "src/kernels/matrix.h"

namespace edgesage::nn {

// Results in the units of the quantities. For every graph and quantity
//   total = sum of op_costs + overhead = sum of node_costs + overhead   (to rounding of doubles).
// For a maximum, a node's cost is its share of the smooth maximum (its derivative in the logarithm
// of the node's level), so that shares add up as well; node_levels has the level itself.
struct Outputs {
  std::vector<double> totals;       // graphs x quantities
  std::vector<double> overhead;     // graphs x quantities, never negative
  std::vector<double> log_factor;   // graphs x quantities: the correction on operators and overhead
  std::vector<double> node_costs;   // nodes x quantities
  std::vector<double> node_levels;  // nodes x columns: corrected cost of each prior column
  std::vector<double> op_costs;     // operators x quantities
  // graphs x embedding_width: mean, then maximum, of the nodes' last layer; for range checks.
  std::vector<float> embedding;
  int32_t embedding_width = 0;
};

// Filled by a pass that is followed by a backward pass, and only there.
struct LayerBuffers {
  kernels::AlignedFloats input;              // nodes x (hidden, producers' mean, consumers' mean)
  kernels::AlignedFloats normal;             // nodes x hidden, before gain
  kernels::AlignedFloats inverse_deviation;  // nodes
  kernels::AlignedFloats kept;               // nodes x hidden: dropout factors, training only
};

struct Workspace {
  Outputs outputs;

  LayerBuffers encoder;  // input: nodes x (features, embedding)
  std::vector<LayerBuffers> layers;
  kernels::AlignedFloats other;         // nodes x hidden: the layer before, in prediction
  kernels::AlignedFloats block_input;   // as LayerBuffers::input and normal, for a block of nodes
  kernels::AlignedFloats block_normal;  // in prediction
  kernels::AlignedPairs block_rounded;  // block_input again, where weights are rounded
  kernels::AlignedFloats last;          // nodes x hidden
  kernels::AlignedFloats node_hidden;   // nodes (of a block, in prediction) x hidden / 2
  kernels::AlignedFloats node_out;      // nodes x columns
  kernels::AlignedFloats pooled;        // graphs x pooled
  std::vector<int32_t> largest;         // graphs x hidden: node of the maximum, in the batch
  kernels::AlignedFloats graph_hidden;  // graphs x hidden
  kernels::AlignedFloats graph_out;     // graphs x 2 quantities
  std::vector<double> powers;           // nodes: of the costs of a graph's, for a maximum
  std::vector<double> column_shares;    // nodes x columns: what each column adds to the total
};

}  // namespace edgesage::nn
