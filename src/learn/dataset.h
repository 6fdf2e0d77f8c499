// Labelled networks as numbers, and the split into training, calibration and test.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "edgesage/result.h"
#include "src/features/extract.h"
#include "src/learn/label_file.h"
#include "src/predict/range.h"

namespace edgesage {

// One network with its labels on one device.
struct Example {
  std::string name;   // "mobile-classifier/1/4711"
  std::string space;  // "mobile-classifier"
  std::string graph_hash;
  std::vector<std::string> operator_signatures;  // for the range verdict
  GraphTensors tensors;
  std::vector<double> labels;  // one a quantity; NaN: none
  // Quantities x operators, in the unit of the quantity; NaN: not priced. Empty: the device gives
  // no figures per operator for that quantity.
  std::vector<std::vector<double>> operator_labels;
  int32_t cpu_operators = 0;  // fell back: the label does not cover them
};

struct Dataset {
  Target target;
  std::vector<Quantity> quantities;
  std::vector<Example> examples;
  int64_t left_out = 0;  // labels at or below the device's resolution, or with an error
};

using DatasetProgress = std::function<void(int64_t done, int64_t total)>;

// Rebuilds each labelled network from its name, checks that its graph hash is the label's, lowers
// it and extracts features. Networks are built on `threads` threads (0: all); the result does not
// depend on their number. An unknown name or another hash is kBadStore: the labels are of another
// version of the space.
[[nodiscard]] Result<Dataset> build_dataset(std::span<const LabelRow> labels, const Target& target,
                                            std::span<const Quantity> quantities, int threads,
                                            const DatasetProgress& progress = {});

enum class Part : uint8_t { kTrain, kCalibration, kTest };

struct SplitOptions {
  double test = 0.2;
  double calibration = 0.08;
  uint64_t seed = 1;
};

// By graph hash, so that equal graphs fall on one side, whatever their number or order.
[[nodiscard]] Part part_of(const Example& example, const SplitOptions& options);

// Indexes of the examples of a part, ascending.
[[nodiscard]] std::vector<size_t> examples_of(const Dataset& dataset, Part part,
                                              const SplitOptions& options);

}  // namespace edgesage
