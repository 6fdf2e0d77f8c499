// A device as the evaluator of a search: every network is built, written and measured.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "src/devices/measure.h"
#include "src/learn/evaluation_log.h"
#include "src/search/evaluator.h"

namespace edgesage {

// As many workers of a device as may run beside each other: one where a single machine is behind it
// (DeviceDescription::exclusive), else one a thread (0: as many as the machine has). Starts none.
[[nodiscard]] Result<std::vector<WorkerClient>> workers_of(const DeviceDescription& device,
                                                           const DevicePlaces& places, int threads);

// Not synchronised; inside, each worker has a thread while there is something to measure. What the
// log knows is not measured again, and equal networks are measured once. Answers do not depend on
// the number of workers; the order of the log's lines does.
class DeviceEvaluator : public search::Evaluator {
 public:
  // `workers`: of the same device, one at least. `scratch` is a directory for one model file a
  // worker.
  DeviceEvaluator(std::vector<WorkerClient> workers, DeviceDescription device,
                  MeasureOptions options, EvaluationLog log, std::filesystem::path scratch);

  [[nodiscard]] Status prepare(const PruningSpace& space) override;
  [[nodiscard]] Result<std::vector<Result<search::Costs>>> evaluate(
      std::span<const Genome> genomes) override;
  // The measurement anew, whatever the log knows; `round` keeps rounds apart in it.
  [[nodiscard]] Result<std::vector<Result<search::Costs>>> measure_again(
      std::span<const Genome> genomes, int round);

  [[nodiscard]] int64_t runs() const { return runs_; }  // that this object made
  // How many genomes to ask at once that keep the workers busy and the caller informed.
  [[nodiscard]] size_t batch() const { return workers_.size() == 1 ? 1 : 4 * workers_.size(); }
  [[nodiscard]] const DeviceDescription& device() const { return device_; }

 private:
  Result<Json> measure_one(const Genome& genome, size_t worker);
  Status measure_all(std::span<const Genome> genomes, std::span<const std::string> keys);

  std::vector<WorkerClient> workers_;
  DeviceDescription device_;
  MeasureOptions options_;
  EvaluationLog log_;
  std::filesystem::path scratch_;
  const PruningSpace* space_ = nullptr;
  int64_t runs_ = 0;
};

}  // namespace edgesage
