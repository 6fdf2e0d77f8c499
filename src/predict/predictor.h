// Predictor: an ensemble of GraphSAGE networks of one device, ready to answer.
//
//   Result<Predictor> predictor = Predictor::load("ethos-u55-256.edgesage");
//   Prediction answer = predictor->predict(graph, "model.tflite", {});
//
// Immutable after loading; const members may be called from any number of threads.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "edgesage/predict.h"
#include "edgesage/result.h"
#include "src/features/priors.h"
#include "src/nn/model.h"
#include "src/predict/predictor_file.h"

namespace edgesage {

struct PredictOptions {
  // Fingerprint of this computer; another one than the predictor's is a warning. Empty: not known.
  std::string host_fingerprint;
  double level = 0.9;  // of the intervals: 0.5, 0.8, 0.9 or 0.95
};

// The ensemble's answer before it is put into words.
struct Estimate {
  std::vector<double> value;     // a quantity; geometric mean of the members
  std::vector<float> spread;     // a quantity: standard deviation of the members' logarithms
  std::vector<double> overhead;  // a quantity; operators and overhead sum to the value
  std::vector<std::vector<double>> operators;  // quantity, operator
};

class Predictor {
 public:
  // kBadStore where the parameters do not fit the network.
  static Result<Predictor> from(PredictorData data);
  static Result<Predictor> load(const std::filesystem::path& path);

  // Never fails: what cannot be known is missing with a reason, what is strange is a warning.
  [[nodiscard]] Prediction predict(const Graph& graph, const std::string& model,
                                   const PredictOptions& options) const;

  // The numbers alone, for evaluation and search.
  [[nodiscard]] Estimate estimate(const GraphTensors& tensors) const;
  // Half width of the interval in log, for a member spread; `in_range` false widens it.
  [[nodiscard]] double half_width(size_t quantity, double level, float spread, bool in_range) const;

  [[nodiscard]] const PredictorData& data() const { return data_; }
  [[nodiscard]] const Target& target() const { return target_; }
  [[nodiscard]] const std::vector<Quantity>& quantities() const { return quantities_; }

 private:
  Predictor() = default;
  PredictorData data_;
  Target target_;
  std::vector<Quantity> quantities_;
  std::vector<nn::Model> members_;
};

}  // namespace edgesage
