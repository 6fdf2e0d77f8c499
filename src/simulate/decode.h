// From one device's standard normals to its prices.
#pragma once

#include <array>
#include <span>

#include "src/simulate/fields.h"

namespace edgesage::simulate {

// `z` has kParameters finite numbers within +-kLargestZ.
void decode_device(std::span<const double> z, std::span<float, kFields> fields);

}  // namespace edgesage::simulate
