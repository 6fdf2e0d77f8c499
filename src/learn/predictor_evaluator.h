// A predictor as the evaluator of a search: from a genome to its costs without building it.
//
//   PredictorEvaluator costs(predictor, {});
//   Status ready = costs.prepare(space);
//   auto answers = costs.evaluate(genomes);
//
// The answer is that of Predictor::predict for the network that PruningSpace::build makes: a
// PrunedReader works out what genes change, and a genome that is the anchor but for some genes is
// predicted by what differs (IncrementalPrediction, equal to 1e-6).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "src/learn/pruned_reader.h"
#include "src/predict/incremental_prediction.h"
#include "src/predict/predictor.h"
#include "src/search/evaluator.h"

namespace edgesage {

struct PredictorEvaluatorOptions {
  int threads = 0;         // 0: as many as the machine has; results do not depend on it
  bool intervals = false;  // Costs::half_width
  bool operators = false;  // Costs::operator_latency_ms
  // Peak memory in place of the predictor's, where that has none; may be called by several threads.
  std::function<std::optional<double>(const Graph&, const Lowering&)> peak_ram;
  // Another model's latency in ms in place of the predictor's; may be called by several threads.
  std::function<double(const GraphTensors&)> latency;
  // Genes that may differ from the anchor; more are a whole pass. 0: always that.
  int32_t most_changed = 3;
};

// Not synchronised. The predictor must outlive it.
class PredictorEvaluator : public search::Evaluator {
 public:
  PredictorEvaluator(const Predictor& predictor, PredictorEvaluatorOptions options);
  ~PredictorEvaluator() override;

  [[nodiscard]] Status prepare(const PruningSpace& space) override;
  // What changes are measured against from now on; prepare() sets it to the original.
  [[nodiscard]] Status set_anchor(const Genome& genome);
  [[nodiscard]] Result<std::vector<Result<search::Costs>>> evaluate(
      std::span<const Genome> genomes) override;

 private:
  struct Worker;
  Result<search::Costs> price(Worker& worker, const Genome& genome) const;
  const Estimate& estimate(Worker& worker, const Genome& genome, const GraphTensors& tensors) const;

  const Predictor* predictor_;
  PredictorEvaluatorOptions options_;
  const PruningSpace* space_ = nullptr;
  int latency_ = -1, energy_ = -1, ram_ = -1;  // columns of the predictor; -1: it has none
  std::vector<std::unique_ptr<Worker>> workers_;
  Genome anchor_;
  std::optional<IncrementalPrediction> at_anchor_;
};

}  // namespace edgesage
