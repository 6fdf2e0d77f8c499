// NSGA-II over integer genes, with constrained domination (Deb, Pratap, Agarwal and Meyarivan, "A
// fast and elitist multiobjective genetic algorithm", IEEE TEVC 2002).
//
//   SearchState state;                     // or one that was kept: the search goes on from it
//   Status done = run_nsga2(problem, {.evaluations = 1000, .seed = 1}, state,
//                           [&](const SearchState& now) { keep(now); return true; });
//   use(state.front);
//
// Genes are ordered numbers: children take a parent's value, or one between or near the parents'
// (simulated binary crossover, rounded), and mutate by small steps more often than by large ones.
// Random numbers of a generation follow from the seed and its number, so a search that is stopped
// after any generation and resumed ends where it would have.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "edgesage/result.h"
#include "src/search/problem.h"

namespace edgesage::search {

struct Nsga2Options {
  int32_t population = 64;     // even; at least 8
  int64_t evaluations = 1000;  // in all, those of the first population included
  uint64_t seed = 1;
  double crossover = 0.9;  // share of couples that exchange genes
  // Random search instead: every generation is drawn anew. The control of any search.
  bool random = false;
};

struct GenerationRecord {
  int64_t generation = 0, evaluations = 0, front_size = 0;
  double hypervolume = 0;

  bool operator==(const GenerationRecord&) const = default;
};

// Everything that a resumed search needs. Plain data.
struct SearchState {
  int64_t generation = 0;  // finished ones, the first population included
  int64_t evaluations = 0;
  std::vector<Individual> population;
  std::vector<Individual> front;  // of everything evaluated; by the first objective
  // Of the hypervolume: the worst of the first population in each objective, unless it was set.
  std::vector<double> reference;
  std::vector<GenerationRecord> history;

  bool operator==(const SearchState&) const = default;
};

// Runs until the evaluations are used up, or `after_generation` (called after each, with the state
// to keep) answers false. kInvalidArgument for options or a state that make no sense; errors of the
// evaluation otherwise, with the state of the last whole generation.
[[nodiscard]] Status run_nsga2(const Problem& problem, const Nsga2Options& options,
                               SearchState& state,
                               const std::function<bool(const SearchState&)>& after_generation);

}  // namespace edgesage::search
