#include "src/search/nsga2.h"

#include <gtest/gtest.h>

#include "src/search/checkpoint.h"
#include "src/search/pareto.h"
#include "tests/search/standard_problems.h"

namespace edgesage::search {
namespace {

const auto kAlways = [](const SearchState&) { return true; };

TEST(Nsga2, EndsWhereItWouldHaveWhenStoppedAndResumed) {
  const test::StandardProblem standard{.kind = test::Standard::kZdt3};
  const Nsga2Options options{.population = 20, .evaluations = 330, .seed = 7};
  SearchState whole;
  ASSERT_TRUE(run_nsga2(standard.problem(), options, whole, kAlways));
  EXPECT_EQ(whole.evaluations, 330);
  SearchState pieces;
  while (pieces.evaluations < options.evaluations) {
    ASSERT_TRUE(run_nsga2(standard.problem(), options, pieces,
                          [](const SearchState& now) { return now.generation % 4 != 0; }));
    const auto text = to_text(state_to_json(pieces));
    pieces = *state_from_json(*parse_json(text, "state", ErrorCode::kBadStore), "state");
  }
  EXPECT_EQ(pieces, whole);
}

TEST(Nsga2, SameSeedSameFrontAnotherSeedAnother) {
  const test::StandardProblem standard{.kind = test::Standard::kZdt1};
  SearchState a, b, c;
  ASSERT_TRUE(run_nsga2(standard.problem(), {.evaluations = 320, .seed = 1}, a, kAlways));
  ASSERT_TRUE(run_nsga2(standard.problem(), {.evaluations = 320, .seed = 1}, b, kAlways));
  ASSERT_TRUE(run_nsga2(standard.problem(), {.evaluations = 320, .seed = 2}, c, kAlways));
  EXPECT_EQ(a, b);
  EXPECT_NE(a.front, c.front);
}

TEST(Nsga2, BeatsRandomSearch) {
  for (const auto kind : {test::Standard::kZdt1, test::Standard::kDtlz2}) {
    const test::StandardProblem standard{.kind = kind};
    SearchState searched, drawn;
    searched.reference = drawn.reference = standard.reference();
    ASSERT_TRUE(run_nsga2(standard.problem(), {.evaluations = 3200}, searched, kAlways));
    ASSERT_TRUE(
        run_nsga2(standard.problem(), {.evaluations = 3200, .random = true}, drawn, kAlways));
    EXPECT_GT(searched.history.back().hypervolume, drawn.history.back().hypervolume);
  }
}

// The feasible half of a trade-off line, from a start where nothing is feasible.
TEST(Nsga2, FindsTheFeasibleFront) {
  Problem problem;
  problem.counts.assign(8, 32);
  problem.evaluate = [](std::span<const Genome> genomes) {
    std::vector<Outcome> outcomes;
    for (const Genome& genome : genomes) {
      double sum = 0;
      for (const int32_t gene : genome) sum += gene;
      const double cost = sum, loss = 248 - sum;
      outcomes.push_back({{cost, loss}, std::max(0.0, cost - 40) / 40});
    }
    return Result<std::vector<Outcome>>(std::move(outcomes));
  };
  problem.initial = {Genome(8, 31)};
  SearchState state;
  ASSERT_TRUE(run_nsga2(problem, {.evaluations = 6400, .seed = 3}, state, kAlways));
  ASSERT_FALSE(state.front.empty());
  for (const Individual& one : state.front) EXPECT_LE(one.outcome.objectives[0], 40);
  EXPECT_GE(state.front.size(), 35U);  // of 41
}

TEST(Nsga2, HypervolumeNeverShrinks) {
  SearchState state;
  ASSERT_TRUE(run_nsga2(test::StandardProblem{}.problem(), {.evaluations = 1000}, state, kAlways));
  for (size_t i = 1; i < state.history.size(); ++i)
    EXPECT_GE(state.history[i].hypervolume, state.history[i - 1].hypervolume);
}

TEST(Nsga2, RefusesWhatMakesNoSense) {
  SearchState state;
  Problem problem = test::StandardProblem{}.problem();
  EXPECT_EQ(run_nsga2(problem, {.population = 7}, state, kAlways).error().code,
            ErrorCode::kInvalidArgument);
  problem.initial = {Genome{1, 2}};
  EXPECT_EQ(run_nsga2(problem, {}, state, kAlways).error().code, ErrorCode::kInvalidArgument);
  problem = test::StandardProblem{}.problem();
  state.population = {{Genome{1}, {}}};
  EXPECT_EQ(run_nsga2(problem, {}, state, kAlways).error().code, ErrorCode::kInvalidArgument);
  problem.counts.clear();
  EXPECT_FALSE(run_nsga2(problem, {}, state, kAlways));
}

TEST(Checkpoint, RefusesWhatIsNone) {
  for (const char* text : {"{}", "[]", "{\"generation\":\"x\"}", "3"})
    EXPECT_EQ(state_from_json(Json::parse(text), "file").error().code, ErrorCode::kBadStore);
}

}  // namespace
}  // namespace edgesage::search
