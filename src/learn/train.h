// A predictor from labelled networks: normaliser, ensemble of GraphSAGE networks, range, calibrated
// intervals.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "edgesage/result.h"
#include "src/base/ranks.h"
#include "src/learn/dataset.h"
#include "src/learn/feature_file.h"
#include "src/predict/predictor_file.h"

namespace edgesage {

struct TrainingOptions {
  int hidden = 96;
  int embedding = 16;
  int layers = 3;
  int members = 4;  // networks of the ensemble
  int epochs = 0;   // passes over the training networks; 0: epochs_for their number
  int batch_graphs = 32;
  int64_t batch_nodes = 0;  // not 0: steps of so many nodes, see nn::TrainOptions
  double learning_rate = 6e-3;
  double dropout = 0.0;
  double weight_decay = 1e-2;
  double node_weight = 0.5;  // of the per-operator loss against the loss on totals
  double delta = 0.05;       // of the Huber loss on the logarithm of totals
  // How far small spaces are drawn more often: 0, each network as often as any other; 1, each space
  // as often as the largest one. A space of n networks counts as n^(1 - balance) m^balance, where m
  // are the largest space's. An epoch grows by that much; nothing is left out.
  double balance = 0;
  uint64_t seed = 1;
  int threads = 0;
  SplitOptions split;
  size_t max_train = 0;  // at most so many training networks, for learning curves; 0: all
};

// A predictor file's data with the source of its labels and what networks are lowered for; all else
// is the training's to fill.
[[nodiscard]] PredictorData described_by(const LabelSource& source, const std::string& target);

struct TrainingProgress {
  int member = 0, members = 0;
  int epoch = 0, epochs = 0;
  double loss = 0;                // of the epoch so far
  std::vector<double> log_error;  // the same, on the networks trained on, a quantity
  double nodes_per_second = 0;    // of the last second or two
  double seconds_left = 0;
  int64_t done = 0, total = 0;  // networks, over all epochs and members
};

// After a member's epoch. Errors are means of |log(predicted / label)|, one a quantity; NaN: no
// label.
struct EpochErrors {
  int member = 0, epoch = 0;  // count from 1
  double loss = 0;            // of the epoch's steps
  std::vector<double> train_error;
  // With the averaged weights, on networks of the calibration part.
  double validation_loss = 0;
  std::vector<double> validation_error;
};

// How a training runs, without bearing on its result.
struct TrainingRun {
  std::function<void(const TrainingProgress&)> progress = {};  // after every step
  // After every epoch; empty: validation errors, which cost as much as training on so many networks
  // at most, are not computed.
  std::function<void(const EpochErrors&)> on_epoch = {};
  size_t most_validated = 500;
  const std::atomic<bool>* stop = nullptr;  // ends it after the step at hand
  // Where the run is kept, so that it can go on when it was killed: every so many seconds, and when
  // stopped. What is there already is gone on from. Empty: nowhere. The caller removes it.
  std::filesystem::path checkpoint = {};
  double checkpoint_seconds = 30;
  // Several processes train together (nn::TrainHooks::ranks): all make the same call, the first one
  // keeps the checkpoint. Null: this process alone.
  Ranks* ranks = nullptr;
};

// Networks of a feature file that are trained on, and that intervals are fitted to; ascending.
struct TrainingSets {
  std::vector<uint32_t> train, calibration;
};
// By graph hash (part_of). kInvalidArgument where there are too few.
[[nodiscard]] Result<TrainingSets> training_sets(const FeatureFile& file,
                                                 const TrainingOptions& options,
                                                 const std::string& where);

// 80 of few networks and 12 of many, between them half a million networks shown: more no longer
// pays in accuracy what it costs in time.
[[nodiscard]] int epochs_for(size_t networks);

// Positions in `train`, each at least once and those of small spaces repeatedly, as
// TrainingOptions::balance says. Deterministic.
[[nodiscard]] std::vector<int32_t> balanced_draw(const FeatureFile& file,
                                                 std::span<const uint32_t> train, double balance);

// Trains on the split's training part, calibrates intervals and the range's spread on its
// calibration part, and never looks at the test part. Memory does not grow with the file, but for
// about 50 bytes a network. The same data and options give the same bytes, whatever the number of
// threads and however often it was interrupted. kInvalidArgument where there are too few networks
// (at least 20 to train on and 10 to calibrate), and when stopped; kBadStore for a checkpoint that
// is damaged or of other data or options.
[[nodiscard]] Result<PredictorData> train_predictor(const FeatureFile& file,
                                                    const LabelSource& source,
                                                    const TrainingOptions& options,
                                                    const TrainingRun& run = {});
// On networks that the caller chose, at least 20 to train on and 10 to calibrate. Without a
// checkpoint that another choice could go on from: run.checkpoint must be this choice's own.
[[nodiscard]] Result<PredictorData> train_predictor_on(const FeatureFile& file,
                                                       const TrainingSets& sets,
                                                       const LabelSource& source,
                                                       const TrainingOptions& options,
                                                       const TrainingRun& run = {});
// The same of a data set in memory, which is copied.
[[nodiscard]] Result<PredictorData> train_predictor(const Dataset& dataset,
                                                    const LabelSource& source,
                                                    const TrainingOptions& options,
                                                    const TrainingRun& run = {});

}  // namespace edgesage
