// A device whose worker is fake_worker.py with one of its behaviours.
#pragma once

#include <string>
#include <vector>

#include "src/devices/device.h"
#include "src/devices/worker_client.h"
#include "tests/support/test_paths.h"

namespace edgesage::test {

struct FakeDevice {
  explicit FakeDevice(const std::string& behaviour, WorkerLimits limits = {})
      : command{venv_python().value_or("python3").string(),
                (source_dir() / "tests/devices/fake_worker.py").string(), behaviour,
                state.path().string()},
        client(command, limits) {
    description.name = "fake-device";
    description.runtime = "fake";
    description.statistic = "estimate";
    description.quantities = {"latency_ms", "sram_bytes", "energy_mj"};
  }

  TempDir state;  // one file for every worker started
  std::vector<std::string> command;
  WorkerClient client;
  DeviceDescription description;
};

}  // namespace edgesage::test
