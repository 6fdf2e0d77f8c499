// What stands behind a WorkerClient: a worker process, or commands. The contracts are those of the
// calls of the same names in worker_client.h. Private to this folder.
#pragma once

#include <chrono>
#include <string_view>

#include "edgesage/result.h"
#include "src/base/json.h"
#include "src/devices/worker_client.h"

namespace edgesage {

class DeviceBackend {
 public:
  DeviceBackend() = default;
  virtual ~DeviceBackend() = default;
  DeviceBackend(const DeviceBackend&) = delete;
  DeviceBackend& operator=(const DeviceBackend&) = delete;

  [[nodiscard]] virtual Result<WorkerHello> hello() = 0;
  [[nodiscard]] virtual Result<Json> request(std::string_view kind, Json body,
                                             std::chrono::milliseconds deadline) = 0;
  virtual void stop() = 0;
  [[nodiscard]] virtual bool running() const = 0;
  [[nodiscard]] virtual int restarts() const = 0;
  [[nodiscard]] virtual int pid() const = 0;
};

}  // namespace edgesage
