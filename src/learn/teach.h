// A GraphSAGE predictor taught by a few-shot fit: the form that ships and answers in microseconds.
//
// The Gaussian process answers for networks without labels; a small ensemble of GraphSAGE networks
// learns those answers and, with more weight, the labels themselves. Its additive head then says
// which operator costs what, and no virtual device is needed any more. Where labels are few this
// carries the prior knowledge into the network (distillation; Hinton et al., arXiv 1503.02531).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "edgesage/result.h"
#include "src/learn/dataset.h"
#include "src/learn/train.h"
#include "src/predict/predictor_file.h"

namespace edgesage {

struct TeachOptions {
  int hidden = 64;
  int embedding = 16;
  int layers = 3;
  int members = 2;
  int epochs = 60;
  int batch_graphs = 32;
  double learning_rate = 6e-3;
  double label_weight = 4;  // of a measured network beside one that the teacher answered for
  uint64_t seed = 1;
  int threads = 0;
};

// What is known of one quantity, one entry an example of the data set.
struct Lesson {
  std::vector<double> log_teacher;  // the process's answer; NaN: not to be learnt from
  std::vector<double> log_label;    // measured; NaN: not measured
  // Half widths in log at 50, 80, 90 and 95 %, from labels that were held out; in units of
  // `error_scale` where there is one.
  std::vector<double> widths;
  std::vector<double> error_scale;  // of the teacher's answers (FewShotFit); empty: 1 for all
};

// One lesson for each quantity of the data set, whose own labels are not read. kInvalidArgument
// where there are fewer than 20 networks to learn from. Same bytes for the same input, whatever the
// number of threads.
[[nodiscard]] Result<PredictorData> teach_predictor(
    const Dataset& dataset, std::span<const Lesson> lessons, const LabelSource& source,
    const TeachOptions& options, const std::function<void(const TrainingProgress&)>& progress = {},
    const std::atomic<bool>* stop = nullptr);

}  // namespace edgesage
