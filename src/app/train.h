// `edgesage train`: a predictor from labels.
#pragma once

#include <string>

#include "edgesage/result.h"
#include "edgesage/train.h"
#include "src/app/labels.h"
#include "src/learn/train.h"

namespace edgesage::app {

struct TrainRequest {
  LabelRequest labels;
  TrainingOptions training;
  std::string output;  // the predictor file
  // Of the machine that the labels were measured on; empty: what the store says of it.
  std::string host_description;
  // Where the run is kept while it lasts, to go on after an interruption; empty: nowhere. Removed
  // when the predictor is written.
  std::string checkpoint;
  double checkpoint_seconds = 30;
  std::string report;   // a page about the training (HTML); empty: none
  std::string command;  // that was run, for the report
  // Processes that train together; only the first one writes. Null: this one alone.
  Ranks* ranks = nullptr;
};

[[nodiscard]] Result<TrainedPredictor> train(const Context& context, const TrainRequest& request);

}  // namespace edgesage::app
