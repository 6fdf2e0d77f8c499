// How good predictions are: the columns of every accuracy table.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace edgesage {

// Shares are in 0..1, errors relative to the truth (APE = |prediction - truth| / truth).
struct Accuracy {
  size_t count = 0;
  double mape = 0;
  double median_ape = 0;
  double p95_ape = 0;
  double within_1 = 0;  // share with APE <= 1 %
  double within_5 = 0;
  double within_10 = 0;
  double worst_under = 0;    // the largest under-estimation, as a positive share of the truth
  double spearman = 0;       // NaN where either side is constant
  double kendall = 0;        // tau-b; NaN likewise
  double best_5_recall = 0;  // share of the truly cheapest 5 % among the predicted cheapest 5 %
};

// Truths must be positive and finite. Cost: O(n log n).
[[nodiscard]] Accuracy accuracy(std::span<const double> truth, std::span<const double> predicted);

// Area under the receiver operating characteristic: the probability that a positive scores above a
// negative, ties half. NaN where there are none of either. Cost: O(n log n).
[[nodiscard]] double auroc(std::span<const double> scores, const std::vector<bool>& positive);

}  // namespace edgesage
