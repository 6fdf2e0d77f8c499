// `edgesage evaluate`: a predictor beside its controls, on networks that it never saw.
#pragma once

#include <string>

#include "edgesage/evaluate.h"
#include "edgesage/result.h"
#include "src/app/labels.h"

namespace edgesage::app {

struct EvaluateRequest {
  LabelRequest labels;
  std::string predictor;  // a file; empty: the device's installed one
  bool bfloat16 = false;  // weights in half the precision
  SplitOptions split;     // must be that of the training
};

[[nodiscard]] Result<AccuracyTable> evaluate(const Context& context,
                                             const EvaluateRequest& request);

}  // namespace edgesage::app
