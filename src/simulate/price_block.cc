#include "src/simulate/price_block.h"

// Plain vectors with operators: the scalable instruction sets do not have them.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/simulate/price_block.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace edgesage::simulate {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, kLanes>;
using V = hn::Vec<D>;

HWY_INLINE V Splat(float value) { return hn::Set(D(), value); }

// Some lanes of one block of devices.
class View {
 public:
  HWY_INLINE View(const Lanes* fields, size_t lane) : fields_(fields), lane_(lane) {}
  HWY_INLINE V operator[](int field) const {
    return hn::Load(D(), fields_[field].v.data() + lane_);
  }
  template <size_t N>
  HWY_INLINE V Dot(const std::array<float, N>& values, int field) const {
    V sum = Splat(values[0]) * (*this)[field];
    for (size_t k = 1; k < N; ++k)
      sum = hn::MulAdd(Splat(values[k]), (*this)[field + static_cast<int>(k)], sum);
    return sum;
  }

 private:
  const Lanes* fields_;
  size_t lane_;
};

// 2^x to 3e-6 for |x| up to 100 (Taylor series about the nearest integer).
HWY_INLINE V Exp2(V x) {
  const hn::RebindToSigned<D> di;
  const V whole = hn::Round(x);
  const V y = (x - whole) * Splat(0.69314718F);
  V series = hn::MulAdd(y, Splat(1.0F / 120), Splat(1.0F / 24));
  series = hn::MulAdd(series, y, Splat(1.0F / 6));
  series = hn::MulAdd(series, y, Splat(0.5F));
  series = hn::MulAdd(series, y, Splat(1.0F));
  series = hn::MulAdd(series, y, Splat(1.0F));
  const auto exponent = hn::ConvertTo(di, whole) + hn::Set(di, 127);
  return series * hn::BitCast(D(), hn::ShiftLeft<23>(exponent));
}

// The larger, and a share of the smaller.
HWY_INLINE V Join(V a, V b, V share) { return hn::MulAdd(hn::Min(a, b), share, hn::Max(a, b)); }

HWY_INLINE V OnePlus(V amount, float per) { return hn::MulAdd(amount, Splat(per), Splat(1.0F)); }

HWY_INLINE V ChannelWaste(const SimRow& row, const View& f) {
  const V in = f.Dot(row.waste_in, kInTiles) + f.Dot(row.waste_joint, kJointTiles);
  return in * f.Dot(row.waste_out, kOutTiles);
}

HWY_INLINE V SpatialWaste(const SimRow& row, const View& f) {
  return f.Dot(row.waste_h, kHeightTiles0) * f.Dot(row.waste_w, kWidthTiles0) *
         OnePlus(f[kSmallImage], row.per_pixel);
}

HWY_INLINE V Convolution(const SimRow& row, const View& f) {
  V work = Splat(row.macs) * ChannelWaste(row, f) * SpatialWaste(row, f) *
           OnePlus(f[kSmallInput], row.per_in) * OnePlus(f[kSmallOutput], row.per_out);
  if (row.is_winograd) work = work * f[kWinogradFactor];
  if (row.is_strided) work = work * f[kStrideFactor];
  if (row.variant != Variant::kConv1x1 && row.log2_taps != 0)
    work = work * Exp2(f[kTapsExponent] * Splat(row.log2_taps));
  return work;
}

HWY_INLINE V Depthwise(const SimRow& row, const View& f) {
  V waste = f.Dot(row.waste_out, kDepthwiseTiles);
  if (row.variant == Variant::kDepthwiseLarge)
    waste = hn::MulAdd(f[kLoopShare], Splat(1.0F) - waste, waste);
  V work = Splat(row.macs) * waste * SpatialWaste(row, f);
  if (row.log2_taps != 0) {
    const V smooth = Exp2((f[kDepthwiseExponent] - Splat(1.0F)) * Splat(row.log2_taps));
    work = work * hn::MulAdd(f[kDepthwiseRounded], Splat(row.rounded_taps) - smooth, smooth);
  }
  return row.is_strided ? work * f[kDepthwiseStrideFactor] : work;
}

HWY_INLINE V TransposeConv(const SimRow& row, const View& f) {
  const V macs =
      hn::MulAdd(f[kOutputGrid], Splat(row.macs_on_output) - Splat(row.macs), Splat(row.macs));
  return macs * ChannelWaste(row, f);
}

HWY_INLINE V Elements(const SimRow& row, const View& f) {
  return hn::MulAdd(f[kPoolByTaps], Splat(row.tap_elements) - Splat(row.elements),
                    Splat(row.elements));
}

