// Space `detection`: int8 networks that find objects.
#pragma once

#include <cstdint>
#include <span>

#include "edgesage/result.h"
#include "src/graph/graph.h"
#include "src/spaces/parameter.h"

namespace edgesage {

// Every random decision of the space, with its range.
[[nodiscard]] std::span<const Parameter* const> detection_parameters();

// See space.h; `description` is left empty.
[[nodiscard]] Result<Graph> build_detection(uint64_t seed);
// Version 1, whose networks of centres compute maps that no output depends on.
[[nodiscard]] Result<Graph> build_detection_1(uint64_t seed);

}  // namespace edgesage
