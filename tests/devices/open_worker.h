// Workers of the devices that come with edgesage, as built here.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "src/devices/device.h"
#include "src/devices/worker_client.h"
#include "tests/support/test_paths.h"

namespace edgesage::test {

// The descriptions in devices/.
inline DeviceCatalog shipped_devices() {
  return DeviceCatalog::load(std::vector<std::filesystem::path>{source_dir() / "devices"}).value();
}

// One of them; it has to be there.
inline DeviceDescription shipped_device(const std::string& name) {
  return shipped_devices().find(name).value();
}

// Its worker, started; whoever asks has seen to it that the runtime is there.
inline WorkerClient open_worker(const DeviceDescription& device) {
  return WorkerClient::for_device(
             device,
             {.source_dir = source_dir(), .worker_dir = binary_dir() / "workers", .python = {}})
      .value();
}

}  // namespace edgesage::test
