// Training: AdamW with a one-cycle learning rate, gradient clipping and averaged weights.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "edgesage/result.h"
#include "src/base/ranks.h"
#include "src/nn/batch.h"
#include "src/nn/graph_source.h"
#include "src/nn/loss.h"
#include "src/nn/model.h"
#include "src/nn/train_state.h"

namespace edgesage::nn {

struct TrainOptions {
  int32_t epochs = 60;
  int32_t batch_graphs = 32;  // of a step; its loss is their (weighted) mean
  // Not 0: steps of as many graphs as have no more nodes than this (see batch_plan.h), in place of
  // batch_graphs. A graph's loss is then divided by the weight that a step has in the mean, so that
  // it counts the same whatever it is grouped with.
  int64_t batch_nodes = 0;
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
  double seconds = 0;                 // of this epoch, since a resumed run began
  int64_t nodes = 0;                  // trained on in these seconds
  std::span<const float> parameters;  // averaged, as the result would be now; for the call only
};

// After a step.
struct StepReport {
  int32_t epoch = 0;  // counts from 1
  int64_t done = 0;   // graphs of the whole run, over all epochs, those before a resumption too
  int64_t total = 0;
  double loss = 0;                           // mean over the epoch so far
  const std::vector<double>& log_error_sum;  // one a quantity: over the epoch so far, to be
  const std::vector<double>& weight_sum;     // divided by this
  double seconds = 0;                        // since train was called
  int64_t nodes = 0;                         // trained on in these seconds
};

// All may be empty.
struct TrainHooks {
  std::function<void(const EpochReport&)> on_epoch;
  std::function<void(const StepReport&)> on_step;
  // When it becomes true, the running step ends and the weights so far are kept.
  const std::atomic<bool>* stop = nullptr;
  // Called between two steps: before the first, then every save_seconds, and when stopped. An error
  // ends the training.
  std::function<Status(const TrainState&)> save;
  double save_seconds = 30;
  // Goes on from here: the result is that of the run which saved it, had it not been interrupted.
  // Model, data and options must be the same.
  const TrainState* resume = nullptr;
  // Several processes train one model: each calls train with the same arguments and gets the same
  // bytes as one alone would. `stop` and `save` count in the first process only.
  Ranks* ranks = nullptr;
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

// The same from any source: memory holds a mini-batch at a time. Each graph is read once more than
// there are epochs, to be checked.
[[nodiscard]] Result<TrainReport> train(Model& model, const GraphSource& source,
                                        std::span<const int32_t> graphs,
                                        const TrainOptions& options, const TrainHooks& hooks);

// The learning rate at a position in the whole run: above 0 (start) to 1 (last step).
[[nodiscard]] double one_cycle_rate(const TrainOptions& options, double position);
// Of a step, counting from 0.
[[nodiscard]] double one_cycle_rate(const TrainOptions& options, int64_t step, int64_t steps);

// Loss and gradient (as many as parameters) of all graphs of a batch, without dropout; for tests
// and diagnostics. The batch must be valid.
double loss_and_gradient(const Model& model, const Batch& batch, const LossOptions& options,
                         std::span<float> gradient);

}  // namespace edgesage::nn
