// Protocol "edgedlperf": one predictor of many spaces and quantities, judged on networks of the
// same spaces, of a space that it never saw, and with a few networks of that space; beside
// controls, published baselines, learning curves and what it is without one of its parts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "edgesage/result.h"
#include "src/learn/evaluate.h"
#include "src/learn/feature_file.h"
#include "src/learn/train.h"

namespace edgesage {

// One training and what it is judged on.
struct SpacesTask {
  // "random": a fifth of each space is held out (part_of, by graph hash). "left-out": one space is.
  // "curve": random, from `most` networks. "ablation": the same, without a part. "real-files": a
  // file that others published, by a predictor that is there.
  std::string setting = "random";
  std::string variant;   // of ablation_names(); empty: as it ships; of "real-files" the file
  std::string left_out;  // the space, of "left-out"
  size_t own = 0;        // networks of it that are learnt from nevertheless
  size_t most = 0;       // networks to learn from beside its own, intervals included; 0: all
  uint64_t seed = 1;     // of the split, the order and the weights
};

// A line of the results: what was done and how good it was.
struct SpacesRow {
  SpacesTask task;
  EvaluationRow row;
  double seconds = 0;  // of the training, on whatever machine and load
  // Of a single file: what the device says and what was predicted; not finite: does not apply. And
  // why there is no answer about it.
  double truth = std::numeric_limits<double>::quiet_NaN();
  double predicted = std::numeric_limits<double>::quiet_NaN();
  std::string note = {};
};

struct SpacesRun {
  TrainingOptions training;
  std::vector<std::string> controls, baselines;  // by name; only of "random" and "left-out"
  size_t most_for_controls = 4000;               // networks that they are fitted on
  size_t most_tested = 2000;                     // networks of a left-out space
  int64_t baseline_epochs = 40;
  TrainingRun run;
};

// Parts that can be taken away: "no-closed-form", "mean-read-out" (that and the sum over rows
// divided by their number), "no-tiles" (features of what rounding wastes), "producers-only",
// "consumers-only", "no-edges", "no-operator-labels", "absolute-loss", "squared-loss", "one-layer",
// "two-layers", "half-width".
[[nodiscard]] std::span<const std::string> ablation_names();

[[nodiscard]] std::vector<std::string> spaces_of(const FeatureFile& file);

// All rows of one task. kInvalidArgument where there are too few networks, or for a name that does
// not exist. The same file, task and options give the same rows. Cost: a training.
[[nodiscard]] Result<std::vector<SpacesRow>> run_spaces_task(const FeatureFile& file,
                                                             const LabelSource& source,
                                                             const SpacesTask& task,
                                                             const SpacesRun& run);

// Whether the rows hold this task of this device.
[[nodiscard]] bool has_task(std::span<const SpacesRow> rows, const std::string& device,
                            const SpacesTask& task);

// A file that does not exist holds no rows. kBadStore for one that is damaged.
[[nodiscard]] Result<std::vector<SpacesRow>> read_spaces_rows(const std::filesystem::path& path);
// Replaced atomically.
[[nodiscard]] Status write_spaces_rows(std::span<const SpacesRow> rows,
                                       const std::filesystem::path& path);

}  // namespace edgesage
