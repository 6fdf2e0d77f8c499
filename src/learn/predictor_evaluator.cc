#include "src/learn/predictor_evaluator.h"

#include <algorithm>

#include "src/base/parallel.h"

namespace edgesage {

struct PredictorEvaluator::Worker {
  Worker(const PruningSpace& space, const Predictor& predictor)
      : reader(space, predictor.target(), predictor.quantities()) {}

  PrunedReader reader;
  PredictWorkspace workspace;
  std::optional<IncrementalPrediction> near;
};

PredictorEvaluator::PredictorEvaluator(const Predictor& predictor,
                                       PredictorEvaluatorOptions options)
    : predictor_(&predictor), options_(std::move(options)) {
  const auto& quantities = predictor.quantities();
  for (size_t q = 0; q < quantities.size(); ++q) {
    const int column = static_cast<int>(q);
    if (quantities[q] == Quantity::kLatencyMs) latency_ = column;
    if (quantities[q] == Quantity::kEnergyMj) energy_ = column;
    if (quantities[q] == Quantity::kSramBytes) ram_ = column;
  }
}

PredictorEvaluator::~PredictorEvaluator() = default;

Status PredictorEvaluator::prepare(const PruningSpace& space) {
  space_ = &space;
  workers_.clear();
  const int threads = options_.threads > 0 ? options_.threads : hardware_threads();
  for (int i = 0; i < threads; ++i)
    workers_.push_back(std::make_unique<Worker>(space, *predictor_));
  return set_anchor(space.base());
}

Status PredictorEvaluator::set_anchor(const Genome& genome) {
  EDGESAGE_ASSIGN_OR_RETURN(const PrunedNetwork read, workers_.front()->reader.read(genome));
  anchor_ = genome;
  at_anchor_.emplace(*predictor_, read.tensors);
  return {};
}

const Estimate& PredictorEvaluator::estimate(Worker& worker, const Genome& genome,
                                             const GraphTensors& tensors) const {
  int32_t changed = 0;
  for (size_t g = 0; g < genome.size(); ++g) changed += genome[g] != anchor_[g] ? 1 : 0;
  if (changed > options_.most_changed) return predictor_->estimate(tensors, worker.workspace);
  worker.near = at_anchor_;
  return worker.near->update(tensors);
}

Result<search::Costs> PredictorEvaluator::price(Worker& worker, const Genome& genome) const {
  EDGESAGE_ASSIGN_OR_RETURN(const PrunedNetwork read, worker.reader.read(genome));
  const Estimate& answer = estimate(worker, genome, read.tensors);
  search::Costs costs;
  const auto value = [&](int column) -> std::optional<double> {
    if (column < 0) return std::nullopt;
    return answer.value[static_cast<size_t>(column)];
  };
  costs.latency_ms = options_.latency ? options_.latency(read.tensors) : value(latency_);
  costs.energy_mj = value(energy_);
  costs.peak_ram_bytes = value(ram_);
  if (!costs.peak_ram_bytes && options_.peak_ram)
    costs.peak_ram_bytes = options_.peak_ram(*read.graph, read.lowering);
  for (const RowFacts& row : read.facts.rows) costs.macs += row.cost.macs;
  costs.weights_bytes = constant_totals(*read.graph).weights_bytes;
  if (options_.intervals && latency_ >= 0) {
    const auto q = static_cast<size_t>(latency_);
    const RangeVerdict verdict = judge_range(
        predictor_->data().range, operator_signatures(*read.graph), read.tensors, answer.spread);
    costs.half_width = predictor_->half_width(q, 0.9, answer.spread[q], verdict);
  }
  if (options_.operators && latency_ >= 0)
    costs.operator_latency_ms = answer.operators[static_cast<size_t>(latency_)];
  return costs;
}

Result<std::vector<Result<search::Costs>>> PredictorEvaluator::evaluate(
    std::span<const Genome> genomes) {
  if (space_ == nullptr)
    return make_error(ErrorCode::kInternal, "search", "the evaluator was not prepared");
  std::vector<Result<search::Costs>> answers(genomes.size(), search::Costs{});
  const size_t parts = std::min(workers_.size(), std::max<size_t>(genomes.size(), 1));
  parallel_for(static_cast<int64_t>(parts), static_cast<int>(parts), [&](int64_t part) {
    const auto p = static_cast<size_t>(part);
    for (size_t i = p; i < genomes.size(); i += parts) answers[i] = price(*workers_[p], genomes[i]);
  });
  return answers;
}

}  // namespace edgesage
