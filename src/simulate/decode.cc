// Ranges are explained in docs/virtual_devices.md. Switches are ramps of the slot's probability, so
// that a device can be moved across them.
#include "src/simulate/decode.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "src/simulate/device_family.h"
#include "src/simulate/parameters.h"

namespace edgesage::simulate {
namespace {

double probability(double z) { return 0.5 * std::erfc(-z * (1 / std::numbers::sqrt2)); }

double log_uniform(double u, double low, double high) {
  return low * std::exp(u * std::log(high / low));
}

// 0 up to `from`, 1 from `to` on.
double ramp(double u, double from, double to) {
  return std::clamp((u - from) / (to - from), 0.0, 1.0);
}

// 0 for the share `off` of devices, log-uniform for the others; continuous.
double gated(double u, double off, double low, double high) {
  const double v = ramp(u, off, 1);
  return log_uniform(v, low, high) * std::min(1.0, 20 * v);
}

// z without the middle: 0 within +-dead.
double outer(double z, double dead) { return z > dead ? z - dead : (z < -dead ? z + dead : 0.0); }

// Weights over options of a rounding: mostly one of them, between two near the edges of their
// shares. Sums to `total`.
template <size_t N>
void choose(double u, const std::array<double, N>& shares, double total, float* out) {
  constexpr double kEdge = 0.02;
  std::array<double, N> weights{};
  double edge = 0, before = 1;  // `before`: how far u is beyond the option's start
  for (size_t i = 0; i < N; ++i) {
    edge += shares[i];
    const double beyond = i + 1 < N ? ramp(u, edge - kEdge, edge + kEdge) : 0.0;
    weights[i] = before - beyond;
    before = beyond;
  }
  for (size_t i = 0; i < N; ++i) out[i] += static_cast<float>(weights[i] * total);
}

class Decoder {
 public:
  Decoder(std::span<const double> z, std::span<float, kFields> fields) : z_(z), fields_(fields) {
    std::ranges::fill(fields_, 0.0F);
  }

  void run() {
    calls();
    branches();
    tiles();
    convolutions();
    depthwise();
    precision();
    traffic();
    fusion();
    slow_kinds();
    variants();
    energy();
    planner();
  }

 private:
  [[nodiscard]] double z(Slot slot) const { return z_[static_cast<size_t>(slot_index(slot))]; }
  [[nodiscard]] double z(int variant, VariantSlot slot) const {
    return z_[static_cast<size_t>(slot_index(static_cast<Variant>(variant), slot))];
  }
  [[nodiscard]] double u(Slot slot) const { return probability(z(slot)); }
  [[nodiscard]] double u(int variant, VariantSlot slot) const {
    return probability(z(variant, slot));
  }
  void set(int field, double value) {
    fields_[static_cast<size_t>(field)] = static_cast<float>(value);
  }
  [[nodiscard]] double field(int index) const {
    return static_cast<double>(fields_[static_cast<size_t>(index)]);
  }
  [[nodiscard]] float* at(int field) { return fields_.data() + field; }

  void calls() {
    launch_ = log_uniform(u(Slot::kLaunch), 1e3, 2e7);
    set(kFixedCost, launch_ * gated(u(Slot::kFixed), 0.3, 0.1, 100));
    set(kLaunchAdded, 1 - ramp(u(Slot::kLaunchHidden), 0.75, 0.95));
    set(kLaunchOfRow, gated(u(Slot::kLaunchRow), 0.75, 0.003, 0.5));
  }

  void branches() {
    set(kSerialShare, 1 - ramp(u(Slot::kOverlap), 0.55, 0.85));
    set(kPerStream, 1 / log_uniform(u(Slot::kStreams), 1.2, 8));
    set(kCrowd, 0.4 * u(Slot::kCrowding));
    set(kFloorLaunch, launch_ * ramp(u(Slot::kSerialLaunch), 0.5, 1));
  }

  // How much of the waste counts: all for six devices of ten.
  [[nodiscard]] double hardness(Slot slot) const { return 1 - ramp(u(slot), 0.6, 1); }

