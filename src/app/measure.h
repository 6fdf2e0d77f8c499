// `edgesage measure`: runs models on a device, and stores what it says.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "edgesage/answer.h"
#include "edgesage/measure.h"
#include "src/app/context.h"
#include "src/io/model_file.h"

namespace edgesage::app {

struct MeasureRequest {
  std::vector<std::string> models;  // paths; "-" is standard input
  std::string device;
  // Options of the worker by name; values are JSON where they parse as such, otherwise text.
  std::vector<std::pair<std::string, std::string>> options;
  // Shapes for what an ONNX model leaves open: `shapes`, `dimensions`, `batch`.
  ReadOptions read;
  std::string store;            // empty: nothing is stored
  std::string energy_table;     // a TOML file (src/devices/energy.h); empty: the device's own
  bool measure_energy = false;  // with sensors of this computer, as below
  std::filesystem::path sensor_root = "/sys";  // where sysfs is
  std::chrono::milliseconds deadline{300'000};
  int32_t repeats = 1;
  int32_t attempts = 1;  // of a series that is rejected for its noise
};

// One answer a model and repeat, in order. A model that cannot be read is kBadModel, one that the
// device cannot run kDeviceFailed (and stored as a failure with its reason); the others are still
// measured. An error of the whole: the device does not work here, or the options are wrong.
// Stopped early, the answers so far are returned.
// Options that are part of the device's identity (threads, cores) make a variant of the device,
// "host-litert+threads=4", under whose name the labels are stored; so do shapes, which only a
// device takes that has them among its options.
[[nodiscard]] Result<Answers<MeasuredModel>> measure_models(const Context& context,
                                                            const MeasureRequest& request);

}  // namespace edgesage::app
