// What can be predicted or measured here, as text and JSON.
#pragma once

#include <string>
#include <vector>

#include "edgesage/devices.h"

namespace edgesage::report {

[[nodiscard]] std::string devices_text(const std::vector<DeviceStatus>& devices);
[[nodiscard]] std::string devices_json(const std::vector<DeviceStatus>& devices);

}  // namespace edgesage::report
