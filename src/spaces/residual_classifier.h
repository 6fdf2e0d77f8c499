// Space `residual-classifier`: int8 residual and branched image classifiers.
#pragma once

#include <cstdint>
#include <span>

#include "edgesage/result.h"
#include "src/graph/graph.h"
#include "src/spaces/parameter.h"

namespace edgesage {

// Every random decision of the space, with its range.
[[nodiscard]] std::span<const Parameter* const> residual_classifier_parameters();

// See space.h; `description` is left empty.
[[nodiscard]] Result<Graph> build_residual_classifier(uint64_t seed);

}  // namespace edgesage
