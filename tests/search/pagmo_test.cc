// NSGA-II against pagmo2's, on standard problems with integer variables: equally many evaluations,
// the same population, hypervolumes of the last populations over several seeds.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <pagmo/algorithm.hpp>
#include <pagmo/algorithms/nsga2.hpp>
#include <pagmo/population.hpp>
#include <pagmo/problem.hpp>
#include <pagmo/utils/hypervolume.hpp>

#include "src/base/rng.h"
#include "src/search/nsga2.h"
#include "src/search/pareto.h"
#include "tests/search/standard_problems.h"

namespace edgesage::search {
namespace {

constexpr int kSeeds = 5, kPopulation = 64, kGenerations = 60;

struct PagmoProblem {
  test::StandardProblem standard;
  pagmo::vector_double fitness(const pagmo::vector_double& genes) const {
    return standard.of_integers(genes);
  }
  std::pair<pagmo::vector_double, pagmo::vector_double> get_bounds() const {
    const auto n = static_cast<size_t>(standard.variables);
    return {pagmo::vector_double(n, 0.0),
            pagmo::vector_double(n, static_cast<double>(standard.values - 1))};
  }
  pagmo::vector_double::size_type get_nobj() const { return standard.objectives(); }
  pagmo::vector_double::size_type get_nix() const {
    return static_cast<pagmo::vector_double::size_type>(standard.variables);
  }
};

double pagmo_volume(const test::StandardProblem& standard, unsigned seed) {
  pagmo::population population(pagmo::problem{PagmoProblem{standard}}, kPopulation, seed);
  pagmo::algorithm algorithm{pagmo::nsga2(kGenerations - 1, 0.95, 10., 0.01, 50., seed)};
  population = algorithm.evolve(population);
  return hypervolume(population.get_f(), standard.reference());
}

double our_volume(const test::StandardProblem& standard, unsigned seed) {
  SearchState state;
  const Status done = run_nsga2(
      standard.problem(),
      {.population = kPopulation, .evaluations = kPopulation * kGenerations, .seed = seed}, state,
      [](const SearchState&) { return true; });
  EXPECT_TRUE(done);
  std::vector<std::vector<double>> points;
  for (const Individual& one : state.population) points.push_back(one.outcome.objectives);
  return hypervolume(std::move(points), standard.reference());
}

class AgainstPagmo : public testing::TestWithParam<test::Standard> {};

TEST_P(AgainstPagmo, ReachesAsLargeAVolume) {
  const test::StandardProblem standard{.kind = GetParam()};
  double ours = 0, theirs = 0;
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    ours += our_volume(standard, seed) / kSeeds;
    theirs += pagmo_volume(standard, seed) / kSeeds;
  }
  fmt::print("hypervolume {:.4f}, pagmo2's {:.4f}: {:.2f} %\n", ours, theirs, 100 * ours / theirs);
  EXPECT_GE(ours, 0.99 * theirs);
}
INSTANTIATE_TEST_SUITE_P(Problems, AgainstPagmo,
                         testing::Values(test::Standard::kZdt1, test::Standard::kZdt2,
                                         test::Standard::kZdt3, test::Standard::kDtlz2));

TEST(Hypervolume, IsPagmos) {
  Rng rng(5);
  for (const size_t objectives : {2U, 3U, 4U})
    for (int round = 0; round < 20; ++round) {
      std::vector<std::vector<double>> points(25);
      for (auto& point : points)
        for (size_t i = 0; i < objectives; ++i) point.push_back(rng.uniform());
      const std::vector<double> reference(objectives, 1.0);
      const double expected = pagmo::hypervolume(points).compute(reference);
      EXPECT_NEAR(hypervolume(points, reference), expected, 1e-12);
    }
}

}  // namespace
}  // namespace edgesage::search
