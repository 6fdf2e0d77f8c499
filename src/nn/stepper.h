// Weights in training: gradients of mini-batches, and the optimiser's state.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "src/base/rng.h"
#include "src/kernels/matrix.h"
#include "src/nn/loss.h"
#include "src/nn/model.h"
#include "src/nn/trainer.h"

namespace edgesage::nn {

// What one part of a mini-batch needs, from drawing its graphs to its gradient.
struct Part {
  Batch batch;
  Workspace workspace;
  BackwardBuffers buffers;
  kernels::AlignedFloats gradient;
  LossSums sums;
  Dropout dropout;
};

// Starts from a model's weights; model, data and options must outlive it. Allocates nothing in a
// step once the buffers have grown (threads apart). Not thread-safe.
class Stepper {
 public:
  Stepper(const Model& model, const Batch& data, const TrainOptions& options);

  // One step on the graphs of a mini-batch, on up to options.threads threads; false if its gradient
  // was not finite, which leaves the weights as they were.
  bool step(std::span<const int32_t> graphs, double learning_rate);

  // Of the last step.
  [[nodiscard]] const LossSums& sums() const { return sums_; }
  [[nodiscard]] const LabelWeights& weights() const { return weights_; }

  // The averaged weights, or the current ones where no average is kept.
  [[nodiscard]] std::span<const float> result() const;

 private:
  // A mini-batch is cut into this many parts, however many threads there are, and gradients are
  // added in their order: so threads do not change a bit of the result.
  static constexpr size_t kParts = 4;

  void cut(std::span<const int32_t> graphs);
  void run(size_t index);
  bool update(double learning_rate);

  const ModelConfig& config_;
  const Layout& layout_;
  const Batch& data_;
  const TrainOptions& options_;
  kernels::AlignedFloats parameters_, average_, first_moment_, second_moment_;
  PackedWeights packed_, transposed_;
  LabelWeights weights_;
  LossSums sums_;
  std::array<Part, kParts> parts_;
  std::array<std::span<const int32_t>, kParts> graphs_of_part_;
  int64_t updates_ = 0;
  Rng dropout_seeds_;
};

}  // namespace edgesage::nn
