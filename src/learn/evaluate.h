// Accuracy tables: a predictor and its controls on networks that it never saw.
#pragma once

#include <string>
#include <vector>

#include "src/learn/dataset.h"
#include "src/learn/metrics.h"
#include "src/predict/predictor.h"

namespace edgesage {

// One line of a table. `space` is "all" or one space; `model` "edgesage" or a control.
struct EvaluationRow {
  std::string device;
  std::string space;
  std::string quantity;
  std::string model;
  size_t n_train = 0;
  Accuracy accuracy;
  // Of "edgesage" only; negative: does not apply.
  double coverage_90 = -1;    // share of truths inside the 90 % interval
  double half_width_90 = -1;  // median half width, relative
  double flagged = -1;        // share that the range verdict flags
  double mape_unflagged = -1;
  uint64_t seed = 0;
};

// How much of the total goes to the wrong operator: half the sum of |predicted - true share|, in
// the mean over networks.
struct AttributionRow {
  std::string device;
  std::string space;
  size_t n = 0;
  double misplaced_share = 0;
  double median_operator_ape = 0;  // over operators of at least 1 % of their network
};

struct Evaluation {
  std::vector<EvaluationRow> rows;
  std::vector<AttributionRow> attribution;
  // The networks with the largest errors, for looking at.
  struct Worst {
    std::string name, quantity;
    double truth = 0, predicted = 0;
  };
  std::vector<Worst> worst;
  size_t test_networks = 0;
  size_t left_out = 0;
};

// On the test part of the split; controls are fitted on training and calibration parts together,
// as many labels as the predictor has seen; where these parts are empty there are no controls.
[[nodiscard]] Evaluation evaluate_predictor(const Predictor& predictor, const Dataset& dataset,
                                            const SplitOptions& split, int threads);

}  // namespace edgesage
