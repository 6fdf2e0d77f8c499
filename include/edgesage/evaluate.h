// Accuracy of a predictor on networks that it never saw, beside simple models. Plain data; errors
// and shares are in percent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace edgesage {

struct AccuracyRow {
  std::string device;
  std::string space;     // "all" or one space
  std::string quantity;  // "latency_ms"
  std::string model;     // "edgesage", or a control: "constant", "linear", "additive", "boosting"
  int64_t n_train = 0;
  int64_t n_test = 0;
  double mape = 0, median_ape = 0, p95_ape = 0;
  double within_1 = 0, within_5 = 0, within_10 = 0;
  double worst_under = 0;                   // the largest under-estimation
  std::optional<double> spearman, kendall;  // empty where one side is constant
  double best_5_recall = 0;  // of the truly cheapest 5 %, found among the predicted cheapest 5 %
  // Of the predictor only.
  std::optional<double> coverage_90;    // truths inside the 90 % interval
  std::optional<double> half_width_90;  // median half width of that interval
  std::optional<double> flagged;        // networks that the range verdict flags
  std::optional<double> mape_unflagged;
  uint64_t seed = 0;
  // Of protocols over many spaces, else empty: "random", "left-out", "curve", "ablation" or
  // "real-files"; what was taken away or left out; networks of the left-out space that were learnt
  // from; "all" networks, those "placed" whole on the device, or those with a "fallback" to the
  // CPU.
  std::string setting, variant, left_out, placement;
  int64_t own = 0;
  // Of single files ("real-files", variant: the file): the device's figure and the predicted one.
  std::optional<double> truth, predicted;
};

// A file that there is no figure of.
struct UnansweredFile {
  std::string file, device, space, reason;
};

// How much of a network's total is put on the wrong operator.
struct AttributionAccuracy {
  std::string device;
  std::string space;
  int64_t networks = 0;
  double misplaced_share = 0;      // mean
  double median_operator_ape = 0;  // of operators with 1 % of their network or more
};

struct WorstNetwork {
  std::string name, quantity;
  double truth = 0, predicted = 0;
};

// A network that was held out, with one quantity of it.
struct PredictedNetwork {
  std::string name, space;
  std::string kinds;  // of its rows, each once, in the order of the alphabet: "add conv dense"
  int64_t operators = 0;
  double truth = 0, predicted = 0, lo = 0, hi = 0;  // the 90 % interval
  bool in_range = true;
  std::string quantity = {};
};

struct AccuracyTable {
  std::vector<AccuracyRow> rows;
  std::vector<AttributionAccuracy> attribution;
  std::vector<WorstNetwork> worst;
  std::vector<UnansweredFile> unanswered;  // of "real-files"
  std::vector<PredictedNetwork> networks;  // all that were tested, but not of protocols
  int64_t test_networks = 0;
  int64_t left_out = 0;  // labels with an error, or below the device's resolution
};

}  // namespace edgesage
