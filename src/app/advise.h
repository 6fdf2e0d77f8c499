// `edgesage advise`: what to change about a model for a device.
#pragma once

#include <filesystem>
#include <string>

#include "edgesage/advise.h"
#include "src/app/context.h"
#include "src/app/predict.h"

namespace edgesage::app {

struct AdviseRequest {
  PredictRequest predict;        // one model, one device or predictor
  double least_gain = 0.005;     // of the latency, or of the peak memory: less is not worth saying
  std::filesystem::path folder;  // for the changed models as .tflite; empty: none are written
};

// Makes each change that might pay, predicts the changed model, and keeps those that do pay.
// kInvalidArgument where the request comes to any other number of predictions than one. Cost: a
// prediction a change, tens for a usual model.
[[nodiscard]] Result<AdviceReport> advise(const Context& context, const AdviseRequest& request);

}  // namespace edgesage::app
