// `edgesage compare`: where the difference between two predictions comes from.
#pragma once

#include "edgesage/compare.h"
#include "src/app/context.h"
#include "src/app/predict.h"

namespace edgesage::app {

// Two models on one device, or one model on two devices or by two predictors; a device with a
// predictor file for it compares the installed predictor with the file. kInvalidArgument where the
// request comes to any other number of predictions than two; else the first prediction's error.
[[nodiscard]] Result<Comparison> compare(const Context& context, PredictRequest request);

}  // namespace edgesage::app
