// An untrained predictor: every part present, answers close to the closed form.
#pragma once

#include "src/predict/predictor_file.h"

namespace edgesage::test {

[[nodiscard]] PredictorData sample_predictor(int members);

// The same with weights of about the size that training leaves, so that answers depend on features
// and neighbours.
[[nodiscard]] PredictorData lively_predictor(int members, int hidden = 16, int layers = 2);

}  // namespace edgesage::test