  void tiles() {
    constexpr std::array<double, 7> kChannel{0.28, 0.13, 0.15, 0.16, 0.13, 0.1, 0.05};
    const double out = hardness(Slot::kOutSoft), in = hardness(Slot::kInSoft);
    const double joint = ramp(u(Slot::kInJoint), 0.7, 0.85);
    choose(u(Slot::kOutTile), kChannel, out, at(kOutTiles));
    choose(u(Slot::kInTile), kChannel, in * (1 - joint), at(kInTiles));
    choose(u(Slot::kInTile), kChannel, in * joint, at(kJointTiles));
    choose(u(Slot::kDepthwiseTile), kChannel, out, at(kDepthwiseTiles));
    const double spatial = hardness(Slot::kSpatialSoft);
    choose(u(Slot::kHeightTile), std::array{0.6, 0.2, 0.2}, spatial, at(kHeightTiles0));
    choose(u(Slot::kWidthTile), std::array{0.36, 0.16, 0.16, 0.16, 0.16}, spatial,
           at(kWidthTiles0));
    // What is not hard counts without waste: the first option wastes nothing.
    *at(kOutTiles) += static_cast<float>(1 - out);
    *at(kInTiles) += static_cast<float>(1 - in);
    *at(kDepthwiseTiles) += static_cast<float>(1 - out);
    *at(kHeightTiles0) += static_cast<float>(1 - spatial);
    *at(kWidthTiles0) += static_cast<float>(1 - spatial);
  }

  void convolutions() {
    set(kSmallInput, gated(u(Slot::kSmallIn), 0.8, 0.3, 64));
    set(kSmallOutput, gated(u(Slot::kSmallOut), 0.8, 0.3, 64));
    set(kSmallImage, gated(u(Slot::kSmallMap), 0.7, 1, 400));
    set(kOutputPrice, gated(u(Slot::kOutput), 0.2, 0.5, 200));
    set(kCallPrice, gated(u(Slot::kPixel), 0.4, 5, 5000));
    set(kTapPrice, gated(u(Slot::kTap), 0.2, 1, 500));
    set(kWinogradFactor, std::exp(std::log(0.4) * ramp(u(Slot::kWinograd), 0.6, 1)));
    set(kStrideFactor, std::exp(0.35 * outer(z(Slot::kStride), 0.8)));
    set(kTapsExponent, 0.25 * outer(z(Slot::kTaps), 0.8));
    set(kPatchBytes, gated(u(Slot::kPatches), 0.7, 0.1, 2));
    set(kBatchNormShare, ramp(u(Slot::kBatchNorm), 0.8, 1));
    set(kOutputGrid, ramp(u(Slot::kTransposeGrid), 0.6, 0.85));
  }

  void depthwise() {
    set(kDepthwiseExponent, std::max(0.2, 1 + 0.3 * outer(z(Slot::kDepthwiseTaps), 0.5)));
    set(kDepthwiseRounded, ramp(u(Slot::kDepthwiseRound), 0.7, 0.85));
    // Without a kernel of its own it is a loop, which wastes no lanes.
    set(kLoopShare,
        ramp(u(static_cast<int>(Variant::kDepthwiseLarge), VariantSlot::kWork), 0.5, 0.6));
    set(kDepthwiseStrideFactor, std::exp(0.35 * outer(z(Slot::kDepthwiseStride), 0.8)));
  }

  void precision() {
    set(kMacPrecision, 1);
    set(kMacPrecision + 1, log_uniform(u(Slot::kMac16), 0.5, 6));
    set(kMacPrecision + 2, log_uniform(u(Slot::kMac32), 0.7, 16));
    set(kElementPrecision, 1);
    set(kElementPrecision + 1, std::exp(0.5 * outer(z(Slot::kElement16), 0.5)));
    set(kElementPrecision + 2, std::exp(0.5 * outer(z(Slot::kElement32), 0.5)));
  }

