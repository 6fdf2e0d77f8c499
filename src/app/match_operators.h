// Which operator of one model is which of another.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "edgesage/inspect.h"

namespace edgesage::app {

// Kind, shapes, types and multiply-accumulates are equal.
[[nodiscard]] bool is_same(const InspectedOperator& a, const InspectedOperator& b);

// Pairs of operators (index in a, index in b), -1 where one has no counterpart, in the order of
// both models. Operators are paired only with their kind, and so that no two pairs cross; among
// these pairings the one with most in common: kinds first, then shapes and names (an alignment by
// dynamic programming; Needleman and Wunsch 1970). Time and memory: product of the numbers of
// operators between the common beginning and the common end; above 64 million pairs the models are
// cut into parts first, and what would match across a cut does not.
[[nodiscard]] std::vector<std::pair<int32_t, int32_t>> match_operators(
    const std::vector<InspectedOperator>& a, const std::vector<InspectedOperator>& b);

}  // namespace edgesage::app
