// Training: AdamW with a one-cycle learning rate, gradient clipping and averaged weights.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "edgesage/result.h"
#include "src/nn/batch.h"
#include "src/nn/loss.h"
#include "src/nn/model.h"

namespace edgesage::nn {

struct TrainOptions {
  int32_t epochs = 60;
  int32_t batch_graphs = 32;
  double learning_rate = 1e-2;  // at its peak
  double warm_up = 0.1;         // share of the steps that the rate rises; then it falls as a cosine
  double weight_decay = 1e-2;   // of matrices only
  double clip_norm = 1.0;       // gradients are scaled down to this length; 0 = off
  double average_decay = 0.999;  // of the moving average of the weights; 0 = off
  LossOptions loss{};
  int threads = 0;    // 0: all; does not change the result
  uint64_t seed = 1;  // of the order of graphs and of dropout
};

struct EpochReport {
  int32_t epoch = 0;  // counts from 1
  int32_t epochs = 0;
  double loss = 0;  // mean over the epoch's steps
  std::vector<double>
      log_error;  // one a quantity: mean |log(total / label)| in training; NaN = no label
  double learning_rate = 0;           // of the last step
  double seconds = 0;                 // of this epoch
  int64_t nodes = 0;                  // in this epoch
  std::span<const float> parameters;  // averaged, as the result would be now; for the call only
};

struct TrainReport {
  int32_t epochs = 0;  // completed
  int64_t steps = 0;
  int64_t skipped_steps = 0;  // gradient not finite; the weights stayed as they were
  bool stopped = false;
  double loss = 0;  // of the last completed epoch
};

// Trains on the graphs of `data` that `graphs` names (a split needs no copy) and leaves the
// averaged weights in `model`, which is where training starts. `on_epoch` may be empty. When
// `*stop` becomes true, the running step ends and the weights so far are kept. The same model,
// data, options and instruction set give the same bytes, whatever the number of threads.
// kInvalidArgument for bad data or options.
[[nodiscard]] Result<TrainReport> train(
    Model& model, const Batch& data, std::span<const int32_t> graphs, const TrainOptions& options,
    const std::function<void(const EpochReport&)>& on_epoch = {},
    const std::atomic<bool>* stop = nullptr);

// The learning rate of a step, counting from 0.
[[nodiscard]] double one_cycle_rate(const TrainOptions& options, int64_t step, int64_t steps);

// Loss and gradient (as many as parameters) of all graphs of a batch, without dropout; for tests
// and diagnostics. The batch must be valid.
double loss_and_gradient(const Model& model, const Batch& batch, const LossOptions& options,
                         std::span<float> gradient);

}  // namespace edgesage::nn
