// `edgesage check`: do models keep to a budget?
#pragma once

#include <optional>
#include <string>

#include "edgesage/answer.h"
#include "edgesage/check.h"
#include "src/app/context.h"
#include "src/app/predict.h"

namespace edgesage::app {

struct CheckRequest {
  PredictRequest predict;       // models, predictors, shapes; the devices are the budget's
  std::string budget;           // TOML
  std::optional<double> level;  // in place of the budget's
  std::string baseline;         // JSON; in place of the budget's
  std::string write_baseline;   // file for today's figures; empty: none
};

// One answer a model and device for which the budget has limits, models outermost. Errors of the
// whole: a budget or baseline that cannot be read, a device without predictor (kInvalidArgument).
[[nodiscard]] Result<Answers<Check>> check_models(const Context& context,
                                                  const CheckRequest& request);

}  // namespace edgesage::app
