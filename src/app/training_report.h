// The page of a training: what its errors were, epoch by epoch, and on the networks held out.
#pragma once

#include <vector>

#include "edgesage/training_report.h"
#include "src/app/train.h"
#include "src/learn/feature_file.h"
#include "src/learn/train.h"
#include "src/predict/predictor.h"

namespace edgesage::app {

[[nodiscard]] TrainingEpoch to_public(const EpochErrors& errors);

// Asks the predictor about the test part of the request's split; 0.2 ms a network.
[[nodiscard]] TrainingReport report_training(const FeatureFile& features,
                                             const Predictor& predictor,
                                             const TrainRequest& request,
                                             std::vector<TrainingEpoch> epochs);

}  // namespace edgesage::app
