// Label files, training and accuracy as text, JSON and CSV.
#pragma once

#include <string>

#include "edgesage/dataset.h"
#include "edgesage/evaluate.h"
#include "edgesage/train.h"

namespace edgesage::report {

[[nodiscard]] std::string labels_text(const LabelFile& labels);
[[nodiscard]] std::string labels_json(const LabelFile& labels);

[[nodiscard]] std::string train_text(const TrainedPredictor& trained);
[[nodiscard]] std::string train_json(const TrainedPredictor& trained);
// The page of TrainedPredictor::report; empty without one. Asks nothing of elsewhere.
[[nodiscard]] std::string training_html(const TrainedPredictor& trained);

[[nodiscard]] std::string evaluate_text(const AccuracyTable& table);
[[nodiscard]] std::string evaluate_markdown(const AccuracyTable& table);
[[nodiscard]] std::string evaluate_json(const AccuracyTable& table);
[[nodiscard]] std::string evaluate_csv(const AccuracyTable& table);
// AccuracyTable::networks, one a line.
[[nodiscard]] std::string predictions_csv(const AccuracyTable& table);

}  // namespace edgesage::report
