#include "src/learn/intervals.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "src/devices/statistics.h"
#include "src/predict/predictor.h"

namespace edgesage {

// Intervals from the calibration networks: residuals in units of (spread + base), so that networks
// on which the members disagree get wider ones. Split conformal prediction (Papadopoulos et al.
// 2002; Lei et al. 2018).
void fit_intervals(const FeatureFile& file, std::span<const uint32_t> calibration,
                   PredictorData& data) {
  auto predictor = Predictor::from(data);
  if (!predictor) return;
  const size_t quantities = data.quantities.size();
  std::vector<std::vector<double>> residuals(quantities), spreads(quantities);
  for (const uint32_t index : calibration) {
    const Example example = file.example(index);
    const Estimate answer = predictor->estimate(example.tensors);
    for (size_t q = 0; q < quantities; ++q) {
      if (std::isnan(example.labels[q])) continue;
      residuals[q].push_back(std::abs(std::log(answer.value[q] / example.labels[q])));
      spreads[q].push_back(static_cast<double>(answer.spread[q]));
    }
  }
  data.range.max_spread.assign(quantities, std::numeric_limits<float>::infinity());
  for (size_t q = 0; q < quantities; ++q) {
    if (residuals[q].empty()) continue;
    std::vector<double> sorted = spreads[q];
    std::sort(sorted.begin(), sorted.end());
    PredictedQuantity& quantity = data.quantities[q];
    quantity.base_spread = static_cast<float>(std::max(1e-4, quantile(sorted, 0.5)));
    // Twice the largest ordinary disagreement: a network that is unlike any in training.
    data.range.max_spread[q] = static_cast<float>(2.0 * quantile(sorted, 0.98));
    std::vector<double> scores;
    for (size_t i = 0; i < residuals[q].size(); ++i)
      scores.push_back(residuals[q][i] / (spreads[q][i] + quantity.base_spread));
    std::sort(scores.begin(), scores.end());
    const auto n = static_cast<double>(scores.size());
    for (const float level : {0.5F, 0.8F, 0.9F, 0.95F}) {
      // The finite-sample quantile of conformal prediction.
      const double rank = std::min(1.0, std::ceil((n + 1) * static_cast<double>(level)) / n);
      quantity.levels.push_back(level);
      quantity.widths.push_back(static_cast<float>(quantile(scores, rank)));
    }
  }
}

}  // namespace edgesage
