#include "src/predict/estimate.h"

#include <algorithm>
#include <cmath>

namespace edgesage {

EnsembleMean::EnsembleMean(size_t members, size_t quantities, size_t operators, Estimate& out,
                           std::vector<double>& squares)
    : members_(static_cast<double>(members)),
      quantities_(quantities),
      operators_(operators),
      out_(out),
      squares_(squares) {
  out_.value.assign(quantities, 0.0);
  out_.spread.assign(quantities, 0.0F);
  out_.overhead.assign(quantities, 0.0);
  out_.operators.resize(quantities);
  for (std::vector<double>& costs : out_.operators) costs.assign(operators, 0.0);
  squares_.assign(quantities, 0.0);
}

void EnsembleMean::add(const double* totals, const double* overhead, const double* op_costs) {
  for (size_t q = 0; q < quantities_; ++q) {
    const double total = totals[q];
    const double log_total = std::log(std::max(total, 1e-30));
    out_.value[q] += log_total / members_;
    squares_[q] += log_total * log_total / members_;
    if (total <= 0) continue;
    const double weight = 1.0 / (total * members_);
    out_.overhead[q] += overhead[q] * weight;
    double* shares = out_.operators[q].data();
    for (size_t i = 0; i < operators_; ++i) shares[i] += op_costs[i * quantities_ + q] * weight;
  }
}

void EnsembleMean::finish() {
  for (size_t q = 0; q < quantities_; ++q) {
    const double variance = std::max(0.0, squares_[q] - out_.value[q] * out_.value[q]);
    out_.spread[q] = static_cast<float>(std::sqrt(variance));
    out_.value[q] = std::exp(out_.value[q]);
    out_.overhead[q] *= out_.value[q];
    for (double& cost : out_.operators[q]) cost *= out_.value[q];
  }
}

}  // namespace edgesage
