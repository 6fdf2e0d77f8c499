// A device of commands: push, run, pull, clean, each a program with its arguments. Answers as a
// worker would (docs/worker_protocol.md), so that its labels take the way of all others.
#pragma once

#include <memory>

#include "src/devices/device.h"
#include "src/devices/device_backend.h"

namespace edgesage {

// hello(): runs `check`, `version` and `identify` once, and again after a measurement that failed:
// a device that has gone away is kDeviceFailed there, and ends a campaign.
// request("measure"): push, run (as often as `repeat` says), pull, parse; clean is run whatever
// happened once push was started, outside the deadline and with its own timeout, and a clean that
// fails is said in protocol["clean"]. A step that fails is tried again `retries` times.
// `device` has a command; its options are replaced by those of the request.
[[nodiscard]] std::unique_ptr<DeviceBackend> make_command_device(const DeviceDescription& device,
                                                                 const DevicePlaces& places);

}  // namespace edgesage
