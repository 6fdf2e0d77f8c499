// A device learnt from measurements of pruned forms of one network, for a search among them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "edgesage/result.h"
#include "src/learn/calibrate.h"
#include "src/learn/controls.h"
#include "src/learn/device_evaluator.h"
#include "src/transform/pruning_space.h"

namespace edgesage {

struct PrunedCalibrationOptions {
  int64_t budget = 100;  // measurements
  int64_t pool = 600;    // pruned networks to choose them from, and to teach on
  int32_t virtual_devices = 4000;
  uint64_t seed = 1;
  int threads = 0;
  TeachOptions teach;
};

struct PrunedCalibration {
  PredictorData predictor;
  double held_out_median_ape = 0;  // per cent, of labels that were held out
  int64_t labels = 0;
};

// Genomes that spread over a space: each at a random level, its genes around that; the original and
// the narrowest among them.
[[nodiscard]] std::vector<Genome> spread_genomes(const PruningSpace& space, int64_t count,
                                                 uint64_t seed);

// Chooses networks of the pool as `calibrate` does, measures them, learns a process and teaches a
// network. Genomes are measured through `device`, whose log keeps them. kDeviceFailed where fewer
// than half of the budget could be measured. Cost besides measuring: a build of every network of
// the pool, and a minute of one core.
[[nodiscard]] Result<PrunedCalibration> calibrate_on_pruned(
    const PruningSpace& space, const Target& target, DeviceEvaluator& device,
    const PrunedCalibrationOptions& options,
    const std::function<bool(int64_t done, int64_t total, const char* what)>& progress);

// The additive control (controls.h) of the same labels: what the network must beat.
[[nodiscard]] Result<std::unique_ptr<Control>> fit_additive_on_pruned(
    const PruningSpace& space, const Target& target, DeviceEvaluator& device,
    const PrunedCalibrationOptions& options,
    const std::function<bool(int64_t done, int64_t total, const char* what)>& progress);

}  // namespace edgesage
