// A training run between two steps: what a checkpoint holds.
#pragma once

#include <cstdint>
#include <vector>

#include "src/kernels/matrix.h"

namespace edgesage::nn {

// Sums over the steps of the epoch in hand; its losses are reported from them.
struct EpochSums {
  int64_t steps = 0;
  double loss = 0;
  std::vector<double> log_error;  // one a quantity
  std::vector<double> weight;     // one a quantity: what log_error is divided by

  bool operator==(const EpochSums&) const = default;
};

// The state of the random numbers is not kept: it follows from the seed, the epochs and the steps.
struct TrainState {
  int32_t epochs = 0;       // completed
  int64_t graphs_done = 0;  // of the epoch in hand
  int64_t steps = 0;
  int64_t updates = 0;  // steps that were not skipped
  double loss = 0;      // of the last completed epoch
  EpochSums sums;
  // As many each as the model has parameters. Moments are those of Adam.
  kernels::AlignedFloats parameters, average, first_moment, second_moment;

  bool operator==(const TrainState&) const = default;
};

}  // namespace edgesage::nn
