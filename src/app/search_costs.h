// What a search of the command line asks: costs and quality by genome, as objectives.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/app/search.h"
#include "src/learn/device_evaluator.h"
#include "src/learn/predictor_evaluator.h"
#include "src/learn/pruned_calibration.h"
#include "src/learn/pruned_quality.h"
#include "src/learn/residual_model.h"
#include "src/search/problem.h"

namespace edgesage::app {

// The evaluators of one request. Costs that were asked are remembered.
class SearchCosting {
 public:
  // Loads the predictor, starts no worker before it is needed. Files go to request.directory.
  [[nodiscard]] static Result<std::unique_ptr<SearchCosting>> make(const Context& context,
                                                                   const SearchRequest& request,
                                                                   const std::string& identity);

  // Measures pruned networks and learns a predictor from them, kept as predictor.edgesage.
  [[nodiscard]] Status calibrate(const PruningSpace& space);
  // Of a space whose values may change until prepare().
  [[nodiscard]] Status prepare(const PruningSpace& space);
  // Latency alone, by the predictor; for staircases. kUnsupported without one.
  [[nodiscard]] Result<std::vector<double>> latencies(const PruningSpace& space,
                                                      std::span<const Genome> genomes);
  [[nodiscard]] Result<std::vector<search::Outcome>> outcomes(std::span<const Genome> genomes);
  [[nodiscard]] Result<search::Costs> costs(const Genome& genome);
  // Of many; what the device fails on has none.
  [[nodiscard]] Result<std::vector<search::Costs>> all_costs(std::span<const Genome> genomes);
  // Genomes that are asked from now on differ from this one little.
  [[nodiscard]] Status stay_near(const Genome& genome);
  [[nodiscard]] Result<double> quality(const Genome& genome);
  // By the device, whatever the search asks.
  [[nodiscard]] Result<search::Costs> measured(const Genome& genome);
  // Measures those of the genomes that the predictor knows least of, and learns from them.
  [[nodiscard]] Status learn_from(std::span<const Genome> genomes, int32_t runs);

  [[nodiscard]] bool has_predictor() const { return predictor_ != nullptr; }
  [[nodiscard]] std::string predictor_id() const;
  [[nodiscard]] int64_t device_runs() const { return device_ ? device_->runs() : 0; }
  [[nodiscard]] double device_seconds() const { return device_ ? device_->measuring_seconds() : 0; }
  [[nodiscard]] Json learnt() const { return residuals_.to_json(); }
  void set_learnt(const Json& json) { residuals_ = ResidualModel::from_json(json); }
  [[nodiscard]] std::vector<double> objectives_of(const search::Costs& costs, double quality) const;
  // What the request's limits are exceeded by, as shares of them.
  [[nodiscard]] double violation_of(const search::Costs& costs) const;

 private:
  SearchCosting(const Context& context, const SearchRequest& request, std::string identity)
      : context_(context), request_(request), identity_(std::move(identity)) {}
  Status load_predictor(const std::filesystem::path& file);
  Status fit_additive(const PruningSpace& space);
  [[nodiscard]] PrunedCalibrationOptions calibration_options() const;
  Status open_device();
  Status open_quality();
  Status check_objectives(const search::Costs& costs) const;
  Result<std::vector<Result<search::Costs>>> ask(std::span<const Genome> genomes);
  [[nodiscard]] std::vector<double> shares(const Genome& genome) const;
  void correct(const Genome& genome, search::Costs& costs) const;
  Result<WorkerClient> worker_of(const std::string& device) const;

  const Context& context_;
  const SearchRequest& request_;
  std::string identity_;
  const PruningSpace* space_ = nullptr;
  std::unique_ptr<Control> additive_;
  std::unique_ptr<Predictor> predictor_;
  std::unique_ptr<PredictorEvaluator> predicted_;
  std::unique_ptr<DeviceEvaluator> device_;
  std::unique_ptr<search::Quality> quality_;
  ResidualModel residuals_;
};

}  // namespace edgesage::app
