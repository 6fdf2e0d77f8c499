// What a model computes on a device, beside what it costs.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include "edgesage/result.h"
#include "src/base/json.h"
#include "src/devices/worker_client.h"

namespace edgesage {

struct RunOutputs {
  size_t runs = 0;
  std::vector<size_t> output_bytes;  // of each output, of one run
  std::vector<std::byte> bytes;      // run after run, output after output
};

// Runs `model`, a file, once for each set of inputs: the bytes of all its inputs, one after the
// other, as it stores them, and again. kDeviceFailed with the reason where the worker cannot, or
// does not know how (worker protocol 1.3). Goes by files in the system's temporary directory.
[[nodiscard]] Result<RunOutputs> run_model(
    WorkerClient& worker, const std::filesystem::path& model, std::span<const std::byte> inputs,
    const Json& options = Json::object(),
    std::chrono::milliseconds deadline = std::chrono::milliseconds{300'000});

}  // namespace edgesage
