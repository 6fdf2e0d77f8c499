#include "src/search/nsga2.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "src/base/rng.h"
#include "src/search/pareto.h"

namespace edgesage::search {
namespace {

// Distribution indexes of the original paper: children near their parents, small steps.
constexpr double kCrossoverIndex = 15, kMutationIndex = 20;

class Breeder {
 public:
  Breeder(const Problem& problem, const Nsga2Options& options, int64_t generation)
      : counts_(problem.counts),
        options_(options),
        rng_(options.seed, fmt::format("generation {}", generation)) {}

  Genome random() {
    Genome genome;
    for (const int32_t count : counts_)
      genome.push_back(static_cast<int32_t>(rng_.integer(0, count - 1)));
    return genome;
  }

  std::vector<Genome> children(std::span<const Individual> parents) {
    rank(parents);
    std::set<Genome> known;
    for (const Individual& parent : parents) known.insert(parent.genome);
    std::vector<Genome> made;
    while (made.size() < static_cast<size_t>(options_.population)) {
      Genome a = parents[choose()].genome, b = parents[choose()].genome;
      if (rng_.chance(options_.crossover)) cross(a, b);
      for (Genome* child : {&a, &b}) {
        mutate(*child);
        // What is known already is not asked again, as long as there is something else.
        for (int tries = 0; tries < 10 && known.contains(*child); ++tries) mutate(*child, true);
        known.insert(*child);
        made.push_back(std::move(*child));
      }
    }
    made.resize(static_cast<size_t>(options_.population));
    return made;
  }

 private:
  void rank(std::span<const Individual> parents) {
    std::vector<Outcome> outcomes;
    for (const Individual& parent : parents) outcomes.push_back(parent.outcome);
    rank_ = front_ranks(outcomes);
    crowding_.assign(parents.size(), 0.0);
    const int32_t fronts = *std::ranges::max_element(rank_) + 1;
    for (int32_t level = 0; level < fronts; ++level) {
      std::vector<size_t> front;
      for (size_t i = 0; i < rank_.size(); ++i)
        if (rank_[i] == level) front.push_back(i);
      const std::vector<double> distances = crowding_distances(outcomes, front);
      for (size_t i = 0; i < front.size(); ++i) crowding_[front[i]] = distances[i];
    }
  }

  // The better of two.
  size_t choose() {
    const auto last = static_cast<int64_t>(rank_.size()) - 1;
    const auto a = static_cast<size_t>(rng_.integer(0, last));
    const auto b = static_cast<size_t>(rng_.integer(0, last));
    if (rank_[a] != rank_[b]) return rank_[a] < rank_[b] ? a : b;
    return crowding_[a] >= crowding_[b] ? a : b;
  }

  int32_t rounded(double value, size_t gene) const {
    return static_cast<int32_t>(
        std::clamp(std::lround(value), 0L, static_cast<long>(counts_[gene]) - 1));
  }

  void cross(Genome& a, Genome& b) {
    for (size_t i = 0; i < a.size(); ++i) {
      const double kind = rng_.uniform(), u = rng_.uniform();
      if (a[i] == b[i] || kind < 0.35) continue;
      if (kind < 0.65) {
        std::swap(a[i], b[i]);
        continue;
      }
      const double power = 1.0 / (kCrossoverIndex + 1);
      const double beta = u < 0.5 ? std::pow(2 * u, power) : std::pow(1 / (2 - 2 * u), power);
      const double middle = 0.5 * (a[i] + b[i]), half = 0.5 * beta * (b[i] - a[i]);
      a[i] = rounded(middle - half, i);
      b[i] = rounded(middle + half, i);
    }
  }

  // One gene in the mean; `always` changes one at least.
  void mutate(Genome& genome, bool always = false) {
    const double probability = 1.0 / static_cast<double>(genome.size());
    const auto chosen =
        static_cast<size_t>(rng_.integer(0, static_cast<int64_t>(genome.size()) - 1));
    for (size_t i = 0; i < genome.size(); ++i) {
      const bool wanted = rng_.chance(probability);
      const double u = rng_.uniform();
      const bool upwards = rng_.chance(0.5);
      if (counts_[i] < 2 || !(wanted || (always && i == chosen))) continue;
      if (counts_[i] == 2) {
        genome[i] = 1 - genome[i];
        continue;
      }
      // Polynomial in the width of the range, one step at least; every tenth anywhere.
      const double share = 1 - std::pow(1 - u, 1 / (kMutationIndex / 4 + 1));
      const auto step = static_cast<int32_t>(
          std::max(1L, std::lround(share * static_cast<double>(counts_[i] - 1))));
      int32_t value = genome[i] + (upwards ? step : -step);
      if (value < 0 || value >= counts_[i]) value = genome[i] + (upwards ? -step : step);
      if (value < 0 || value >= counts_[i])
        value = static_cast<int32_t>(rng_.integer(0, counts_[i] - 1));
      genome[i] = value;
    }
  }

