// Names of variants, "host-litert+threads=4". Used by DeviceCatalog alone; others call
// device_variant (device.h).
#pragma once

#include <string_view>

#include "edgesage/result.h"
#include "src/devices/device.h"

namespace edgesage {

// The described device with the options that the name of its variant holds. kInvalidArgument for
// an option that is no part of the device's identity.
[[nodiscard]] Result<DeviceDescription> variant_of_name(const DeviceDescription& device,
                                                        std::string_view name);

}  // namespace edgesage
