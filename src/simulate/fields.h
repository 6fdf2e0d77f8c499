// Decoded parameters of devices, laid out for vector code: devices stand in lanes, 64 to a block,
// and a block is an array of fields. All are factors and prices, in the unit of time of one
// multiply-accumulate of a well-shaped 3x3 convolution of 8-bit values, or in bytes.
#pragma once

#include <array>
#include <cstdint>

#include "src/simulate/sim_network.h"
#include "src/simulate/variants.h"

namespace edgesage::simulate {

inline constexpr int kLanes = 64;
struct alignas(64) Lanes {
  std::array<float, kLanes> v;
};

enum Field : int {
  kFixedCost,
  kBorderByte,
  kLaunchAdded,  // share of the smaller of launch and work that is added to the larger
  kLaunchOfRow,  // time of a row of the output, in launches
  kSerialShare,  // 1: nothing overlaps
  kPerStream,    // 1 / streams
  kCrowd,
  kFloorLaunch,  // launches that cannot overlap: this much a row

  kOutTiles,                   // weights of waste_out; they and softness sum to 1
  kInTiles = kOutTiles + 7,    // of waste_in
  kJointTiles = kInTiles + 7,  // of waste_joint; with kInTiles they sum to 1
  kHeightTiles0 = kJointTiles + 7,
  kWidthTiles0 = kHeightTiles0 + 3,
  kDepthwiseTiles = kWidthTiles0 + 5,
  kSmallInput = kDepthwiseTiles + 7,
  kSmallOutput,
  kSmallImage,
  kOutputPrice,  // of an output of a row with multiply-accumulates
  kCallPrice,    // of a pixel
  kTapPrice,     // of a tap of a pixel
  kWinogradFactor,
  kStrideFactor,
  kTapsExponent,
  kPatchBytes,
  kBatchNormShare,
  kDepthwiseStrideFactor,
  kDepthwiseExponent,
  kLoopShare,         // of large filters: lanes that are not wasted
  kDepthwiseRounded,  // share of the price for rounded taps
  kOutputGrid,        // share of a transpose convolution counted on the output's grid
  kMacPrecision,      // 3
  kElementPrecision = kMacPrecision + 3,  // 3

  kByteTiles0 = kElementPrecision + 3,  // prices of a byte by kByteTiles
  kBytePrice = kByteTiles0 + 4,
  kSpillBytes,
  kSpillPrice,  // extra price of a byte beyond kSpillBytes
  kSpillByLive,
  kWeightPrice,
  kCodedShare,
  kRereadPerPixel,
  kWeightLargeBytes,
  kWeightLargePrice,
  kJoinActs,
  kJoinWeight,
  kSkipPrice,

  kPoolByTaps,
  kInlinePrice,
  kResidual,  // kContexts
  kRepeatShare = kResidual + kContexts,
  kSwitchCost,
  kSwitchBytePrice,
  kCpuShare,      // of rows that the lowering leaves to the CPU, in the reported time
  kCpuScale,      // of their work and traffic, not of their launch
  kCpuCopyScale,  // of those that only move data

  kEnergyMac,  // 4: convolutions, depthwise, matrix, element
  kEnergyPrecision = kEnergyMac + 4,
  kEnergyBytes = kEnergyPrecision + 3,
  kEnergyWeights,
  kEnergyLaunch,
  kEnergyStatic,

  kPlanTiles,
  kPlanAlignBytes = kPlanTiles + 4,
  kPlanInPlaceShare,
  kPlanPatchShare,
  kPlanCopyShare,
  kPlanSumShare,
  kPlanStagedShare,
  kPlanWeightShare,
  kPlanFixedBytes,
  kPlanBorderShare,

  kLaunchOf,  // by variant
  kWorkOf = kLaunchOf + kVariants,
  kBytesOf = kWorkOf + kVariants,
  kScaleOf = kBytesOf + kVariants,
  kOutsideOf = kScaleOf + kVariants,  // kVariants + 1: the last is the CPU, always 1
  kFields = kOutsideOf + kVariants + 1,
};

}  // namespace edgesage::simulate