  void traffic() {
    const double byte = log_uniform(u(Slot::kByte), 0.1, 200);
    choose(u(Slot::kByteTile), std::array{0.5, 0.2, 0.2, 0.1}, byte, at(kByteTiles0));
    set(kBytePrice, byte);
    set(kBorderByte, byte * gated(u(Slot::kBorder), 0.6, 0.1, 10));
    set(kSpillBytes, log_uniform(u(Slot::kSpillSize), 8e3, 20e6));
    set(kSpillPrice, byte * gated(u(Slot::kSpillExtra), 0.75, 0.3, 30));
    set(kSpillByLive, ramp(u(Slot::kSpillLive), 0.5, 0.7));
    const double weight = gated(u(Slot::kWeightByte), 0.2, 0.2, 500);
    set(kWeightPrice, weight);
    set(kCodedShare, ramp(u(Slot::kWeightCoded), 0.6, 0.8));
    set(kRereadPerPixel, gated(u(Slot::kWeightReread), 0.8, 1.0 / 4096, 1.0 / 16));
    set(kWeightLargeBytes, log_uniform(u(Slot::kWeightLarge), 8e3, 4e6));
    set(kWeightLargePrice, weight * gated(u(Slot::kWeightExtra), 0.75, 0.3, 20));
    set(kJoinActs, ramp(u(Slot::kJoinActivations), 0.35, 0.65));
    set(kJoinWeight, ramp(u(Slot::kJoinWeights), 0.35, 0.65));
    set(kSkipPrice, 2 * byte * ramp(u(Slot::kSkipCopy), 0.75, 1));
  }

  void fusion() {
    set(kPoolByTaps, ramp(u(Slot::kPoolTaps), 0.2, 0.8));
    set(kInlinePrice, gated(u(Slot::kInlineActivation), 0.75, 0.02, 3));
    const double activation = ramp(u(Slot::kFuseActivation), 0.45, 0.7);
    const auto residual = [&](Context context, double value) {
      set(kResidual + static_cast<int>(context), value);
    };
    residual(Context::kNone, 1);
    residual(Context::kActivationOfOnlyUse, activation);
    residual(Context::kActivationShared,
             activation + (1 - activation) * ramp(u(Slot::kFuseShared), 0.4, 0.6));
    residual(Context::kAddOfProduct, ramp(u(Slot::kFuseAdd), 0.2, 0.35));
    residual(Context::kAddOfAdd, 0.3 + 0.7 * ramp(u(Slot::kFuseAddOfAdd), 0.1, 0.4));
    residual(Context::kMulOfProduct, ramp(u(Slot::kFuseMul), 0.15, 0.3));
    residual(Context::kPadOfProduct, ramp(u(Slot::kFusePad), 0.3, 0.5));
    set(kRepeatShare, 1 - ramp(u(Slot::kRepeated), 0.7, 0.85));
  }

  void slow_kinds() {
    const double share = u(Slot::kSlowKinds);
    // Beyond the threshold a kind is slow; none is for 45 % of the devices.
    slow_from_ = 4.1 - 1.7 * ramp(share, 0.45, 0.5) - 1.2 * ramp(share, 0.5, 1);
    slow_gain_ = log_uniform(u(Slot::kSlowGain), 2, 8);
    const double unreported = u(Slot::kUnreported);
    unreported_from_ = 4.1 - 1.5 * ramp(unreported, 0.8, 0.83) - 0.8 * ramp(unreported, 0.83, 1);
    outside_ = ramp(u(Slot::kOutside), 0.3, 0.6);
    set(kSwitchCost, launch_ * gated(u(Slot::kSwitchLaunch), 0.4, 0.3, 100));
    set(kSwitchBytePrice, field(kBytePrice) * gated(u(Slot::kSwitchByte), 0.5, 0.1, 10));
    set(kCpuShare, ramp(u(Slot::kCpuReported), 0.15, 0.3));
    set(kCpuScale, log_uniform(u(Slot::kCpuSlow), 1, 400));
    set(kCpuCopyScale, log_uniform(u(Slot::kCpuCopy), 0.3, 30));
  }

  // Work of a variant: a factor of its multiply-accumulates, or a price of an element.
  [[nodiscard]] double work(int variant) const;
  [[nodiscard]] double bytes(int variant) const;
  [[nodiscard]] double free_share(int variant) const;

