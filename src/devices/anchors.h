// Anchors: networks that are measured again later, to see whether the labels of a device still
// hold. A machine drifts (another governor, a new kernel, a warmer room); the ratio of new to
// stored labels says by how much, and whether all networks alike.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgesage/result.h"
#include "src/devices/device.h"
#include "src/devices/measure.h"
#include "src/store/store.h"

namespace edgesage {

// A network with the label that it had.
struct Anchor {
  std::string name;
  double stored_ms = 0;  // of all its repeats the least: latency_ms as the labels are
};

struct AnchorOutcome {
  std::string name;
  double stored_ms = 0;
  std::optional<double> measured_ms;  // absent: `reason` says why
  std::optional<double> ratio;        // measured over stored
  std::string reason;                 // it failed, or its series was rejected
};

struct Drift {
  std::vector<AnchorOutcome> anchors;  // in the order given
  int64_t compared = 0;                // anchors with a ratio
  // Of the ratios: the median, and half the distance of their 10th and 90th percentile over the
  // median. 1 and 0 where nothing was compared.
  double median_ratio = 1;
  double spread = 0;
  bool drifted = false;  // the median is off by more than the tolerance, or the spread is wider
  std::string verdict;   // one line
};

struct DriftTolerance {
  double median = 0.05;  // of |median ratio - 1|
  double spread = 0.10;
};

// The stored labels of the named networks on the device (its whole name, a variant's too) and host;
// names without one are kInvalidArgument. `host_fingerprint` is empty where labels do not depend on
// the machine.
[[nodiscard]] Result<std::vector<Anchor>> anchors_from_store(const Store& store,
                                                             std::string_view device,
                                                             std::string_view host_fingerprint,
                                                             std::span<const std::string> names);

// Makes the .tflite of a network; the file must stay until the next call.
using ModelOfNetwork = std::function<Result<std::filesystem::path>(const std::string& name)>;

// Measures every anchor again and compares. One that fails, or whose series is rejected, is left
// out with its reason. Errors: as measure(), and those of `model_of`. `stop` ends it early, with
// what was compared so far.
[[nodiscard]] Result<Drift> measure_drift(WorkerClient& worker, const DeviceDescription& device,
                                          std::span<const Anchor> anchors,
                                          const ModelOfNetwork& model_of,
                                          const MeasureOptions& options = {},
                                          const DriftTolerance& tolerance = {},
                                          const std::atomic<bool>* stop = nullptr);

// The figures of outcomes that are there already.
[[nodiscard]] Drift drift_of(std::vector<AnchorOutcome> outcomes,
                             const DriftTolerance& tolerance = {});

}  // namespace edgesage
