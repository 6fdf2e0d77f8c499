// What a search knows of costs and quality: two interfaces, served by predictors, devices, commands
// and weights (src/learn, src/app).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "edgesage/result.h"
#include "src/transform/pruning_space.h"

namespace edgesage::search {

// What one network costs; absent: not known here.
struct Costs {
  std::optional<double> latency_ms, energy_mj, peak_ram_bytes;
  int64_t weights_bytes = 0, macs = 0;
  double half_width = 0;  // of the latency's interval, in log; 0: measured, or not known
  bool measured = false;
  std::vector<double> operator_latency_ms;  // where asked for
};

// Prices changes of one network.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  // Once, before the first evaluate: whatever is the same for all changes of the base network.
  // `space` must outlive the evaluator.
  [[nodiscard]] virtual Status prepare(const PruningSpace& space) = 0;
  // Costs of some genomes, in order. An error of one is that network's alone (it does not run on
  // the device); an error of the whole ends the search. Called by one thread; may use several.
  [[nodiscard]] virtual Result<std::vector<Result<Costs>>> evaluate(
      std::span<const Genome> genomes) = 0;
};

// How good a pruned network still is; higher is better.
class Quality {
 public:
  virtual ~Quality() = default;
  [[nodiscard]] virtual Result<std::vector<Result<double>>> evaluate(
      std::span<const Genome> genomes) = 0;
};

}  // namespace edgesage::search
