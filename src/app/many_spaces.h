// `edgesage evaluate --protocol edgedlperf`: predictors of many spaces, trained and judged.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "edgesage/evaluate.h"
#include "edgesage/result.h"
#include "src/app/context.h"
#include "src/learn/train.h"

namespace edgesage::app {

inline constexpr const char* kManySpaces = "edgedlperf";

struct ManySpacesRequest {
  std::vector<std::filesystem::path> labels;  // label files, one a device; "real-files" has none
  std::vector<std::string> settings;          // empty: "random" and "left-out"
  std::vector<int64_t> counts;  // "curve": networks to train on; empty: 1k to 100k, as there are
  std::vector<int64_t> own;     // "left-out": networks of the space; empty: 0, 10, 30, 100
  std::vector<std::string> variants;  // "ablation"; empty: all
  std::vector<std::string> models;    // controls and baselines beside; empty: all controls
  int64_t ablation_networks = 10'000;
  int64_t left_out_networks = 0;  // of the other spaces, to train on; 0: all
  int64_t baseline_epochs = 40;
  int64_t first_seed = 1, seeds = 1;
  TrainingOptions training;
  // "real-files": devices to measure on, each by its installed predictor or, of one device, by this
  // file; and the folder of the models with its index.csv.
  std::vector<std::string> devices;
  std::string predictor;
  std::filesystem::path real_models;
  std::filesystem::path results;  // rows that are there are not computed again; empty: none
};

// Rows go to `results` after each training, so an interrupted run goes on where it was. Features
// are kept beside the label files.
[[nodiscard]] Result<AccuracyTable> evaluate_many_spaces(const Context& context,
                                                         const ManySpacesRequest& request);

}  // namespace edgesage::app
