// What a training run made. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "edgesage/training_report.h"

namespace edgesage {

struct TrainedPredictor {
  std::string file;
  std::string id;
  std::string device;
  std::vector<std::string> quantities;
  int64_t networks = 0;  // with labels
  int64_t left_out = 0;  // labels with an error, or below the device's resolution
  int64_t file_bytes = 0;
  double seconds = 0;
  std::optional<TrainingReport> report;  // where one was asked for
};

}  // namespace edgesage
