// What a training looked like, and how good its predictor is on the networks that were held out.
// Plain data; errors and shares are in per cent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "edgesage/evaluate.h"

namespace edgesage {

// One pass of one member of the ensemble over the networks. Errors are means of
// |log(predicted / label)|, which is the relative error where it is small; one a quantity, empty
// where there is no label.
struct TrainingEpoch {
  int32_t member = 0, epoch = 0;                   // count from 1
  double loss = 0;                                 // as it is minimised, over the epoch's steps
  double validation_loss = 0;                      // the same on networks that were not trained on
  std::vector<std::optional<double>> train_error;  // with the weights of each step
  std::vector<std::optional<double>> validation_error;
};

// Networks held out that have something in common.
struct ErrorGroup {
  std::string name;  // "11 to 20" operators; "conv"
  int64_t networks = 0;
  double mape = 0, median_ape = 0;
  // Of a kind of operator, where labels say what operators cost: their number, their share of all
  // cost, and the sum of their errors over the sum of their costs.
  int64_t operators = 0;
  std::optional<double> cost_share, operator_error;
};

struct TrainedQuantity {
  std::string name;
  std::vector<PredictedNetwork> networks;  // held out, the largest errors first
  std::vector<ErrorGroup> sizes;           // by number of operators, ascending
  std::vector<ErrorGroup> kinds;           // networks that hold the kind; by cost, then by name
};

struct TrainingReport {
  std::string file;                                           // the page
  std::string command;                                        // that was run; may be empty
  std::vector<std::pair<std::string, std::string>> settings;  // seeds, split, sizes
  std::vector<TrainingEpoch> epochs;  // since this run began, where it goes on from a checkpoint
  std::vector<AccuracyRow> spaces;    // all and each, of each quantity
  std::vector<TrainedQuantity> quantities;
};

}  // namespace edgesage
