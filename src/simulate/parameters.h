// The slots of a device's vector: which standard normal says what. docs/virtual_devices.md has the
// range of each and why.
#pragma once

#include <cstdint>

#include "src/simulate/variants.h"

namespace edgesage::simulate {

// The order is part of what a seed means: new slots go before the variants' only with a new major
// version.
enum class Slot : uint16_t {
  // Calls.
  kLaunch,
  kLaunchOther,  // of variants without multiply-accumulates
  kLaunchHidden,
  kLaunchRow,
  kFixed,
  kBorder,
  // Branches.
  kOverlap,
  kStreams,
  kCrowding,
  kSerialLaunch,
  // Convolutions.
  kOutTile,
  kOutSoft,
  kInTile,
  kInSoft,
  kInJoint,
  kHeightTile,
  kWidthTile,
  kSpatialSoft,
  kSmallIn,
  kSmallOut,
  kSmallMap,
  kOutput,
  kPixel,
  kTap,
  kWinograd,
  kStride,
  kTaps,
  kPatches,
  kBatchNorm,
  // Depthwise and transpose convolutions.
  kDepthwise,
  kDepthwiseTile,
  kDepthwiseTaps,
  kDepthwiseRound,
  kDepthwiseStride,
  kTransposeGrid,
  // Precision.
  kMac16,
  kMac32,
  kElement16,
  kElement32,
  // Memory traffic.
  kByte,
  kByteTile,
  kSpillSize,
  kSpillExtra,
  kSpillLive,
  kWeightByte,
  kWeightCoded,
  kWeightReread,
  kWeightLarge,
  kWeightExtra,
  kJoinActivations,
  kJoinWeights,
  kSkipCopy,
  // Element-wise work and what is done inside a neighbour.
  kElement,
  kPoolTaps,
  kInlineActivation,
  kFuseActivation,
  kFuseShared,
  kFuseAdd,
  kFuseAddOfAdd,
  kFuseMul,
  kFusePad,
  kFreeConcat,
  kFreeReshape,
  kFreeSlice,
  kRepeated,
  // Slow, foreign and unreported kinds.
  kSlowKinds,
  kSlowGain,
  kUnreported,
  kOutside,
  kSwitchLaunch,
  kSwitchByte,
  kCpuSlow,
  kCpuCopy,
  kCpuReported,
  // Energy.
  kPowerDepthwise,
  kPowerMatrix,
  kPowerElement,
  kPowerBytes,
  kPowerWeights,
  kPowerLaunch,
  kPower16,
  kPower32,
  kPowerStatic,
  // Memory planners.
  kPlanTile,
  kPlanWaste,
  kPlanAlign,
  kPlanInPlace,
  kPlanPatch,
  kPlanCopies,
  kPlanNoReuse,
  kPlanStaged,
  kPlanWeights,
  kPlanPacked,
  kPlanFixed,
  kPlanBorder,
  kCount,
};
inline constexpr int kCommonSlots = static_cast<int>(Slot::kCount);

// Slots of each variant, after the common ones: variant v has kCommonSlots + 4 v + part.
enum class VariantSlot : uint8_t { kLaunch, kWork, kBytes, kSlow, kCount };
inline constexpr int kVariantSlots = static_cast<int>(VariantSlot::kCount);

[[nodiscard]] constexpr int slot_index(Slot slot) { return static_cast<int>(slot); }
[[nodiscard]] constexpr int slot_index(Variant variant, VariantSlot slot) {
  return kCommonSlots + kVariantSlots * static_cast<int>(variant) + static_cast<int>(slot);
}

}  // namespace edgesage::simulate
