// Labelled networks as numbers, and the split into training, calibration and test.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgesage/result.h"
#include "src/features/extract.h"
#include "src/learn/label_file.h"
#include "src/predict/range.h"

namespace edgesage {

// Who gave the labels; goes into the predictor file.
struct LabelSource {
  std::string device, runtime, runtime_version, statistic;
  std::string host_fingerprint, host_description;
  int threads = 0;
  // Of the table of costs (src/devices/energy.h) that "energy_mj" was derived with; empty where the
  // labels have it from the device, or not at all.
  std::string energy_table, energy_table_hash;

  bool operator==(const LabelSource&) const = default;
};

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

// One labelled network: rebuilt from its name, its graph hash compared with the label's, lowered.
// kBadStore for an unknown name or another hash: the labels are of another version of the space.
[[nodiscard]] Result<Example> build_example(const LabelRow& row, const Target& target,
                                            std::span<const Quantity> quantities);
// Whether there is something to learn from it: a label, and a node.
[[nodiscard]] bool is_usable(const Example& example);

using DatasetProgress = std::function<void(int64_t done, int64_t total)>;

// build_example of every label, on `threads` threads (0: all); the result does not depend on their
// number.
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
[[nodiscard]] Part part_of(std::string_view graph_hash, const SplitOptions& options);
[[nodiscard]] Part part_of(const Example& example, const SplitOptions& options);

// Indexes of the examples of a part, ascending.
[[nodiscard]] std::vector<size_t> examples_of(const Dataset& dataset, Part part,
                                              const SplitOptions& options);

}  // namespace edgesage
