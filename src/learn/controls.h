// The simple models that every accuracy table shows beside the network: a learned predictor that
// does not beat them is not worth its parameters.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/learn/dataset.h"

namespace edgesage {

class Control {
 public:
  virtual ~Control() = default;
  [[nodiscard]] virtual double predict(const Example& example) const = 0;
};

// Names in the order of the tables: "constant" (the constant of least MAPE), "linear" (MACs and
// bytes), "additive" (per row kind: count, tile-rounded MACs, bytes), "boosting" (gradient boosting
// on totals and counts of kinds), "closed-form" (the priors that the network corrects, at the
// device's speed).
[[nodiscard]] std::span<const std::string> control_names();

// Fits the control on the examples that have a label for the quantity (an index of
// dataset.quantities), of which there must be one at least. Deterministic.
[[nodiscard]] std::unique_ptr<Control> fit_control(const std::string& name, const Dataset& dataset,
                                                   std::span<const size_t> train, size_t quantity);

}  // namespace edgesage
