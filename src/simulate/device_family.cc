#include "src/simulate/device_family.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "src/base/rng.h"
#include "src/simulate/decode.h"

namespace edgesage::simulate {
namespace {

constexpr std::array<std::string_view, kCommonSlots> kNames = {
    "launch",
    "launch_other",
    "launch_hidden",
    "launch_row",
    "fixed",
    "border",
    "overlap",
    "streams",
    "crowding",
    "serial_launch",
    "out_tile",
    "out_soft",
    "in_tile",
    "in_soft",
    "in_joint",
    "height_tile",
    "width_tile",
    "spatial_soft",
    "small_in",
    "small_out",
    "small_map",
    "output",
    "pixel",
    "tap",
    "winograd",
    "stride",
    "taps",
    "patches",
    "batch_norm",
    "depthwise",
    "depthwise_tile",
    "depthwise_taps",
    "depthwise_round",
    "depthwise_stride",
    "transpose_grid",
    "mac_16",
    "mac_32",
    "element_16",
    "element_32",
    "byte",
    "byte_tile",
    "spill_size",
    "spill_extra",
    "spill_live",
    "weight_byte",
    "weight_coded",
    "weight_reread",
    "weight_large",
    "weight_extra",
    "join_activations",
    "join_weights",
    "skip_copy",
    "element",
    "pool_taps",
    "inline_activation",
    "fuse_activation",
    "fuse_shared",
    "fuse_add",
    "fuse_add_of_add",
    "fuse_mul",
    "fuse_pad",
    "free_concat",
    "free_reshape",
    "free_slice",
    "repeated",
    "slow_kinds",
    "slow_gain",
    "unreported",
    "outside",
    "switch_launch",
    "switch_byte",
    "cpu_slow",
    "cpu_copy",
    "cpu_reported",
    "power_depthwise",
    "power_matrix",
    "power_element",
    "power_bytes",
    "power_weights",
    "power_launch",
    "power_16",
    "power_32",
    "power_static",
    "plan_tile",
    "plan_waste",
    "plan_align",
    "plan_in_place",
    "plan_patch",
    "plan_copies",
    "plan_no_reuse",
    "plan_staged",
    "plan_weights",
    "plan_packed",
    "plan_fixed",
    "plan_border",
};
constexpr std::array<std::string_view, kVariantSlots> kVariantNames = {"launch", "work", "bytes",
                                                                       "slow"};

double usable(float z) {
  return std::isnan(z) ? 0.0 : static_cast<double>(std::clamp(z, -kLargestZ, kLargestZ));
}

// Devices in the order of their lanes: those with overlap first, else as they came.
std::vector<int32_t> lane_order(const std::vector<float>& decoded, int32_t count) {
  std::vector<int32_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_partition(order, [&](int32_t device) {
    return decoded[static_cast<size_t>(device) * kFields + kSerialShare] < 1;
  });
  return order;
}

}  // namespace

std::vector<float> draw_devices(uint64_t seed, int32_t first, int32_t count) {
  std::vector<float> z;
  z.reserve(static_cast<size_t>(std::max(count, 0)) * kParameters);
  for (int32_t i = 0; i < count; ++i) {
    Rng rng(seed, "virtual device " + std::to_string(int64_t{first} + i));
    for (int32_t k = 0; k < kParameters; ++k) z.push_back(static_cast<float>(rng.normal()));
  }
  return z;
}

std::vector<std::string> parameter_names() {
  std::vector<std::string> names(kNames.begin(), kNames.end());
  for (int v = 0; v < kVariants; ++v)
    for (const std::string_view part : kVariantNames)
      names.push_back(std::string(variant_name(static_cast<Variant>(v))) + "." + std::string(part));
  return names;
}

DeviceSet DeviceSet::decode(std::span<const float> z) {
  DeviceSet set;
  set.size_ = static_cast<int32_t>(z.size() / kParameters);
  const auto count = static_cast<size_t>(set.size_);
  std::vector<float> decoded(count * kFields);
  std::vector<double> clipped(kParameters);
  for (size_t i = 0; i < count; ++i) {
    std::ranges::transform(z.subspan(i * kParameters, kParameters), clipped.begin(), usable);
    decode_device(clipped, std::span<float, kFields>(decoded.data() + i * kFields, kFields));
  }
  const std::vector<int32_t> order = lane_order(decoded, set.size_);
  const size_t blocks = (count + kLanes - 1) / kLanes;
  set.fields_.resize(blocks * kFields);
  set.overlaps_.assign(blocks, 0);
  set.device_.assign(blocks * kLanes, -1);
  set.position_.resize(count);
  for (size_t lane = 0; lane < blocks * kLanes; ++lane) {
    const size_t block = lane / kLanes;
    const auto device = static_cast<size_t>(order[std::min(lane, count - 1)]);
    const float* from = decoded.data() + device * kFields;
    for (size_t f = 0; f < kFields; ++f)
      set.fields_[block * kFields + f].v[lane % kLanes] = from[f];
    if (from[kSerialShare] < 1) set.overlaps_[block] = 1;
    if (lane >= count) continue;
    set.device_[lane] = static_cast<int32_t>(device);
    set.position_[device] = static_cast<int32_t>(lane);
  }
  return set;
}

double DeviceSet::value(int32_t device, int field) const {
  const auto lane = static_cast<size_t>(position(device));
  const size_t row = lane / kLanes * kFields + static_cast<size_t>(field);
  return static_cast<double>(fields_[row].v[lane % kLanes]);
}

}  // namespace edgesage::simulate
