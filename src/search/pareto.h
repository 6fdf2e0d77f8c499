// Domination, fronts, crowding and hypervolume; everything is minimised.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/search/problem.h"

namespace edgesage::search {

// Constrained domination (Deb, Pratap, Agarwal and Meyarivan, 2002): a feasible outcome dominates
// one that is not, a smaller violation a larger one, and of two feasible outcomes the one that is
// nowhere worse and somewhere better.
[[nodiscard]] bool dominates(const Outcome& a, const Outcome& b);

// Front of each outcome, 0 being the one that nothing dominates. Quadratic in their number.
[[nodiscard]] std::vector<int32_t> front_ranks(std::span<const Outcome> outcomes);

// Crowding distance of some outcomes of one front, given by index; infinite at the ends.
[[nodiscard]] std::vector<double> crowding_distances(std::span<const Outcome> outcomes,
                                                     std::span<const size_t> front);

// Volume between the points and `reference`, that at least one point is nowhere worse than. Points
// that are not better than the reference everywhere add nothing. Exact: a sweep for two objectives,
// slices for more (exponential in their number, fine for five).
[[nodiscard]] double hypervolume(std::vector<std::vector<double>> points,
                                 std::span<const double> reference);

// Adds an individual to a set of which none dominates another, and removes those that it
// dominates. False where it is dominated, infeasible, or equal to one in its objectives.
bool add_to_front(std::vector<Individual>& front, const Individual& individual);

}  // namespace edgesage::search
