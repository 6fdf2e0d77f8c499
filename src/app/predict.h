// `edgesage predict`: what models cost on devices.
#pragma once

#include <string>
#include <vector>

#include "edgesage/answer.h"
#include "edgesage/predict.h"
#include "src/app/context.h"
#include "src/io/model_file.h"

namespace edgesage::app {

struct PredictRequest {
  std::vector<std::string> models;      // paths; "-" is standard input
  std::vector<std::string> devices;     // each by its installed predictor
  std::vector<std::string> predictors;  // files; one serves its device in place of the installed
  ReadOptions read;                     // shapes of inputs
  double level = 0.9;                   // of the intervals
  bool bfloat16 = false;                // weights in half the precision
  int32_t abi = 32;                     // of TensorFlow Lite Micro: 32 or 64
  std::string kernels = "reference";    // of it (edgesage/inspect.h)
  bool strict = false;  // kUnsupported for models outside the range, or with unknown operators
};

// One answer a model and device, models outermost. Errors of the whole: a device without a
// predictor or none at all (kInvalidArgument), a damaged predictor (kBadStore).
[[nodiscard]] Result<Answers<Prediction>> predict_models(const Context& context,
                                                         const PredictRequest& request);

}  // namespace edgesage::app
