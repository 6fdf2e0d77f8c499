// What a search minimises: integer genes in, objectives and a violation out.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "edgesage/result.h"
#include "src/transform/pruning_space.h"

namespace edgesage::search {

struct Outcome {
  std::vector<double> objectives;  // all minimised, all finite
  double violation = 0;            // of the constraints, summed; 0: feasible

  bool operator==(const Outcome&) const = default;
};

struct Individual {
  Genome genome;
  Outcome outcome;

  bool operator==(const Individual&) const = default;
};

struct Problem {
  std::vector<int32_t> counts;  // of each gene: its values are 0 to count - 1
  // Outcomes of some genomes, in order; may work in parallel. An error ends the search.
  std::function<Result<std::vector<Outcome>>(std::span<const Genome>)> evaluate;
  std::vector<Genome> initial;  // that the first population begins with; may be empty
};

}  // namespace edgesage::search
