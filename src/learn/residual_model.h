// What measurements made on the way say of a predictor's error: a small Gaussian process over the
// logarithm of measured by predicted latency, by the shares that genes keep.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "src/base/json.h"

namespace edgesage {

struct ResidualAnswer {
  double log_factor = 0;  // to be added to the predicted logarithm
  double deviation = 0;   // what is unknown of it still, of the prior's `prior_deviation`
};

// Cubic in the points, of which there are hundreds. Without points the factor is 0 and nothing is
// known better. Not synchronised; const use is.
class ResidualModel {
 public:
  // `where`: a share for each gene, 0 to 1.
  void add(std::vector<double> where, double log_ratio);
  [[nodiscard]] ResidualAnswer at(std::span<const double> where, double prior_deviation) const;
  [[nodiscard]] size_t size() const { return where_.size(); }

  [[nodiscard]] Json to_json() const;
  // Points of another kind are left out.
  [[nodiscard]] static ResidualModel from_json(const Json& json);

 private:
  void fit();
  [[nodiscard]] double covariance(std::span<const double> a, std::span<const double> b) const;

  std::vector<std::vector<double>> where_;
  std::vector<double> log_ratio_;
  double variance_ = 1;          // of the residuals
  std::vector<double> factor_;   // Cholesky factor, rows one after the other
  std::vector<double> weights_;  // (K + noise)^-1 residuals
};

}  // namespace edgesage