  void variants() {
    const double other = log_uniform(u(Slot::kLaunchOther), 0.15, 1.5);
    const double level = std::exp(1.2 * z(Slot::kElement));
    for (int v = 0; v < kVariants; ++v) {
      const bool is_element = formula_of(static_cast<Variant>(v)) == Formula::kElement;
      set(kLaunchOf + v,
          launch_ * (is_element ? other : 1.0) * std::exp(0.5 * z(v, VariantSlot::kLaunch)));
      set(kWorkOf + v, work(v) * (is_element ? level : 1.0));
      set(kBytesOf + v, bytes(v));
      const double slow = z(v, VariantSlot::kSlow);
      const double excess = std::max(0.0, slow - slow_from_);
      const double reported = 1 - std::clamp(4 * (-slow - unreported_from_), 0.0, 1.0);
      const double factor = std::min(std::exp(slow_gain_ * excess), 100.0);
      set(kScaleOf + v, factor * reported * free_share(v));
      set(kOutsideOf + v, outside_ * std::min(1.0, 3 * excess));
    }
    set(kOutsideOf + kVariants, 1);
  }

  void energy() {
    set(kEnergyMac, 1);
    set(kEnergyMac + 1, std::exp(0.6 * z(Slot::kPowerDepthwise)));
    set(kEnergyMac + 2, std::exp(0.6 * z(Slot::kPowerMatrix)));
    set(kEnergyMac + 3, std::exp(0.6 * z(Slot::kPowerElement)));
    set(kEnergyPrecision, 1);
    set(kEnergyPrecision + 1, std::exp(0.5 * z(Slot::kPower16)));
    set(kEnergyPrecision + 2, std::exp(0.5 * z(Slot::kPower32)));
    const double bytes = log_uniform(u(Slot::kPowerBytes), 0.1, 10);
    set(kEnergyBytes, bytes);
    set(kEnergyWeights, bytes * std::exp(0.6 * z(Slot::kPowerWeights)));
    set(kEnergyLaunch, log_uniform(u(Slot::kPowerLaunch), 0.02, 1));
    set(kEnergyStatic, gated(u(Slot::kPowerStatic), 0.2, 0.02, 3));
  }

  void planner() {
    const double waste = 1 + gated(u(Slot::kPlanWaste), 0.4, 0.01, 0.5);
    choose(u(Slot::kPlanTile), std::array{0.55, 0.1, 0.25, 0.1}, waste, at(kPlanTiles));
    set(kPlanAlignBytes, gated(u(Slot::kPlanAlign), 0.5, 8, 4096));
    set(kPlanInPlaceShare, ramp(u(Slot::kPlanInPlace), 0.3, 0.6));
    set(kPlanPatchShare, gated(u(Slot::kPlanPatch), 0.5, 0.001, 1));
    set(kPlanCopyShare, ramp(u(Slot::kPlanCopies), 0.6, 1));
    set(kPlanSumShare, ramp(u(Slot::kPlanNoReuse), 0.85, 1));
    set(kPlanStagedShare, gated(u(Slot::kPlanStaged), 0.5, 0.05, 2));
    set(kPlanWeightShare,
        ramp(u(Slot::kPlanWeights), 0.25, 0.5) * (1 + gated(u(Slot::kPlanPacked), 0.5, 0.02, 1)));
    set(kPlanFixedBytes, gated(u(Slot::kPlanFixed), 0.3, 256, 6.4e7));
    set(kPlanBorderShare, gated(u(Slot::kPlanBorder), 0.6, 0.2, 2));
  }

