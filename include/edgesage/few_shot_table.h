// Accuracy of predictors that were learnt from few labels. Plain data; errors and shares are in
// percent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace edgesage {

// One model on one board with one number of labels, in the mean over seeds.
struct FewShotResult {
  std::string set;       // "latbench"
  std::string device;    // a board of it, or "mean" over them
  std::string quantity;  // "latency_ms"
  std::string model;     // "process", "taught", or a control
  std::string draw;      // of the networks learnt from: "random" or "chosen"
  // The space that was left out and on which this was judged: a name, "each" for the mean over all
  // in turn, empty where none was; and how many of the labels were of it.
  std::string left_out;
  int64_t own = 0;
  int64_t labels = 0;  // to learn from, validation included
  int64_t seeds = 0;
  int64_t n_test = 0;  // networks, of each seed
  double mape = 0, median_ape = 0, p95_ape = 0;
  double within_1 = 0, within_5 = 0, within_10 = 0;
  double within_10_spread = 0;  // standard deviation over seeds of the mean over boards
  double mape_spread = 0;
  std::optional<double> spearman, kendall;
  std::vector<double> coverage;          // of 50, 80, 90 and 95 % intervals; empty for controls
  std::optional<double> half_width_90;   // empty where there are too few labels for one
  std::optional<double> smoother_share;  // of the process
  double seconds = 0;                    // of learning
  // Where a space was left out: of as many networks of the known spaces, and how well the range
  // verdict's score tells errors above three times their median (in both).
  std::optional<double> auroc, flagged_known, flagged_left_out;
  std::optional<double> median_ape_known, coverage_90_known, half_width_90_known;
};

struct FewShotTable {
  std::vector<FewShotResult> rows;  // by set, quantity, number of labels, model, device
};

}  // namespace edgesage
