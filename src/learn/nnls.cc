#include "src/learn/nnls.h"

#include <algorithm>
#include <cmath>

namespace edgesage {

std::vector<double> fit_relative_nnls(std::span<const double> x, size_t columns,
                                      std::span<const double> y) {
  constexpr int kMaxSweeps = 20000;
  constexpr double kTolerance = 1e-10;
  std::vector<double> gram(columns * columns, 0.0), target(columns, 0.0), row(columns);
  for (size_t i = 0; i < y.size(); ++i) {
    for (size_t j = 0; j < columns; ++j) row[j] = x[i * columns + j] / y[i];
    for (size_t j = 0; j < columns; ++j) {
      if (row[j] == 0) continue;
      target[j] += row[j];
      for (size_t k = 0; k < columns; ++k) gram[j * columns + k] += row[j] * row[k];
    }
  }
  // Columns differ by many orders of magnitude (a constant beside MACs): solve for scaled weights.
  std::vector<double> scale(columns), weights(columns, 0.0);
  for (size_t j = 0; j < columns; ++j) {
    const double diagonal = gram[j * columns + j];
    scale[j] = diagonal > 0 ? 1.0 / std::sqrt(diagonal) : 0.0;
  }
  for (size_t j = 0; j < columns; ++j) {
    target[j] *= scale[j];
    for (size_t k = 0; k < columns; ++k) gram[j * columns + k] *= scale[j] * scale[k];
  }
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    double largest_step = 0;
    for (size_t j = 0; j < columns; ++j) {
      if (scale[j] == 0) continue;
      double gradient = target[j];
      for (size_t k = 0; k < columns; ++k) gradient -= gram[j * columns + k] * weights[k];
      const double updated = std::max(0.0, weights[j] + gradient);
      largest_step = std::max(largest_step, std::abs(updated - weights[j]));
      weights[j] = updated;
    }
    if (largest_step < kTolerance) break;
  }
  for (size_t j = 0; j < columns; ++j) weights[j] *= scale[j];
  return weights;
}

}  // namespace edgesage
