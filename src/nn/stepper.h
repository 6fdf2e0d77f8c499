// Weights in training: gradients of mini-batches, and the optimiser's state.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "src/base/rng.h"
#include "src/base/worker_pool.h"
#include "src/kernels/matrix.h"
#include "src/nn/graph_source.h"
#include "src/nn/loss.h"
#include "src/nn/model.h"
#include "src/nn/train_state.h"
#include "src/nn/trainer.h"

namespace edgesage::nn {

// What one part of a mini-batch needs, from drawing its graphs to its gradient.
struct Part {
  Batch batch;
  LabelWeights weights;
  Workspace workspace;
  BackwardBuffers buffers;
  kernels::AlignedFloats gradient;
  LossSums sums;
  Dropout dropout;
};

// Where processes share the work, each has some of a mini-batch's parts; what comes of them is
// exchanged, and added in the order of the parts by everybody.
//
// Starts from a model's weights; model, source and options must outlive it. Allocates nothing in a
// step once the buffers have grown. Not thread-safe.
class Stepper {
 public:
  Stepper(const Model& model, const GraphSource& source, const TrainOptions& options,
          Ranks* ranks = nullptr);

  // What losses are divided by in every step; without it, the weights of the mini-batch itself.
  void set_divisor(LabelWeights weights) { divisor_ = std::move(weights); }

  // One step on the graphs of a mini-batch, on up to options.threads threads; false if its gradient
  // was not finite, which leaves the weights as they were.
  bool step(std::span<const int32_t> graphs, double learning_rate);

  // Of the last step.
  [[nodiscard]] const LossSums& sums() const { return sums_; }
  [[nodiscard]] const LabelWeights& weights() const { return weights_; }

  // The averaged weights, or the current ones where no average is kept.
  [[nodiscard]] std::span<const float> result() const;

  // The weights and what belongs to them; the state's other fields are the trainer's.
  void save(TrainState& state) const;
  // The state must fit the model; its steps tell how many random numbers have been drawn.
  void restore(const TrainState& state);

 private:
  // A mini-batch is cut into this many parts, however many threads there are, and gradients are
  // added in their order: so threads do not change a bit of the result.
  static constexpr size_t kParts = 4;
  // So many parameters are reduced and updated at a time. Fixed, as the length of the gradient is a
  // sum over these chunks.
  static constexpr int64_t kChunk = 8192;

  struct Chunk {
    int64_t first, count;
    bool decayed;
  };

  void cut(std::span<const int32_t> graphs);
  [[nodiscard]] int owner(size_t part) const;
  [[nodiscard]] bool is_own(size_t part) const;
  void share_weights();
  void share_gradients();
  void draw(size_t index);
  void add_weights();
  void run(size_t index);
  void reduce(size_t chunk);
  bool update(double learning_rate);

  const ModelConfig& config_;
  const Layout& layout_;
  const GraphSource& source_;
  const TrainOptions& options_;
  Ranks* ranks_;  // or null
  WorkerPool pool_;
  kernels::AlignedFloats parameters_, average_, first_moment_, second_moment_;
  PackedWeights packed_, transposed_;
  LabelWeights weights_, divisor_;
  LossSums sums_;
  std::array<Part, kParts> parts_;
  std::array<std::span<const int32_t>, kParts> graphs_of_part_;
  std::vector<Chunk> chunks_;
  std::vector<double> squares_;  // chunks: sum of the squared gradient
  int64_t updates_ = 0;
  Rng dropout_seeds_;
};

}  // namespace edgesage::nn