  std::span<const double> z_;
  std::span<float, kFields> fields_;
  double launch_ = 0, slow_from_ = 0, slow_gain_ = 0, unreported_from_ = 0, outside_ = 0;
};

double Decoder::work(int variant) const {
  const double n = z(variant, VariantSlot::kWork);
  const double p = probability(n);
  const double depthwise = log_uniform(u(Slot::kDepthwise), 0.7, 80);
  switch (static_cast<Variant>(variant)) {
    case Variant::kConv1x1:
      return std::exp(0.15 + 0.55 * n);
    case Variant::kConvKxK:
      return std::exp(0.1 * n);
    case Variant::kConv1D:
      return std::exp(0.6 * outer(n, 0.5));
    case Variant::kConvDilated:
      return std::exp(0.8 * std::max(0.0, n - 0.5));
    case Variant::kConvFirst:
      return std::exp(0.6 * outer(n, 0.5));
    case Variant::kConvGrouped:
      return std::exp(0.2 + 0.8 * n);
    case Variant::kDepthwise9:
      return depthwise * std::exp(0.1 * n);
    case Variant::kDepthwise25:
      return depthwise * std::exp(0.35 * outer(n, 0.3));
    case Variant::kDepthwiseLarge:  // often without a kernel of its own
      return depthwise * std::exp(std::log(40.0) * ramp(p, 0.5, 1) + 0.3 * std::min(0.0, n + 0.3));
    case Variant::kDepthwise1D:
      return depthwise * std::exp(0.6 * outer(n, 0.5));
    case Variant::kDepthwiseDilated:
      return depthwise * std::exp(0.7 * std::max(0.0, n - 0.4));
    case Variant::kFullyConnected:
      return log_uniform(p, 0.3, 10);
    case Variant::kTransposeConv2:
      return log_uniform(p, 0.5, 8);
    case Variant::kTransposeConvLarge:  // mostly the same kernel
      return log_uniform(u(static_cast<int>(Variant::kTransposeConv2), VariantSlot::kWork), 0.5,
                         8) *
             std::exp(0.6 * outer(n, 0.3));
    case Variant::kMatMul:
      return log_uniform(p, 0.5, 10);
    case Variant::kRecurrent:
    case Variant::kControl:
      return log_uniform(p, 0.5, 20);
    case Variant::kConcat:
    case Variant::kConcatMany:
    case Variant::kPad:
      return log_uniform(p, 0.05, 5);
    case Variant::kReshape:
      return log_uniform(p, 0.02, 2);
    case Variant::kSlice:
      return log_uniform(p, 0.05, 8);
    case Variant::kRelu:
    case Variant::kReduce:
    case Variant::kGlobalPool:
    case Variant::kLut:
    case Variant::kTranspose:
    case Variant::kQuantize:
    case Variant::kShift:
      return log_uniform(p, 0.1, 30);
    case Variant::kResizeNearest:
    case Variant::kDepthToSpace:
      return log_uniform(p, 0.1, 20);
    case Variant::kSoftmax:
      return log_uniform(p, 5, 1000);
    case Variant::kLogistic:
    case Variant::kHardSwish:
      return log_uniform(p, 0.3, 200);
    case Variant::kLeakyRelu:
    case Variant::kResizeBilinear:
      return log_uniform(p, 0.2, 100);
    case Variant::kOtherActivation:
    case Variant::kOther:
      return log_uniform(p, 0.5, 300);
    case Variant::kElementwise:
    case Variant::kGather:
    case Variant::kArgMax:
      return log_uniform(p, 0.2, 60);
    case Variant::kAveragePool:
    case Variant::kMaxPool:
      return log_uniform(p, 0.3, 1000);
    default:  // additions, multiplications, pools
      return log_uniform(p, 0.2, 30);
  }
}

double Decoder::bytes(int variant) const {
  const double n = z(variant, VariantSlot::kBytes);
  const auto kind = static_cast<Variant>(variant);
  if (kind == Variant::kAveragePool || kind == Variant::kMaxPool)
    return log_uniform(probability(n), 0.3, 6);
  if (formula_of(kind) == Formula::kElement) return log_uniform(probability(n), 0.5, 4);
  return std::exp(0.3 * n);
}

double Decoder::free_share(int variant) const {
  switch (static_cast<Variant>(variant)) {
    case Variant::kConcat:
    case Variant::kConcatMany:
      return ramp(u(Slot::kFreeConcat), 0.35, 0.45);
    case Variant::kReshape:
      return ramp(u(Slot::kFreeReshape), 0.7, 0.8);
    case Variant::kSlice:
      return ramp(u(Slot::kFreeSlice), 0.25, 0.35);
    case Variant::kDepthToSpace:
      return ramp(u(Slot::kFreeSlice), 0.05, 0.12);
    default:
      return 1;
  }
}

}  // namespace

void decode_device(std::span<const double> z, std::span<float, kFields> fields) {
  Decoder(z, fields).run();
}

}  // namespace edgesage::simulate
