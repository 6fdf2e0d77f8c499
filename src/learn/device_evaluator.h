// A device as the evaluator of a search: every network is built, written and measured.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
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
// the number of workers; the order of the log's lines does. Each answer says in `seconds` what the
// measurement took, whoever made it.
class DeviceEvaluator : public search::Evaluator {
 public:
  // `workers`: of the same device, one at least. `scratch` is a directory for one model file a
  // worker. `shared`, where given, is a log of several searches by the content of the network's
  // file: of a device that answers the same to the same file, such as a compiler, and nothing else.
  // It must outlive this.
  DeviceEvaluator(std::vector<WorkerClient> workers, DeviceDescription device,
                  MeasureOptions options, EvaluationLog log, std::filesystem::path scratch,
                  EvaluationLog* shared = nullptr);

  [[nodiscard]] Status prepare(const PruningSpace& space) override;
  [[nodiscard]] Result<std::vector<Result<search::Costs>>> evaluate(
      std::span<const Genome> genomes) override;
  // The measurement anew, whatever the logs know; `round` keeps rounds apart in the own one.
  [[nodiscard]] Result<std::vector<Result<search::Costs>>> measure_again(
      std::span<const Genome> genomes, int round);

  [[nodiscard]] int64_t runs() const { return runs_; }  // that this object made
  // Of this object, waiting for the workers.
  [[nodiscard]] double measuring_seconds() const { return measuring_seconds_; }
  [[nodiscard]] size_t workers() const { return workers_.size(); }
  // How many genomes to ask at once that keep the workers busy and the caller informed.
  [[nodiscard]] size_t batch() const { return workers_.size() == 1 ? 1 : 4 * workers_.size(); }
  [[nodiscard]] const DeviceDescription& device() const { return device_; }

 private:
  struct Answer {
    Json json;
    std::string content;    // hash of the network's file
    bool is_known = false;  // to the shared log
  };
  Result<Answer> answer_one(const Genome& genome, size_t worker, bool anew);
  Result<Json> measure_one(const Graph& graph, std::span<const std::byte> bytes, size_t worker);
  Status keep(const Answer& answer, const std::string& key);
  Status measure_all(std::span<const Genome> genomes, std::span<const std::string> keys, bool anew);

  std::vector<WorkerClient> workers_;
  DeviceDescription device_;
  MeasureOptions options_;
  EvaluationLog log_;
  std::filesystem::path scratch_;
  EvaluationLog* shared_;
  const PruningSpace* space_ = nullptr;
  // Over the logs and the count while workers run.
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
  int64_t runs_ = 0;
  double measuring_seconds_ = 0;
};

}  // namespace edgesage
