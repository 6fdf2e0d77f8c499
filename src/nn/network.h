// The passes of the network, for model and trainer. A batch given here has been validated.
#pragma once

#include <cstdint>
#include <vector>

#include "src/kernels/gemm.h"
#include "src/kernels/gemm_bf16.h"
#include "src/nn/batch.h"
#include "src/nn/config.h"
#include "src/nn/layout.h"
#include "src/nn/workspace.h"

namespace edgesage::nn {

// Matrices of the parameters in the form that products read.
struct PackedWeights {
  kernels::PackedMatrix encoder;
  std::vector<kernels::PackedMatrix> layers;
  kernels::PackedMatrix node_hidden, node_out, graph_hidden, graph_out;
};
void pack(const Layout& layout, const float* parameters, PackedWeights& packed);
// Transposed, for the backward pass; of the encoder only the rows that meet the embedding.
void pack_transposed(const ModelConfig& config, const Layout& layout, const float* parameters,
                     PackedWeights& packed);

// The large ones of them rounded to bfloat16, for prediction (see gemm_bf16.h).
struct RoundedWeights {
  kernels::PackedBf16 encoder;
  std::vector<kernels::PackedBf16> layers;
  kernels::PackedBf16 node_hidden;
};
void pack(const Layout& layout, const float* parameters, RoundedWeights& rounded);

struct Network {
  const ModelConfig& config;
  const Layout& layout;
  const float* parameters;
  const PackedWeights& packed;
  const RoundedWeights* rounded = nullptr;  // used by infer if there

  [[nodiscard]] const float* at(size_t slice) const { return parameters + layout[slice].offset; }
};

struct Dropout {
  double rate = 0;  // 0 = off, for prediction
  uint64_t seed = 0;
};

// Fills the workspace with all that backward needs, then its Outputs.
void forward(const Network& network, const Batch& batch, const Dropout& dropout,
             Workspace& workspace);

// The same outputs for prediction: without dropout, in less memory and time; bit for bit, unless
// the network has rounded weights.
void infer(const Network& network, const Batch& batch, Workspace& workspace);

// The last part of both: heads' outputs to costs, totals and shares.
void read_out(const ModelConfig& config, const Batch& batch, Workspace& workspace);

struct BackwardBuffers {
  kernels::AlignedFloats d_node_out;   // nodes x columns, filled by the loss
  kernels::AlignedFloats d_graph_out;  // graphs x 2 quantities, filled by the loss
  std::vector<double> d_op;            // operators: of the quantity in hand, while the loss runs
  std::vector<int32_t> op_peak;        // operators: node with the largest level, or -1; likewise
  kernels::AlignedFloats d_last;       // nodes x hidden
  kernels::AlignedFloats d_normed;     // nodes x hidden
  kernels::AlignedFloats d_input;      // nodes x 3 hidden, or x embedding
  kernels::AlignedFloats d_hidden;     // of a head's hidden layer
  kernels::AlignedFloats d_pooled;     // graphs x pooled
  kernels::PackedMatrix packed;        // right-hand side of weight gradients
};

// Adds to `gradient` (as many as parameters) what follows from buffers.d_node_out and d_graph_out.
// `workspace` is as forward left it.
void backward(const Network& network, const PackedWeights& transposed, const Batch& batch,
              const Dropout& dropout, Workspace& workspace, BackwardBuffers& buffers,
              float* gradient);

// Bounds of the node head's correction and of the graph head's factor, in logarithms; reached
// smoothly (bound * tanh(x / bound)), so that no gradient dies.
inline constexpr double kNodeBound = 6.0;
inline constexpr double kFactorBound = 1.5;

}  // namespace edgesage::nn