// What is done for each output, pixel and tap, however few channels there are.
template <Formula kFormula>
HWY_INLINE V Overhead(const SimRow& row, const View& f) {
  const V pixels = hn::MulAdd(f[kTapPrice], Splat(row.tap_reads), f[kCallPrice] * Splat(row.calls));
  if constexpr (kFormula == Formula::kElement) return pixels;
  constexpr int kTiles = kFormula == Formula::kDepthwise ? kDepthwiseTiles : kOutTiles;
  return hn::MulAdd(f[kOutputPrice] * f.Dot(row.waste_out, kTiles), Splat(row.outputs), pixels);
}

template <Formula kFormula>
HWY_INLINE V Work(const SimRow& row, const View& f) {
  if constexpr (kFormula == Formula::kConvolution) return Convolution(row, f);
  if constexpr (kFormula == Formula::kDepthwise) return Depthwise(row, f);
  if constexpr (kFormula == Formula::kTransposeConv) return TransposeConv(row, f);
  if constexpr (kFormula == Formula::kMatrix) return Splat(row.macs) * ChannelWaste(row, f);
  return Elements(row, f);
}

HWY_INLINE V Beyond(V amount, V limit) { return hn::Max(amount - limit, hn::Zero(D())); }

template <Formula kFormula>
HWY_INLINE V Traffic(const SimRow& row, const View& f) {
  const int variant = static_cast<int>(row.variant);
  const V plain = Splat(row.bytes[0]);
  V traffic = f.Dot(row.bytes, kByteTiles0) * f[kBytesOf + variant];
  if constexpr (kFormula == Formula::kConvolution) {
    const V extra = hn::MulAdd(f[kPatchBytes], Splat(row.patch_bytes),
                               f[kBatchNormShare] * Splat(2 * row.out_bytes));
    traffic = hn::MulAdd(extra, f[kBytePrice], traffic);
  }
  traffic = hn::MulAdd(f[kSkipPrice], Splat(row.skip_bytes), traffic);
  const V held = hn::MulAdd(f[kSpillByLive], Splat(row.live) - plain, plain);
  const V spilt = hn::Min(Beyond(held, f[kSpillBytes]), plain);
  return hn::MulAdd(spilt, f[kSpillPrice], traffic);
}

HWY_INLINE V Weights(const SimRow& row, const View& f) {
  const V bytes =
      hn::MulAdd(f[kCodedShare], Splat(row.coded) - Splat(row.weights), Splat(row.weights));
  const V read = bytes * f[kWeightPrice] * OnePlus(f[kRereadPerPixel], row.pixels);
  return hn::MulAdd(Beyond(bytes, f[kWeightLargeBytes]), f[kWeightLargePrice], read);
}

HWY_INLINE V Scale(const SimRow& row, const View& f) {
  V scale = f[kScaleOf + static_cast<int>(row.variant)];
  if (row.context != Context::kNone) scale = scale * f[kResidual + static_cast<int>(row.context)];
  if (row.is_repeated) scale = scale * f[kRepeatShare];
  return row.is_cpu ? scale * f[kCpuShare] : scale;
}

HWY_INLINE V OnCpu(const SimRow& row, const View& f) {
  if (!row.is_cpu) return Splat(1.0F);
  return f[row.is_copy ? kCpuCopyScale : kCpuScale];
}

constexpr int EnergyClass(Formula formula) {
  switch (formula) {
    case Formula::kDepthwise:
      return 1;
    case Formula::kMatrix:
      return 2;
    case Formula::kElement:
      return 3;
    default:
      return 0;
  }
}

