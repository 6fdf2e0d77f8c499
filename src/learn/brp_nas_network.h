// The network of BRP-NAS: four graph convolutions, each x = dropout(relu(norm(A x W + b))) with
// layer normalisation, then one number from the row of the global node by a linear layer.
//
// Forward and backward by hand, float32, deterministic. The last layer is computed for global nodes
// only, since nothing else of it is read.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "src/base/rng.h"
#include "src/kernels/gemm.h"
#include "src/kernels/layer_norm.h"
#include "src/learn/brp_nas_graph.h"

namespace edgesage {

// Not thread-safe: it holds what the last forward pass computed.
class BrpNasNetwork {
 public:
  static constexpr size_t kLayers = 4;

  // Where a layer's numbers begin in parameters(): weights (inputs x width, by rows), bias, gain
  // and shift of the normalisation (width each).
  struct Layer {
    int64_t inputs = 0, weight = 0, bias = 0, gain = 0, shift = 0;
  };

  // Weights and biases uniform within 1 / sqrt(width), gains 1, shifts 0.
  // `kinds`: columns of the one-hot features.
  BrpNasNetwork(int64_t width, Rng& rng, int64_t kinds = BrpNasGraph::kFeatures);

  // Layers in order, then the linear layer's width weights and its bias.
  [[nodiscard]] std::span<float> parameters() { return parameters_; }
  [[nodiscard]] const Layer& layer(size_t index) const { return layers_[index]; }
  [[nodiscard]] int64_t width() const { return width_; }
  [[nodiscard]] int64_t linear() const { return linear_; }

  // Writes one answer a graph. Each number of a hidden row is zeroed with probability `dropout` and
  // the others scaled up; with 0, `rng` is not used. Nodes that share a row share what is zeroed.
  void forward(const BrpNasBatch& batch, double dropout, Rng& rng, std::span<float> answers);

  // After forward() on the same batch: from d loss / d answer, sets `gradient` (as parameters()).
  void backward(const BrpNasBatch& batch, std::span<const float> answer_gradient,
                std::span<float> gradient);

 private:
  // Of one layer in the last forward pass.
  struct State {
    kernels::AlignedFloats summed, normal, inverse_deviation, factor, output;
    int64_t rows = 0;
  };
  [[nodiscard]] kernels::ConstMatrix weights(const Layer& layer) const;

  int64_t width_, kinds_;
  int64_t linear_ = 0;
  bool dropped_ = false;
  std::array<Layer, kLayers> layers_;
  kernels::AlignedFloats parameters_;
  std::array<State, kLayers> states_;
  kernels::AlignedFloats input_, d_output_, d_summed_;
  kernels::PackedMatrix packed_;
};

}  // namespace edgesage
