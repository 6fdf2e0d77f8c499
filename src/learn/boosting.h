// Gradient-boosted regression trees on squared error, the control that accuracy tables show beside
// the network. Histogram splits, depth-wise growth; deterministic.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace edgesage {

struct BoostingOptions {
  int trees = 400;
  int depth = 5;
  int bins = 255;  // at most 255
  int min_leaf = 5;
  double learning_rate = 0.05;
  double l2 = 1.0;
};

class BoostedTrees {
 public:
  // `x` is rows x columns, row-major.
  static BoostedTrees fit(std::span<const float> x, size_t columns, std::span<const double> y,
                          const BoostingOptions& options = {});
  [[nodiscard]] double predict(std::span<const float> row) const;

 private:
  struct Node {
    int32_t feature = -1;  // -1: a leaf
    float threshold = 0;   // left where value <= threshold
    int32_t left = -1, right = -1;
    double value = 0;
  };
  friend class TreeGrower;
  double base_ = 0;
  std::vector<std::vector<Node>> trees_;
};

}  // namespace edgesage
