// Intervals and the range's spread from networks that training did not see.
#pragma once

#include <span>

#include "src/learn/feature_file.h"
#include "src/predict/predictor_file.h"

namespace edgesage {

// Fills the widths of the intervals and the largest ordinary spread of `data`, whose members are
// trained, from the networks of the file that `calibration` names.
void fit_intervals(const FeatureFile& file, std::span<const uint32_t> calibration,
                   PredictorData& data);

}  // namespace edgesage