  const std::vector<int32_t>& counts_;
  const Nsga2Options& options_;
  Rng rng_;
  std::vector<int32_t> rank_;
  std::vector<double> crowding_;
};

// The best by front, and of the last front that fits in part those that stand most alone.
std::vector<Individual> survivors(std::vector<Individual> all, size_t count) {
  if (all.size() <= count) return all;
  std::vector<Outcome> outcomes;
  for (const Individual& one : all) outcomes.push_back(one.outcome);
  const std::vector<int32_t> rank = front_ranks(outcomes);
  std::vector<Individual> kept;
  for (int32_t level = 0; kept.size() < count; ++level) {
    std::vector<size_t> front;
    for (size_t i = 0; i < all.size(); ++i)
      if (rank[i] == level) front.push_back(i);
    if (kept.size() + front.size() > count) {
      const std::vector<double> distances = crowding_distances(outcomes, front);
      std::vector<size_t> order(front.size());
      for (size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::ranges::stable_sort(order,
                               [&](size_t a, size_t b) { return distances[a] > distances[b]; });
      std::vector<size_t> chosen;
      for (size_t i = 0; kept.size() + i < count; ++i) chosen.push_back(front[order[i]]);
      std::ranges::sort(chosen);
      front = std::move(chosen);
    }
    for (const size_t i : front) kept.push_back(std::move(all[i]));
  }
  return kept;
}

Status check(const Problem& problem, const Nsga2Options& options, const SearchState& state) {
  const auto bad = [](std::string message) {
    return make_error(ErrorCode::kInvalidArgument, "search", std::move(message));
  };
  if (problem.counts.empty() ||
      std::ranges::any_of(problem.counts, [](int32_t count) { return count < 1; }))
    return bad("there is no gene, or one without values");
  if (options.population < 8 || options.population % 2 != 0)
    return bad(
        fmt::format("a population of {}; even numbers from 8 are allowed", options.population));
  const auto fits = [&](const Genome& genome) {
    if (genome.size() != problem.counts.size()) return false;
    for (size_t i = 0; i < genome.size(); ++i)
      if (genome[i] < 0 || genome[i] >= problem.counts[i]) return false;
    return true;
  };
  for (const Genome& genome : problem.initial)
    if (!fits(genome)) return bad("an initial genome does not fit the genes");
  for (const auto* individuals : {&state.population, &state.front})
    for (const Individual& one : *individuals)
      if (!fits(one.genome)) return bad("the search to resume has other genes");
  return {};
}

Status evaluate(const Problem& problem, std::vector<Genome> genomes,
                std::vector<Individual>& evaluated) {
  EDGESAGE_ASSIGN_OR_RETURN(std::vector<Outcome> outcomes, problem.evaluate(genomes));
  if (outcomes.size() != genomes.size())
    return make_error(ErrorCode::kInternal, "search", "outcomes are missing");
  for (size_t i = 0; i < genomes.size(); ++i)
    evaluated.push_back({std::move(genomes[i]), std::move(outcomes[i])});
  return {};
}

std::vector<double> worst_of(std::span<const Individual> individuals) {
  std::vector<double> worst;
  for (const Individual& one : individuals) {
    worst.resize(one.outcome.objectives.size(), -std::numeric_limits<double>::infinity());
    for (size_t i = 0; i < worst.size(); ++i)
      worst[i] = std::max(worst[i], one.outcome.objectives[i]);
  }
  return worst;
}

void record(SearchState& state) {
  std::vector<std::vector<double>> points;
  for (const Individual& one : state.front) points.push_back(one.outcome.objectives);
  state.history.push_back({state.generation, state.evaluations,
                           static_cast<int64_t>(state.front.size()),
                           hypervolume(std::move(points), state.reference)});
}

}  // namespace

Status run_nsga2(const Problem& problem, const Nsga2Options& options, SearchState& state,
                 const std::function<bool(const SearchState&)>& after_generation) {
  EDGESAGE_RETURN_IF_ERROR(check(problem, options, state));
  const auto size = static_cast<size_t>(options.population);
  while (state.evaluations < options.evaluations) {
    Breeder breeder(problem, options, state.generation);
    std::vector<Genome> genomes;
    if (state.generation == 0) genomes = problem.initial;
    if (state.generation == 0 || options.random) {
      while (genomes.size() < size) genomes.push_back(breeder.random());
    } else {
      genomes = breeder.children(state.population);
    }
    const auto left = static_cast<size_t>(options.evaluations - state.evaluations);
    if (genomes.size() > left) genomes.resize(left);
    std::vector<Individual> fresh;
    EDGESAGE_RETURN_IF_ERROR(evaluate(problem, std::move(genomes), fresh));
    if (state.reference.empty()) state.reference = worst_of(fresh);
    for (const Individual& one : fresh) add_to_front(state.front, one);
    std::ranges::stable_sort(state.front, [](const Individual& a, const Individual& b) {
      return a.outcome.objectives < b.outcome.objectives;
    });
    state.evaluations += static_cast<int64_t>(fresh.size());
    std::vector<Individual> all = std::move(state.population);
    all.insert(all.end(), std::make_move_iterator(fresh.begin()),
               std::make_move_iterator(fresh.end()));
    state.population = survivors(std::move(all), size);
    ++state.generation;
    record(state);
    if (!after_generation(state)) break;
  }
  return {};
}

}  // namespace edgesage::search
