// What can be predicted or measured here, as text and JSON.
#pragma once

#include <string>
#include <vector>

#include "edgesage/devices.h"

namespace edgesage::report {

[[nodiscard]] std::string devices_text(const std::vector<DeviceStatus>& devices);
// One device in full: what it is, what it reports, and what is possible here, or why not.
[[nodiscard]] std::string device_text(const DeviceStatus& device);
[[nodiscard]] std::string devices_json(const std::vector<DeviceStatus>& devices);

}  // namespace edgesage::report
