// Greedy adaptation to one target, after Yang and others, "NetAdapt", ECCV 2018: from the original
// on, every step makes one gene smaller, as little as the step asks for, and takes the one that
// leaves the most quality.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "edgesage/result.h"
#include "src/transform/pruning_space.h"

namespace edgesage::search {

struct AdaptationProblem {
  std::vector<int32_t> counts;
  Genome start;
  // What must come down to the target, and what is to stay high; of some genomes, in order.
  std::function<Result<std::vector<double>>(std::span<const Genome>)> cost;
  std::function<Result<std::vector<double>>(std::span<const Genome>)> quality;
};

struct AdaptationOptions {
  double target = 0;
  double first_step = 0.05;  // of the start's cost
  double decay = 0.96;       // of the step from one to the next
};

struct AdaptationStep {
  Genome genome;
  double cost = 0, quality = 0;
  int32_t gene = -1;  // that became smaller; -1: the start
};

struct Adaptation {
  std::vector<AdaptationStep> steps;  // the start first
  bool reached = false;               // the last step is at or below the target
  int64_t cost_evaluations = 0, quality_evaluations = 0;
};

// Where no gene alone can bring the step, the one that brings most is taken. Ends at the target, or
// where nothing gets cheaper any more. `after_step` may stop it. Errors are the callbacks'.
[[nodiscard]] Result<Adaptation> adapt_greedily(
    const AdaptationProblem& problem, const AdaptationOptions& options,
    const std::function<bool(const AdaptationStep&)>& after_step);

}  // namespace edgesage::search
