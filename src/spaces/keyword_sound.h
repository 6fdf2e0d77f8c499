// Space `keyword-sound`: int8 networks for keyword spotting, wake words and sound monitoring.
#pragma once

#include <cstdint>
#include <span>

#include "edgesage/result.h"
#include "src/graph/graph.h"
#include "src/spaces/parameter.h"

namespace edgesage {

// Every random decision of the space, with its range.
[[nodiscard]] std::span<const Parameter* const> keyword_sound_parameters();

// See space.h; `description` is left empty.
[[nodiscard]] Result<Graph> build_keyword_sound(uint64_t seed);

}  // namespace edgesage
