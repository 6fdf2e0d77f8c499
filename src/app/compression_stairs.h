// The steps of a device over the widths of a few channel groups: as a predictor says, and measured.
#pragma once

#include <cstddef>
#include <vector>

#include "edgesage/compression.h"
#include "edgesage/result.h"
#include "src/app/context.h"
#include "src/learn/device_evaluator.h"
#include "src/predict/predictor.h"
#include "src/transform/pruning_space.h"

namespace edgesage::app {

// Of the `groups` whose width changes the predicted latency most, the widest 24 widths one by one,
// everything else as in the original. What the device fails on is left out. `device` is prepared
// for `space` again when it is done. Its errors, and kInvalidArgument of a stop.
[[nodiscard]] Result<std::vector<CompressionStaircase>> compare_staircases(
    const Context& context, const PruningSpace& space, const Predictor& predictor,
    DeviceEvaluator& device, size_t groups);

}  // namespace edgesage::app
