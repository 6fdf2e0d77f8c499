// A seeded family of closed-form machines.
//
// A device is a vector of kParameters numbers; the prior over devices is N(0, I). Each number has
// one meaning (docs/virtual_devices.md has all, with ranges) and most act monotonically, so that
// Gaussian methods (an ensemble Kalman smoother) can bend devices towards measurements. No number
// in the family was measured: it is prior knowledge of how machines execute operators.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/simulate/fields.h"
#include "src/simulate/parameters.h"

namespace edgesage::simulate {

inline constexpr int32_t kParameters = kCommonSlots + kVariantSlots * kVariants;
// Values beyond this are taken for this.
inline constexpr float kLargestZ = 4;

// Row-major, count x kParameters, standard normal. Device first + i depends on the seed and on
// first + i alone.
[[nodiscard]] std::vector<float> draw_devices(uint64_t seed, int32_t first, int32_t count);

// "launch", "out_tile", ..., "conv_1x1.launch", ...; kParameters of them.
[[nodiscard]] std::vector<std::string> parameter_names();

// Devices ready to price. Immutable after decode(); safe to share between threads.
class DeviceSet {
 public:
  // `z` is row-major, devices x kParameters; any real numbers, those that are none count 0.
  // Cost: some ten microseconds a device.
  [[nodiscard]] static DeviceSet decode(std::span<const float> z);

  [[nodiscard]] int32_t size() const { return size_; }
  // A decoded parameter of one device.
  [[nodiscard]] double value(int32_t device, int field) const;

  // For the pricing loops: blocks of kLanes devices, each kFields rows of lanes. Devices whose
  // branches overlap stand together, so that other blocks need no critical path. Lanes behind the
  // last device repeat it.
  [[nodiscard]] int32_t blocks() const { return static_cast<int32_t>(overlaps_.size()); }
  [[nodiscard]] const Lanes* block(int32_t index) const {
    return fields_.data() + static_cast<size_t>(index) * kFields;
  }
  [[nodiscard]] bool overlaps(int32_t block) const {
    return overlaps_[static_cast<size_t>(block)] != 0;
  }
  // The device in each lane of each block; -1 behind the last.
  [[nodiscard]] std::span<const int32_t> devices() const { return device_; }
  [[nodiscard]] int32_t position(int32_t device) const {
    return position_[static_cast<size_t>(device)];
  }

 private:
  int32_t size_ = 0;
  std::vector<Lanes> fields_;
  std::vector<uint8_t> overlaps_;
  std::vector<int32_t> device_;
  std::vector<int32_t> position_;
};

}  // namespace edgesage::simulate