template <Formula kFormula>
void PriceRow(const SimRow& row, const Lanes* fields, Lanes& cost, Lanes* energy) {
  constexpr bool kIsElement = kFormula == Formula::kElement;
  const int variant = static_cast<int>(row.variant);
  const int precision = row.precision + (kIsElement ? kElementPrecision : kMacPrecision);
  for (size_t lane = 0; lane < kLanes; lane += hn::Lanes(D())) {
    const View f(fields, lane);
    V work = Work<kFormula>(row, f);
    // Kernels of transposed convolutions are slow in everything.
    if constexpr (kFormula == Formula::kTransposeConv) work = work + Overhead<kFormula>(row, f);
    work = work * f[kWorkOf + variant] * f[precision];
    if (row.has_activation) work = hn::MulAdd(f[kInlinePrice], Splat(row.elements), work);
    if (kFormula != Formula::kTransposeConv && (!kIsElement || row.calls > 0))
      work = work + Overhead<kFormula>(row, f);
    V launch = f[kLaunchOf + variant] * OnePlus(f[kLaunchOfRow], row.out_rows);
    if constexpr (kFormula == Formula::kConvolution)
      launch = hn::MulAdd(launch, f[kBatchNormShare], launch);
    const V traffic = Traffic<kFormula>(row, f);
    const V weights = Weights(row, f);
    const V cpu = OnCpu(row, f);
    const V busy = Join(work, Join(traffic, weights, f[kJoinWeight]), f[kJoinActs]) * cpu;
    const V scale = Scale(row, f);
    const V time = Join(launch, busy, f[kLaunchAdded]) * scale;
    hn::Store(hn::Min(time, Splat(1e30F)), D(), cost.v.data() + lane);
    if (energy == nullptr) continue;
    V joules = work * f[kEnergyMac + EnergyClass(kFormula)] * f[kEnergyPrecision + row.precision];
    joules = hn::MulAdd(traffic, f[kEnergyBytes], joules);
    joules = hn::MulAdd(weights, f[kEnergyWeights], joules) * cpu;
    joules = hn::MulAdd(launch, f[kEnergyLaunch], joules) * scale;
    hn::Store(hn::Min(joules, Splat(1e30F)), D(), energy->v.data() + lane);
  }
}

void PriceRows(const SimNetwork& network, const Lanes* fields, Lanes* cost, Lanes* energy) {
  for (size_t i = 0; i < network.unique.size(); ++i) {
    const SimRow& row = network.unique[i];
    Lanes* joules = energy == nullptr ? nullptr : energy + i;
    switch (row.formula) {
      case Formula::kConvolution:
        PriceRow<Formula::kConvolution>(row, fields, cost[i], joules);
        break;
      case Formula::kDepthwise:
        PriceRow<Formula::kDepthwise>(row, fields, cost[i], joules);
        break;
      case Formula::kTransposeConv:
        PriceRow<Formula::kTransposeConv>(row, fields, cost[i], joules);
        break;
      case Formula::kMatrix:
        PriceRow<Formula::kMatrix>(row, fields, cost[i], joules);
        break;
      case Formula::kElement:
        PriceRow<Formula::kElement>(row, fields, cost[i], joules);
        break;
    }
  }
}

void PriceOverhead(const SimNetwork& network, const Lanes* fields, Lanes& out) {
  for (size_t lane = 0; lane < kLanes; lane += hn::Lanes(D())) {
    const View f(fields, lane);
    V sum = hn::MulAdd(f[kBorderByte], Splat(network.border_bytes), f[kFixedCost]);
    for (const Neighbours& pair : network.neighbours) {
      const V change = hn::Abs(f[kOutsideOf + pair.from] - f[kOutsideOf + pair.to]);
      const V price =
          hn::MulAdd(f[kSwitchBytePrice], Splat(pair.bytes), f[kSwitchCost] * Splat(pair.count));
      sum = hn::MulAdd(change, hn::Min(price, Splat(1e30F)), sum);
    }
    hn::Store(sum, D(), out.v.data() + lane);
  }
}

// Time of one segment whose branches may overlap, and the sum of its rows.
HWY_INLINE V Overlapped(const Segment& segment, const View& f, size_t lane, const Lanes* cost,
                        Lanes* finish, V& sum) {
  V longest = hn::Zero(D());
  sum = hn::Zero(D());
  for (size_t i = 0; i < segment.row.size(); ++i) {
    const V time = hn::Load(D(), cost[segment.row[i]].v.data() + lane);
    V start = hn::Zero(D());
    for (int32_t k = segment.offset[i]; k < segment.offset[i + 1]; ++k)
      start = hn::Max(start,
                      hn::Load(D(), finish[segment.input[static_cast<size_t>(k)]].v.data() + lane));
    const V end = start + time;
    hn::Store(end, D(), finish[i].v.data() + lane);
    longest = hn::Max(longest, end);
    sum = sum + time;
  }
  const V floor = f[kFloorLaunch] * Splat(static_cast<float>(segment.row.size()));
  const V path = hn::Max(longest, floor);
  const V share = sum * f[kPerStream];
  const V larger = hn::Max(hn::Max(path, share), Splat(1e-30F));
  const V smaller = hn::Min(path, share);
  const V parallel = hn::MulAdd(f[kCrowd] * smaller, smaller / larger, larger);
  return hn::MulAdd(f[kSerialShare], sum - hn::Min(sum, parallel), hn::Min(sum, parallel));
}

