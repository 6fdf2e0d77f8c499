// An untrained predictor: every part present, answers close to the closed form.
#pragma once

#include "src/predict/predictor_file.h"

namespace edgesage::test {

[[nodiscard]] PredictorData sample_predictor(int members);

}  // namespace edgesage::test
