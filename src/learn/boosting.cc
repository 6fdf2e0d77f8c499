#include "src/learn/boosting.h"

#include <algorithm>
#include <numeric>

namespace edgesage {
namespace {

// Upper edges of quantile bins for one column.
std::vector<float> bin_edges(std::vector<float> values, int bins) {
  std::sort(values.begin(), values.end());
  std::vector<float> edges;
  for (int b = 1; b < bins; ++b) {
    const size_t at = values.size() * static_cast<size_t>(b) / static_cast<size_t>(bins);
    const float edge = values[std::min(at, values.size() - 1)];
    if (edges.empty() || edge > edges.back()) edges.push_back(edge);
  }
  return edges;
}

}  // namespace

class TreeGrower {
 public:
  TreeGrower(std::span<const float> x, size_t columns, size_t rows, const BoostingOptions& options)
      : columns_(columns), rows_(rows), options_(options), edges_(columns), bin_(rows * columns) {
    std::vector<float> column(rows);
    for (size_t c = 0; c < columns; ++c) {
      for (size_t r = 0; r < rows; ++r) column[r] = x[r * columns + c];
      edges_[c] = bin_edges(column, options.bins);
      for (size_t r = 0; r < rows; ++r) {
        const auto it = std::lower_bound(edges_[c].begin(), edges_[c].end(), column[r]);
        bin_[c * rows + r] = static_cast<uint8_t>(it - edges_[c].begin());
      }
    }
  }

  // Fits one tree to the residuals and adds its values to `fitted`.
  std::vector<BoostedTrees::Node> grow(std::span<const double> residual, std::span<double> fitted) {
    std::vector<size_t> members(rows_);
    std::iota(members.begin(), members.end(), size_t{0});
    std::vector<BoostedTrees::Node> tree;
    split(tree, members, residual, fitted, options_.depth);
    return tree;
  }

 private:
  struct Split {
    double gain = 0;
    size_t column = 0;
    size_t bin = 0;
  };

  Split best_split(const std::vector<size_t>& members, std::span<const double> residual,
                   double total) const {
    Split best;
    const auto count = static_cast<double>(members.size());
    const double parent = total * total / (count + options_.l2);
    std::vector<double> sums(256), counts(256);
    for (size_t c = 0; c < columns_; ++c) {
      const size_t bins = edges_[c].size() + 1;
      std::fill_n(sums.begin(), bins, 0.0);
      std::fill_n(counts.begin(), bins, 0.0);
      for (const size_t r : members) {
        sums[bin_[c * rows_ + r]] += residual[r];
        counts[bin_[c * rows_ + r]] += 1;
      }
      double left_sum = 0, left_count = 0;
      for (size_t b = 0; b + 1 < bins; ++b) {
        left_sum += sums[b];
        left_count += counts[b];
        const double right_count = count - left_count;
        if (left_count < options_.min_leaf || right_count < options_.min_leaf) continue;
        const double right_sum = total - left_sum;
        const double gain = left_sum * left_sum / (left_count + options_.l2) +
                            right_sum * right_sum / (right_count + options_.l2) - parent;
        if (gain > best.gain) best = {gain, c, b};
      }
    }
    return best;
  }

  int32_t split(std::vector<BoostedTrees::Node>& tree, const std::vector<size_t>& members,
                std::span<const double> residual, std::span<double> fitted, int depth) {
    const auto index = static_cast<int32_t>(tree.size());
    tree.emplace_back();
    double total = 0;
    for (const size_t r : members) total += residual[r];
    const Split best = depth > 0 ? best_split(members, residual, total) : Split{};
    if (best.gain <= 0) {
      const double value =
          options_.learning_rate * total / (static_cast<double>(members.size()) + options_.l2);
      tree[static_cast<size_t>(index)].value = value;
      for (const size_t r : members) fitted[r] += value;
      return index;
    }
    std::vector<size_t> left, right;
    for (const size_t r : members)
      (bin_[best.column * rows_ + r] <= best.bin ? left : right).push_back(r);
    const int32_t left_index = split(tree, left, residual, fitted, depth - 1);
    const int32_t right_index = split(tree, right, residual, fitted, depth - 1);
    BoostedTrees::Node& node = tree[static_cast<size_t>(index)];
    node.feature = static_cast<int32_t>(best.column);
    node.threshold = edges_[best.column][best.bin];
    node.left = left_index;
    node.right = right_index;
    return index;
  }

  size_t columns_, rows_;
  BoostingOptions options_;
  std::vector<std::vector<float>> edges_;
  std::vector<uint8_t> bin_;  // columns x rows
};

BoostedTrees BoostedTrees::fit(std::span<const float> x, size_t columns, std::span<const double> y,
                               const BoostingOptions& options) {
  BoostedTrees model;
  if (y.empty()) return model;
  model.base_ = std::accumulate(y.begin(), y.end(), 0.0) / static_cast<double>(y.size());
  TreeGrower grower(x, columns, y.size(), options);
  std::vector<double> fitted(y.size(), model.base_), residual(y.size());
  for (int t = 0; t < options.trees; ++t) {
    for (size_t i = 0; i < y.size(); ++i) residual[i] = y[i] - fitted[i];
    model.trees_.push_back(grower.grow(residual, fitted));
  }
  return model;
}

double BoostedTrees::predict(std::span<const float> row) const {
  double value = base_;
  for (const std::vector<Node>& tree : trees_) {
    size_t at = 0;
    while (tree[at].feature >= 0) {
      const Node& node = tree[at];
      at = static_cast<size_t>(
          row[static_cast<size_t>(node.feature)] <= node.threshold ? node.left : node.right);
    }
    value += tree[at].value;
  }
  return value;
}

}  // namespace edgesage
