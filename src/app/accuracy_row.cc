#include "src/app/accuracy_row.h"

#include "src/app/if_known.h"

namespace edgesage::app {
namespace {

// Negative shares stand for "does not apply".
std::optional<double> percent(double share) {
  return share < 0 ? std::nullopt : if_known(share, 100);
}

}  // namespace

AccuracyRow to_public(const EvaluationRow& from) {
  const Accuracy& accuracy = from.accuracy;
  AccuracyRow row;
  row.device = from.device;
  row.space = from.space;
  row.quantity = from.quantity;
  row.model = from.model;
  row.n_train = static_cast<int64_t>(from.n_train);
  row.n_test = static_cast<int64_t>(accuracy.count);
  row.mape = 100 * accuracy.mape;
  row.median_ape = 100 * accuracy.median_ape;
  row.p95_ape = 100 * accuracy.p95_ape;
  row.within_1 = 100 * accuracy.within_1;
  row.within_5 = 100 * accuracy.within_5;
  row.within_10 = 100 * accuracy.within_10;
  row.worst_under = 100 * accuracy.worst_under;
  row.spearman = if_known(accuracy.spearman);
  row.kendall = if_known(accuracy.kendall);
  row.best_5_recall = 100 * accuracy.best_5_recall;
  row.coverage_90 = percent(from.coverage_90);
  row.half_width_90 = percent(from.half_width_90);
  row.flagged = percent(from.flagged);
  row.mape_unflagged = percent(from.mape_unflagged);
  row.seed = from.seed;
  return row;
}

}  // namespace edgesage::app
