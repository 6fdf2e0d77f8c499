#include "tests/simulate/reference_device.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "src/analysis/row_costs.h"
#include "src/lower/operator_shapes.h"

namespace edgesage::simulate {
namespace {

struct RowPrice {
  double time = 0, energy = 0;
};

class Reference {
 public:
  Reference(const Graph& graph, const Lowering& lowering, const SimNetwork& network,
            const DeviceSet& devices, int32_t device)
      : graph_(graph),
        lowering_(lowering),
        network_(network),
        costs_(edgesage::row_costs(graph, lowering)),
        value_([&devices, device](int field) { return devices.value(device, field); }) {}

  [[nodiscard]] double latency() const {
    double total = overhead();
    size_t first = 0;
    for (size_t i = 0; i < lowering_.rows.size(); ++i) {
      if (!is_cut(i)) continue;
      total += span_time(first, i);
      first = i + 1;
    }
    return total;
  }

  [[nodiscard]] double energy() const {
    double total = value_(kEnergyStatic) * latency();
    for (size_t i = 0; i < lowering_.rows.size(); ++i) total += times(i) * price(i).energy;
    return total;
  }

  [[nodiscard]] double memory() const {
    double peak = 0;
    for (size_t i = 0; i < lowering_.rows.size(); ++i) peak = std::max(peak, moment(i));
    double all = 0;
    for (size_t t = 0; t < graph_.main().tensors.size(); ++t)
      if (!graph_.main().tensors[t].is_constant()) all += planned(static_cast<int32_t>(t));
    const double n = value_(kPlanSumShare);
    return (1 - n) * peak + n * all + weights() * value_(kPlanWeightShare) +
           value_(kPlanFixedBytes) + border() * value_(kPlanBorderShare);
  }

 private:
  static double up(double size, double tile) { return std::ceil(size / tile) * tile; }

  template <size_t N>
  [[nodiscard]] double waste(double size, const std::array<int64_t, N>& tiles, int field) const {
    double sum = 0;
    for (size_t k = 0; k < N; ++k)
      sum += value_(field + static_cast<int>(k)) * up(size, static_cast<double>(tiles[k])) / size;
    return sum;
  }

  [[nodiscard]] double times(size_t i) const {
    return static_cast<double>(lowering_.rows[i].repeat);
  }

  [[nodiscard]] const SimRow& sim(size_t i) const {
    return network_.unique[static_cast<size_t>(network_.unique_of[i])];
  }

  [[nodiscard]] double macs_time(size_t i) const {
    const Row& row = lowering_.rows[i];
    const double taps = row.kernel_h * row.kernel_w;
    const auto in = static_cast<double>(row.ifm.c), out = static_cast<double>(row.ofm.c);
    const auto height = static_cast<double>(row.ofm.h), width = static_cast<double>(row.ofm.w);
    const auto macs = static_cast<double>(costs_[i].macs);
    const bool strided = row.stride_h > 1 || row.stride_w > 1;
    const double channels =
        waste(out, kChannelTiles, kOutTiles) *
        (waste(in, kChannelTiles, kInTiles) + waste(in * taps, kChannelTiles, kJointTiles));
    const double map = waste(height, kHeightTiles, kHeightTiles0) *
                       waste(width, kWidthTiles, kWidthTiles0) *
                       (1 + value_(kSmallImage) / (height * width));
    if (row.kind == RowKind::kFullyConnected) return macs * channels;
    if (row.kind == RowKind::kDepthwiseConv2D) {
      double rounded = taps;
      for (const double kernel : {49.0, 25.0, 9.0})
        if (taps <= kernel) rounded = kernel;
      const double r = value_(kDepthwiseRounded);
      const double by_taps =
          (1 - r) * std::pow(taps / 9, value_(kDepthwiseExponent) - 1) + r * rounded / taps;
      double lanes = waste(out, kChannelTiles, kDepthwiseTiles);
      const bool plain = row.dilation_h == 1 && row.kernel_h > 1 && row.kernel_w > 1;
      if (plain && taps > 25) lanes += value_(kLoopShare) * (1 - lanes);
      return macs * by_taps * lanes * map * (strided ? value_(kDepthwiseStrideFactor) : 1);
    }
    const bool winograd = row.kernel_h == 3 && row.kernel_w == 3 && !strided &&
                          row.dilation_h == 1 && row.dilation_w == 1;
    return macs * channels * map * (1 + value_(kSmallInput) / in) *
           (1 + value_(kSmallOutput) / out) * (winograd ? value_(kWinogradFactor) : 1) *
           (strided ? value_(kStrideFactor) : 1) *
           (taps > 1 ? std::pow(taps / 9, value_(kTapsExponent)) : 1);
  }

