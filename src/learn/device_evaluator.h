// A device as the evaluator of a search: every network is built, written and measured.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "src/devices/measure.h"
#include "src/learn/evaluation_log.h"
#include "src/search/evaluator.h"

namespace edgesage {

// Not synchronised; one worker, one network at a time. What the log knows is not measured again.
class DeviceEvaluator : public search::Evaluator {
 public:
  // `scratch` is a directory for one model file at a time.
  DeviceEvaluator(WorkerClient worker, DeviceDescription device, MeasureOptions options,
                  EvaluationLog log, std::filesystem::path scratch);

  [[nodiscard]] Status prepare(const PruningSpace& space) override;
  [[nodiscard]] Result<std::vector<Result<search::Costs>>> evaluate(
      std::span<const Genome> genomes) override;
  // The measurement anew, whatever the log knows; `round` keeps rounds apart in it.
  [[nodiscard]] Result<std::vector<Result<search::Costs>>> measure_again(
      std::span<const Genome> genomes, int round);

  [[nodiscard]] int64_t runs() const { return runs_; }  // that this object made
  [[nodiscard]] const DeviceDescription& device() const { return device_; }

 private:
  Result<Result<search::Costs>> measure_one(const Genome& genome, const std::string& key);

  WorkerClient worker_;
  DeviceDescription device_;
  MeasureOptions options_;
  EvaluationLog log_;
  std::filesystem::path scratch_;
  const PruningSpace* space_ = nullptr;
  int64_t runs_ = 0;
};

}  // namespace edgesage
