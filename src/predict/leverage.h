// How far the mix of rows of a network is from what was measured.
//
// Where a cost is a sum over rows, what is learnt about a kind of row moves the logarithm of the
// cost by that row's share of it. So a network stands for one point: its rows' kinds and features,
// in the mean weighted by share of the closed-form cost. The leverage of a point x is
// sqrt(x (X X + ridge)^-1 x) over the measured networks' points X: the standard deviation of a
// linear model's answer, in units of the noise. It needs no label, and grows where no measured
// network says anything of what costs most. Where a few-shot process was the teacher, its own
// uncertainty is learnt as a function of both (ErrorModel).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/features/graph_tensors.h"

namespace edgesage {

// Plain data; part of the predictor file. A point has an entry a row kind and one a node feature.
struct Leverage {
  int32_t kinds = 0;                 // row kinds that a point has an entry for
  std::vector<float> centre, scale;  // of the features of points
  std::vector<float> inverse;        // symmetric: the lower triangle, row by row
  float limit = 0;                   // the largest that is ordinary

  [[nodiscard]] bool empty() const { return inverse.empty(); }
  // Empty, or of sizes that fit each other and so many node features.
  [[nodiscard]] bool fits(size_t features) const;
  // Over the limit; about 1 at the edge of what is known, 0 without a measured network.
  // Cost: rows x features, and the square of a point's size, about 85.
  [[nodiscard]] double of(const GraphTensors& tensors) const;
  // The normalised point, and behind it the logarithm of its leverage: what an ErrorModel reads.
  // Not for an empty one.
  [[nodiscard]] std::vector<float> features(const GraphTensors& tensors) const;
};

// The scale of a quantity's errors as a linear function of Leverage::features: taught by a process
// that knows how unsure it is. Plain data; part of the predictor file.
struct ErrorModel {
  std::vector<float> weights;  // one a feature, then the constant; empty: all networks are alike
  float low = 0, high = 0;     // bounds of its logarithm

  [[nodiscard]] bool empty() const { return weights.empty(); }
  // Relative to other networks; 1 where there is no model.
  [[nodiscard]] double scale(std::span<const float> features) const;
};

// Ridge regression of the logarithms of scales, NaN for networks that have none. An empty model
// for fewer than 20.
[[nodiscard]] ErrorModel fit_error_model(std::span<const std::vector<float>> features,
                                         std::span<const double> log_scales);

// Accumulates points; 4 bytes an entry and network.
class LeverageBuilder {
 public:
  // `measured`: has a label. Others only say what is ordinary.
  void add(const GraphTensors& tensors, bool measured);
  [[nodiscard]] Leverage finish() const;

 private:
  size_t features_ = 0;
  std::vector<std::vector<float>> measured_, others_;
};

}  // namespace edgesage
