// A predictor from labelled networks: normaliser, ensemble of GraphSAGE networks, range, calibrated
// intervals.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "edgesage/result.h"
#include "src/learn/dataset.h"
#include "src/predict/predictor_file.h"

namespace edgesage {

struct TrainingOptions {
  int hidden = 96;
  int embedding = 16;
  int layers = 3;
  int members = 4;  // networks of the ensemble
  int epochs = 80;
  int batch_graphs = 32;
  double learning_rate = 6e-3;
  double dropout = 0.0;
  double weight_decay = 1e-2;
  double node_weight = 0.5;  // of the per-operator loss against the loss on totals
  uint64_t seed = 1;
  int threads = 0;
  SplitOptions split;
  size_t max_train = 0;  // at most so many training networks, for learning curves; 0: all
};

// Who gave the labels; goes into the predictor file.
struct LabelSource {
  std::string device, runtime, runtime_version, statistic;
  std::string host_fingerprint, host_description;
  int threads = 0;
};

struct TrainingProgress {
  int member = 0, members = 0;
  int epoch = 0, epochs = 0;
  double loss = 0;
  std::vector<double> log_error;  // in training, a quantity
  double nodes_per_second = 0;
  double seconds_left = 0;
};

// Trains on the split's training part, calibrates intervals and the range's spread on its
// calibration part, and never looks at the test part. The same data and options give the same
// bytes, whatever the number of threads. kInvalidArgument where there are too few networks (at
// least 20 to train on and 10 to calibrate). `*stop` ends it early with kInvalidArgument.
[[nodiscard]] Result<PredictorData> train_predictor(
    const Dataset& dataset, const LabelSource& source, const TrainingOptions& options,
    const std::function<void(const TrainingProgress&)>& progress = {},
    const std::atomic<bool>* stop = nullptr);

}  // namespace edgesage