  // Starting so many pixels, and finding so many taps of theirs.
  [[nodiscard]] double walk(double pixels, double taps) const {
    return value_(kCallPrice) * pixels + value_(kTapPrice) * taps;
  }

  // Storing outputs, whole tiles of them; starting a pixel; finding its taps.
  [[nodiscard]] double overhead_of(size_t i) const {
    const Row& row = lowering_.rows[i];
    const auto pixels = static_cast<double>(row.ofm.n * row.ofm.h * row.ofm.w);
    if (row.op_kind == OpKind::kResizeNearestNeighbor) return walk(pixels, 0);
    if (row.op_kind == OpKind::kResizeBilinear) return walk(pixels, 4 * pixels);
    if (costs_[i].macs == 0) return 0;
    const bool depthwise = row.kind == RowKind::kDepthwiseConv2D;
    const double stored = value_(kOutputPrice) * static_cast<double>(row.ofm.elements()) *
                          waste(static_cast<double>(row.ofm.c), kChannelTiles,
                                depthwise ? kDepthwiseTiles : kOutTiles);
    if (row.kind == RowKind::kFullyConnected) return stored;
    const double taps = row.kernel_h * row.kernel_w;
    return stored + walk(pixels, taps > 1 ? taps * pixels : 0);
  }

  [[nodiscard]] double elements_time(size_t i) const {
    const Row& row = lowering_.rows[i];
    const Variant variant = sim(i).variant;
    const bool reads = variant == Variant::kReduce;
    const auto elements = static_cast<double>(reads ? row.ifm.elements() : row.ofm.elements());
    const bool pools = row.kind == RowKind::kAveragePool || row.kind == RowKind::kMaxPool;
    const double q = pools ? value_(kPoolByTaps) : 0;
    return elements * ((1 - q) + q * row.kernel_h * row.kernel_w / 9.0);
  }

  [[nodiscard]] double traffic(size_t i) const {
    const Row& row = lowering_.rows[i];
    const auto read = static_cast<double>(costs_[i].ifm_bytes);
    const auto written = static_cast<double>(costs_[i].ofm_bytes);
    double time = 0;
    for (size_t k = 0; k < kByteTiles.size(); ++k) {
      const auto tile = static_cast<double>(kByteTiles[k]);
      const auto in = static_cast<double>(row.ifm.c), out = static_cast<double>(row.ofm.c);
      time += value_(kByteTiles0 + static_cast<int>(k)) *
              (read * up(in, tile) / in + written * up(out, tile) / out);
    }
    time *= value_(kBytesOf + static_cast<int>(sim(i).variant));
    if (row.kind == RowKind::kConv2D) {
      const double taps = row.kernel_h * row.kernel_w;
      const double patches = taps > 1 ? static_cast<double>(row.ofm.h * row.ofm.w * row.ifm.c) *
                                            taps * bits_per_element(row.ifm_type) / 8.0
                                      : 0;
      time += value_(kBytePrice) *
              (value_(kPatchBytes) * patches + value_(kBatchNormShare) * 2 * written);
    }
    time += value_(kSkipPrice) * static_cast<double>(sim(i).skip_bytes);
    const double held =
        read + written + value_(kSpillByLive) * (static_cast<double>(sim(i).live) - read - written);
    return time + value_(kSpillPrice) * std::clamp(held - value_(kSpillBytes), 0.0, read + written);
  }

