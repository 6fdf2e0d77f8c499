// Whether a network is like those that a predictor was trained on, and if not, why not.
//
// Four tests: operators and types that never occurred (always named), row and graph features
// outside the bounds of training (with a margin), a mix of rows that no measured network is like,
// and members of the ensemble that disagree more than they do on networks of the training's kind.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/features/graph_tensors.h"
#include "src/graph/graph.h"
#include "src/predict/leverage.h"

namespace edgesage {

// Plain data; part of the predictor file.
struct TrainingRange {
  // Bounds of the checked features, over the rows of one kind in training.
  struct KindBounds {
    std::string kind;  // row_kind_name
    int64_t count = 0;
    std::vector<float> low, high;  // one a checked node feature
  };
  std::vector<std::string> operators;  // "CONV_2D int8": kinds with the type of their first output
  std::vector<KindBounds> kinds;
  std::vector<float> global_low, global_high;
  // Largest standard deviation of the members' log predictions that is still normal, a quantity.
  std::vector<float> max_spread;
  Leverage leverage;               // empty in files of before it was known
  std::vector<ErrorModel> errors;  // one a quantity, or none; read with the leverage's features
};

struct RangeVerdict {
  bool in_range = true;
  // A sign of large errors, to compare networks by: infinite with an unknown operator; else the
  // scale of the first quantity's error where that was learnt, or how unlike it is to what was
  // measured (leverage, the members' spread), 1 being the edge of what is ordinary.
  double score = 0;
  std::vector<double> error_scale;  // a quantity; empty: 1 for all
  std::vector<std::string> reasons;
  std::vector<bool> unknown_operator;  // by operator of the main subgraph
};

// Kind and type of each operator of the main subgraph: "CONV_2D int8".
[[nodiscard]] std::vector<std::string> operator_signatures(const Graph& graph);

// Accumulates over the training networks.
class RangeBuilder {
 public:
  // `measured`: has a label; of others it is only known what they are like.
  void add(std::span<const std::string> signatures, const GraphTensors& tensors,
           bool measured = true);
  [[nodiscard]] TrainingRange finish() &&;

 private:
  TrainingRange range_;
  LeverageBuilder leverage_;
};

// Cost: linear in operators and rows; words are made for the reasons that are given alone. `spread`
// is the members' standard deviation of the log prediction, a quantity; may be empty.
[[nodiscard]] RangeVerdict judge_range(const TrainingRange& range,
                                       std::span<const std::string> signatures,
                                       const GraphTensors& tensors, std::span<const float> spread);

}  // namespace edgesage
