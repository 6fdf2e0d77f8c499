// Accuracy tables: a predictor and its controls on networks that it never saw.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "edgesage/evaluate.h"
#include "src/learn/dataset.h"
#include "src/learn/feature_file.h"
#include "src/learn/metrics.h"
#include "src/predict/predictor.h"

namespace edgesage {

// One line of a table. `space` is "all" or one space; `model` "edgesage" or a control.
struct EvaluationRow {
  std::string device;
  std::string space;
  std::string quantity;
  std::string model;
  // "all" networks, or only those that the device runs whole ("placed"), or those of which some
  // operators fell back to the CPU ("fallback").
  std::string placement = "all";
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
  std::vector<PredictedNetwork> networks;
  size_t test_networks = 0;
  size_t left_out = 0;
};

// On the test part of the split; controls are fitted on training and calibration parts together,
// as many labels as the predictor has seen; where these parts are empty there are no controls.
[[nodiscard]] Evaluation evaluate_predictor(const Predictor& predictor, const Dataset& dataset,
                                            const SplitOptions& split, int threads);

// ModelAnswers for networks with their truths, as the lines of a table: all spaces together and
// each, all networks and by placement where there are several kinds of them.
struct ModelAnswers {
  std::string model;
  // One a network and quantity; not positive or NaN: no answer, which is left out.
  std::vector<std::vector<double>> values;
  // Of a predictor: half widths in log of the 90 % intervals, likewise, and what the range verdict
  // flags. Empty: no such figures.
  std::vector<std::vector<double>> half_widths;
  std::vector<uint8_t> flagged;
};
struct Truth {
  std::string space;
  std::vector<double> labels;  // one a quantity; NaN: none
  int32_t cpu_operators = 0;
};
// Asks about each of some networks of a file, in order.
void ask_each(const Predictor& predictor, const FeatureFile& file,
              std::span<const uint32_t> networks,
              const std::function<void(const Example& example, const Estimate& estimate,
                                       const RangeVerdict& verdict)>& answered);
// Such an answer, of one quantity that the network has a label of.
[[nodiscard]] PredictedNetwork predicted_network(const Predictor& predictor, const Example& example,
                                                 const Estimate& estimate,
                                                 const RangeVerdict& verdict, size_t quantity);
// Appends such an answer.
void add_answer(const Predictor& predictor, const Estimate& estimate, const RangeVerdict& verdict,
                ModelAnswers& answers);
[[nodiscard]] std::vector<Truth> truths_of(const FeatureFile& file,
                                           std::span<const uint32_t> networks);
[[nodiscard]] std::vector<EvaluationRow> accuracy_rows(std::span<const Truth> truths,
                                                       const ModelAnswers& answers,
                                                       std::span<const Quantity> quantities);

}  // namespace edgesage