  [[nodiscard]] RowPrice price(size_t i) const {
    const Row& row = lowering_.rows[i];
    const auto v = static_cast<int>(sim(i).variant);
    const bool has_macs = costs_[i].macs > 0;
    const int precision = row.ifm_type == DataType::kFloat32 ? 2 : 0;
    double work = has_macs ? macs_time(i) : elements_time(i);
    const bool on_cpu = row.placement == Placement::kCpu;
    work *=
        value_(kWorkOf + v) * value_((has_macs ? kMacPrecision : kElementPrecision) + precision);
    if (row.activation != OpKind::kUnknown)
      work += value_(kInlinePrice) * static_cast<double>(row.ofm.elements());
    work += overhead_of(i);
    double launch = value_(kLaunchOf + v) *
                    (1 + value_(kLaunchOfRow) * static_cast<double>(row.ofm.n * row.ofm.h));
    if (row.kind == RowKind::kConv2D) launch *= 1 + value_(kBatchNormShare);
    const double bytes = traffic(i);
    const double stored = (1 - value_(kCodedShare)) * static_cast<double>(costs_[i].weights_bytes) +
                          value_(kCodedShare) * static_cast<double>(sim(i).coded);
    const auto pixels = static_cast<double>(row.ofm.n * row.ofm.h * row.ofm.w);
    const double weights =
        stored * value_(kWeightPrice) * (1 + value_(kRereadPerPixel) * pixels) +
        value_(kWeightLargePrice) * std::max(0.0, stored - value_(kWeightLargeBytes));
    const auto join = [](double a, double b, double share) {
      return std::max(a, b) + share * std::min(a, b);
    };
    double scale = value_(kScaleOf + v) * value_(kResidual + static_cast<int>(sim(i).context));
    if (sim(i).is_repeated) scale *= value_(kRepeatShare);
    double cpu = 1;
    if (on_cpu) {
      const bool moves = row.kind == RowKind::kReshape || row.kind == RowKind::kCopy ||
                         row.kind == RowKind::kPad || row.kind == RowKind::kTranspose ||
                         row.kind == RowKind::kDepthToSpace ||
                         row.op_kind == OpKind::kResizeNearestNeighbor;
      scale *= value_(kCpuShare);
      cpu = value_(moves ? kCpuCopyScale : kCpuScale);
    }
    const double busy =
        cpu * join(work, join(bytes, weights, value_(kJoinWeight)), value_(kJoinActs));
    int kind = has_macs ? 0 : 3;
    if (row.kind == RowKind::kDepthwiseConv2D) kind = 1;
    if (row.kind == RowKind::kFullyConnected) kind = 2;
    return {
        join(launch, busy, value_(kLaunchAdded)) * scale,
        scale * (cpu * (work * value_(kEnergyMac + kind) * value_(kEnergyPrecision + precision) +
                        bytes * value_(kEnergyBytes) + weights * value_(kEnergyWeights)) +
                 launch * value_(kEnergyLaunch))};
  }

  // Everything after row i can only run when it has: no later row reads an earlier one or the
  // graph's input, and no output was made before.
  [[nodiscard]] bool is_cut(size_t i) const {
    if (i + 1 == lowering_.rows.size()) return true;
    if (times(i) != times(i + 1)) return true;  // where a loop starts or ends
    for (size_t j = i + 1; j < lowering_.rows.size(); ++j) {
      const Row& row = lowering_.rows[j];
      if (row.inputs.empty()) return false;
      for (const int32_t input : row.inputs)
        if (static_cast<size_t>(input) < i) return false;
    }
    for (size_t j = 0; j < i; ++j)
      for (const int32_t tensor : lowering_.rows[j].ofm_tensors)
        if (std::ranges::find(graph_.main().outputs, tensor) != graph_.main().outputs.end())
          return false;
    return true;
  }

  [[nodiscard]] double span_time(size_t first, size_t last) const {
    double sum = 0, path = 0, runs = 0;
    std::vector<double> end(last + 1, 0.0);
    for (size_t i = first; i <= last; ++i) {
      double start = 0;
      for (const int32_t input : lowering_.rows[i].inputs)
        if (static_cast<size_t>(input) >= first)
          start = std::max(start, end[static_cast<size_t>(input)]);
      const double time = times(i) * price(i).time;
      runs += times(i);
      end[i] = start + time;
      path = std::max(path, end[i]);
      sum += time;
    }
    if (path > sum * (1 - 1e-9)) return sum;  // a chain
    path = std::max(path, value_(kFloorLaunch) * runs);
    const double share = sum * value_(kPerStream);
    const double large = std::max(path, share), small = std::min(path, share);
    const double parallel = std::min(sum, large + value_(kCrowd) * small * small / large);
    return value_(kSerialShare) * sum + (1 - value_(kSerialShare)) * parallel;
  }

