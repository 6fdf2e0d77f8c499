// The network and its loss once more: naive, in double, from the formulas of the headers and with
// parameters found by name. An oracle for values and, by finite differences, for gradients.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "src/nn/batch.h"
#include "src/nn/layout.h"
#include "src/nn/loss.h"

namespace edgesage::nn {

struct ReferenceOutputs {
  std::vector<std::vector<double>> totals, overhead, log_factor;  // [graph][quantity]
  std::vector<std::vector<double>> node_costs, op_costs;          // [node or operator][quantity]
  std::vector<std::vector<double>> op_levels;  // the largest corrected level of an operator's nodes
};

class ReferenceNetwork {
 public:
  ReferenceNetwork(const ModelConfig& config, std::span<const ParameterSlice> table)
      : config_(config), table_(table.begin(), table.end()) {}

  [[nodiscard]] ReferenceOutputs run(const std::vector<double>& parameters,
                                     const Batch& batch) const;
  [[nodiscard]] double loss(const std::vector<double>& parameters, const Batch& batch,
                            const LossOptions& options) const;

 private:
  const ModelConfig& config_;
  std::vector<ParameterSlice> table_;
};

}  // namespace edgesage::nn
