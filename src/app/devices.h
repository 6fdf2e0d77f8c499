// `edgesage devices`: what can be predicted or measured here, and why not.
#pragma once

#include <vector>

#include "edgesage/devices.h"
#include "edgesage/result.h"
#include "src/app/context.h"

namespace edgesage::app {

// Every device described, in the order of the descriptions. Starts no worker. kInvalidArgument for
// a description that cannot be understood.
[[nodiscard]] Result<std::vector<DeviceStatus>> devices(const Context& context);

}  // namespace edgesage::app
