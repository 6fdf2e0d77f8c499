// Predictor: an ensemble of GraphSAGE networks of one device, ready to answer.
//
//   Result<Predictor> predictor = Predictor::load("ethos-u55-256.edgesage");
//   Prediction answer = predictor->predict(graph, "model.tflite", {});
//
// Immutable after loading, without hidden state: const members may be called from any number of
// threads. What a call writes to is its workspace; calls that bring one of their own allocate
// nothing once it has grown (estimate), or only what the answer holds (predict):
//
//   PredictWorkspace workspace;  // one a thread
//   for (const GraphTensors& tensors : many) use(predictor.estimate(tensors, workspace));
//
// Cost: a forward pass of each member, linear in nodes and edges.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "edgesage/predict.h"
#include "edgesage/result.h"
#include "src/features/priors.h"
#include "src/nn/model.h"
#include "src/predict/estimate.h"
#include "src/predict/predictor_file.h"

namespace edgesage {

struct PredictOptions {
  // Fingerprint of this computer; another one than the predictor's is a warning. Empty: not known.
  std::string host_fingerprint;
  double level = 0.9;  // of the intervals: 0.5, 0.8, 0.9 or 0.95
};

class Predictor {
 public:
  // kBadStore where the parameters do not fit the network.
  // `precision` is that of the weights in memory: bfloat16 takes half of it, and less time, at a
  // cost in accuracy that docs/performance.md gives.
  static Result<Predictor> from(PredictorData data,
                                nn::Precision precision = nn::Precision::kFloat32);
  static Result<Predictor> load(const std::filesystem::path& path,
                                nn::Precision precision = nn::Precision::kFloat32);

  // Never fails: what cannot be known is missing with a reason, what is strange is a warning.
  [[nodiscard]] Prediction predict(const Graph& graph, const std::string& model,
                                   const PredictOptions& options) const;
  [[nodiscard]] Prediction predict(const Graph& graph, const std::string& model,
                                   const PredictOptions& options,
                                   PredictWorkspace& workspace) const;

  // The numbers alone, for evaluation and search. `tensors` are extract_features' for target() and
  // quantities(). The answer lies in the workspace, until its next use.
  const Estimate& estimate(const GraphTensors& tensors, PredictWorkspace& workspace) const;
  [[nodiscard]] Estimate estimate(const GraphTensors& tensors) const;
  // Many graphs in few passes, on up to `threads` threads (0: as many as the machine has). Each
  // answer has the bits of a single call, whatever the number of threads and the graphs beside it.
  [[nodiscard]] std::vector<Estimate> estimate_batch(std::span<const GraphTensors> graphs,
                                                     int threads = 1) const;
  // Half width of the interval in log, for a member spread: in units of the error's scale where the
  // verdict knows it, and wider outside the range.
  [[nodiscard]] double half_width(size_t quantity, double level, float spread,
                                  const RangeVerdict& verdict) const;

  [[nodiscard]] const PredictorData& data() const { return data_; }
  [[nodiscard]] const Target& target() const { return target_; }
  [[nodiscard]] const std::vector<Quantity>& quantities() const { return quantities_; }
  [[nodiscard]] const std::vector<nn::Model>& members() const { return members_; }

 private:
  Predictor() = default;
  void estimate_group(std::span<const GraphTensors> graphs, PredictWorkspace& workspace,
                      std::span<Estimate> answers) const;

  PredictorData data_;
  Target target_;
  std::vector<Quantity> quantities_;
  std::vector<nn::Model> members_;
};

}  // namespace edgesage
