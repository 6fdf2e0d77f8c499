// `edgesage devices --check NAME`: is the device fit to be measured now?
#pragma once

#include <string>

#include "edgesage/fitness.h"
#include "edgesage/result.h"
#include "src/app/context.h"
#include "src/devices/fitness.h"

namespace edgesage::app {

// Whether it can be measured at all (programs, answers of a device of commands), then the findings
// of check_fitness(). kInvalidArgument for an unknown name; kDeviceFailed for a device that does
// not work here, with the remedy.
[[nodiscard]] Result<Fitness> device_fitness(const Context& context, const std::string& name,
                                             const FitnessPaths& paths = {});

}  // namespace edgesage::app