  [[nodiscard]] double overhead() const {
    double total = value_(kFixedCost) + value_(kBorderByte) * border();
    const auto outside = [&](size_t i) {
      return lowering_.rows[i].placement == Placement::kCpu
                 ? 1.0
                 : value_(kOutsideOf + static_cast<int>(sim(i).variant));
    };
    for (size_t i = 1; i < lowering_.rows.size(); ++i)
      total += std::min(times(i), times(i - 1)) * std::abs(outside(i) - outside(i - 1)) *
               (value_(kSwitchCost) +
                value_(kSwitchBytePrice) * static_cast<double>(costs_[i].ifm_bytes));
    return total;
  }

  [[nodiscard]] double border() const {
    double bytes = 0;
    for (const auto& list : {graph_.main().inputs, graph_.main().outputs})
      for (const int32_t tensor : list)
        bytes +=
            static_cast<double>(*graph_.main().tensors[static_cast<size_t>(tensor)].byte_size());
    return bytes;
  }

  [[nodiscard]] double weights() const {
    return static_cast<double>(graph_totals(graph_).weights_bytes);
  }

  [[nodiscard]] double planned(int32_t tensor_index) const {
    const Tensor& tensor = graph_.main().tensors[static_cast<size_t>(tensor_index)];
    const auto bytes = static_cast<double>(*tensor.byte_size());
    return bytes * waste(static_cast<double>(tensor.shape.back()), kByteTiles, kPlanTiles);
  }

  // First and last row that needs the tensor; graph inputs from the start, outputs to the end.
  [[nodiscard]] bool is_alive(int32_t tensor, size_t i) const {
    const Subgraph& main = graph_.main();
    size_t first = lowering_.rows.size(), last = 0;
    const auto touch = [&](size_t step) {
      first = std::min(first, step);
      last = std::max(last, step);
    };
    for (size_t j = 0; j < lowering_.rows.size(); ++j)
      for (const auto& list : {lowering_.rows[j].ifm_tensors, lowering_.rows[j].ofm_tensors})
        if (std::ranges::find(list, tensor) != list.end()) touch(j);
    if (std::ranges::find(main.inputs, tensor) != main.inputs.end()) touch(0);
    if (std::ranges::find(main.outputs, tensor) != main.outputs.end())
      touch(lowering_.rows.size() - 1);
    return first <= i && i <= last;
  }

  [[nodiscard]] double moment(size_t i) const {
    const Row& row = lowering_.rows[i];
    double bytes = 0;
    bool input_dies = false;
    for (size_t t = 0; t < graph_.main().tensors.size(); ++t) {
      const auto tensor = static_cast<int32_t>(t);
      if (graph_.main().tensors[t].is_constant() || !is_alive(tensor, i)) continue;
      bytes += planned(tensor) + value_(kPlanAlignBytes);
      const bool read = std::ranges::find(row.ifm_tensors, tensor) != row.ifm_tensors.end();
      input_dies = input_dies || (read && !is_alive(tensor, i + 1));
    }
    const bool same_place =
        row.kind == RowKind::kReshape ||
        (costs_[i].macs == 0 && row.kind != RowKind::kCopy && row.ifm == row.ofm);
    if (same_place && input_dies)
      bytes -= value_(kPlanInPlaceShare) * static_cast<double>(costs_[i].ofm_bytes);
    const double taps = row.kernel_h * row.kernel_w;
    if (row.kind == RowKind::kConv2D && taps > 1)
      bytes += value_(kPlanPatchShare) * static_cast<double>(row.ofm.h * row.ofm.w * row.ifm.c) *
               taps * bits_per_element(row.ifm_type) / 8.0;
    return bytes +
           value_(kPlanCopyShare) * static_cast<double>(costs_[i].ifm_bytes + costs_[i].ofm_bytes) +
           value_(kPlanStagedShare) * static_cast<double>(costs_[i].weights_bytes);
  }

  const Graph& graph_;
  const Lowering& lowering_;
  const SimNetwork& network_;
  std::vector<RowCost> costs_;
  std::function<double(int)> value_;
};

}  // namespace

double reference_cost(const Graph& graph, const Lowering& lowering, const SimNetwork& network,
                      const DeviceSet& devices, int32_t device, SimQuantity quantity) {
  const Reference reference(graph, lowering, network, devices, device);
  switch (quantity) {
    case SimQuantity::kLatency:
      return reference.latency();
    case SimQuantity::kEnergy:
      return reference.energy();
    case SimQuantity::kMemory:
      return reference.memory();
  }
  return 0;
}

}  // namespace edgesage::simulate
