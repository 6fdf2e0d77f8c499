// Predictions as text, JSON and CSV.
#pragma once

#include <string>

#include "edgesage/answer.h"
#include "edgesage/predict.h"

namespace edgesage::report {

// One answer is shown with its operators; several are a table.
[[nodiscard]] std::string predict_text(const Answers<Prediction>& answers);
[[nodiscard]] std::string predict_json(const Answers<Prediction>& answers);
// One row an answer; what is not known is an empty cell.
[[nodiscard]] std::string predict_csv(const Answers<Prediction>& answers);

}  // namespace edgesage::report