void AddUp(const SimNetwork& network, const Lanes* fields, bool overlaps, const Lanes* cost,
           Lanes* finish, Lanes* shortened, Lanes& out) {
  const float* count = overlaps ? network.serial_count.data() : network.count.data();
  for (size_t lane = 0; lane < kLanes; lane += hn::Lanes(D())) {
    const View f(fields, lane);
    V total = hn::Zero(D());
    for (size_t i = 0; i < network.unique.size(); ++i)
      total = hn::MulAdd(Splat(count[i]), hn::Load(D(), cost[i].v.data() + lane), total);
    for (size_t s = 0; overlaps && s < network.segments.size(); ++s) {
      const Segment& segment = network.segments[s];
      V sum;
      const V time = Overlapped(segment, f, lane, cost, finish, sum);
      total = hn::MulAdd(Splat(segment.count), time, total);
      if (shortened != nullptr)
        hn::Store(time / hn::Max(sum, Splat(1e-30F)), D(), shortened[s].v.data() + lane);
    }
    hn::Store(hn::Min(total, Splat(1e36F)), D(), out.v.data() + lane);
  }
}

void AddEnergy(const SimNetwork& network, const Lanes* fields, const Lanes* energy,
               const Lanes& latency, Lanes& out) {
  for (size_t lane = 0; lane < kLanes; lane += hn::Lanes(D())) {
    const View f(fields, lane);
    V total = f[kEnergyStatic] * hn::Load(D(), latency.v.data() + lane);
    for (size_t i = 0; i < network.unique.size(); ++i)
      total = hn::MulAdd(Splat(network.count[i]), hn::Load(D(), energy[i].v.data() + lane), total);
    hn::Store(total, D(), out.v.data() + lane);
  }
}

HWY_INLINE V MomentBytes(const MemoryMoment& moment, const View& f) {
  V bytes = f.Dot(moment.live, kPlanTiles);
  bytes = hn::NegMulAdd(f[kPlanInPlaceShare], Splat(moment.reused), bytes);
  bytes = hn::MulAdd(f[kPlanAlignBytes], Splat(moment.tensors), bytes);
  bytes = hn::MulAdd(f[kPlanPatchShare], Splat(moment.patch), bytes);
  bytes = hn::MulAdd(f[kPlanCopyShare], Splat(moment.own), bytes);
  return hn::MulAdd(f[kPlanStagedShare], Splat(moment.weights), bytes);
}

void PriceMemory(const SimNetwork& network, const Lanes* fields, Lanes* moments, Lanes& out) {
  for (size_t lane = 0; lane < kLanes; lane += hn::Lanes(D())) {
    const View f(fields, lane);
    V peak = hn::Zero(D());
    for (size_t i = 0; i < network.moments.size(); ++i) {
      const V bytes = MomentBytes(network.moments[i], f);
      if (moments != nullptr) hn::Store(bytes, D(), moments[i].v.data() + lane);
      peak = hn::Max(peak, bytes);
    }
    const V everything = f.Dot(network.all_bytes, kPlanTiles);
    V total = hn::MulAdd(f[kPlanSumShare], hn::Max(everything - peak, hn::Zero(D())), peak);
    total = hn::MulAdd(f[kPlanWeightShare], Splat(network.weights), total);
    total = hn::MulAdd(f[kPlanBorderShare], Splat(network.border_bytes), total);
    hn::Store(total + f[kPlanFixedBytes], D(), out.v.data() + lane);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace edgesage::simulate
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgesage::simulate {

HWY_EXPORT(PriceRows);
HWY_EXPORT(PriceOverhead);
HWY_EXPORT(AddUp);
HWY_EXPORT(AddEnergy);
HWY_EXPORT(PriceMemory);

void price_rows(const SimNetwork& network, const Lanes* fields, Lanes* cost, Lanes* energy) {
  HWY_DYNAMIC_DISPATCH(PriceRows)(network, fields, cost, energy);
}

void price_overhead(const SimNetwork& network, const Lanes* fields, Lanes& out) {
  HWY_DYNAMIC_DISPATCH(PriceOverhead)(network, fields, out);
}

void add_up(const SimNetwork& network, const Lanes* fields, bool overlaps, const Lanes* cost,
            Lanes* finish, Lanes* shortened, Lanes& out) {
  HWY_DYNAMIC_DISPATCH(AddUp)(network, fields, overlaps, cost, finish, shortened, out);
}

void add_energy(const SimNetwork& network, const Lanes* fields, const Lanes* energy,
                const Lanes& latency, Lanes& out) {
  HWY_DYNAMIC_DISPATCH(AddEnergy)(network, fields, energy, latency, out);
}

void price_memory(const SimNetwork& network, const Lanes* fields, Lanes* moments, Lanes& total) {
  HWY_DYNAMIC_DISPATCH(PriceMemory)(network, fields, moments, total);
}

}  // namespace edgesage::simulate
#endif  // HWY_ONCE
