// The networks that calibration and sampling choose from.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "src/app/calibrate.h"
#include "src/devices/device.h"
#include "src/learn/calibrate.h"

namespace edgesage::app {

// Names of the pool: networks of spaces, paths of files, and mutations of files,
// "mutation/SEED/PATH", which the file and the seed rebuild.
// `device`: what they are for; null: nothing is measured. Of directories the .tflite and .onnx
// files that it runs. kInvalidArgument where it runs none of them, or not what was named.
[[nodiscard]] Result<std::vector<std::string>> pool_names(const PoolRequest& request,
                                                          const DeviceDescription* device);

// The file that is measured as it is for a pool's name: an ONNX model of the user. Empty for
// networks that are built, and written as .tflite.
[[nodiscard]] std::filesystem::path file_of_pool(const std::string& name);

// The network of a pool's name: of a space, a file, or a mutation of one; no graph where nothing in
// the file can be mutated.
[[nodiscard]] Result<NamedGraph> build_of_pool(const std::string& name);

// Built, lowered and priced. Reports its progress.
[[nodiscard]] Result<PricedPool> load_pool(const Context& context, const PoolRequest& request,
                                           std::span<const std::string> names, const Target& target,
                                           std::span<const Quantity> quantities);

// Whether the closed form of the target is one of the device itself (src/analysis/ethos_cycles.h),
// not of devices in general.
[[nodiscard]] bool has_closed_form(const Target& target);

}  // namespace edgesage::app
