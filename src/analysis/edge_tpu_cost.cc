#include "src/analysis/edge_tpu_cost.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "src/analysis/row_costs.h"

namespace edgesage {
namespace {

constexpr double kDramBytes = 8;       // a cycle
constexpr double kRegisterCycles = 2;  // the first weight and the last sum
constexpr double kWeightBytes = 32 << 10, kActivationBytes = 2 << 20;
// Picojoules.
constexpr double kMac = 0.04;
constexpr double kDramRead = 700 / kDramBytes, kDramWrite = 750 / kDramBytes;  // a byte
constexpr double kWeightRow = 64, kWeightRead = 22.9, kWeightWrite = 52.01;    // 64 bytes
constexpr double kActivationRow = 256, kActivationRead = 416.16, kActivationWrite = 378.4;
constexpr double kWord = 8;  // bytes: less is read as much
constexpr double kWeightRegister = 0.01, kSumRegister = 0.02;

// Multipliers along each dimension that a kind of layer spreads over the array.
struct Unrolling {
  double outputs = 1, inputs = 1, groups = 1, places = 1;  // places: along x and y each
};
constexpr Unrolling kConvolution{.outputs = 8, .inputs = 8, .places = 4};
constexpr Unrolling kProduct{.outputs = 8, .inputs = 8};
constexpr Unrolling kByChannel{.groups = 8};  // pooling, sums, copies

// A nest of loops over three operands of bytes.
struct Layer {
  Unrolling spread;
  double batch = 1, groups = 1, outputs = 1, inputs = 1, height = 1, width = 1, taps = 1;
  double ifm_bytes = 0, ofm_bytes = 0, weight_bytes = 0;
  bool has_weights = false;  // a second operand
  // Of the inputs, what is transferred by ZigZag's latency (see counted()); 0: ifm_bytes, as far as
  // channels are counted.
  double counted_ifm_bytes = 0;
  bool streams_inputs = false;  // they come while the array works
};

double rounds(double size, double units) { return std::ceil(size / units); }

// How many multipliers of a dimension work, on average.
double busy(double size, double units) { return size / rounds(size, units); }

// ZigZag's latency takes as many elements of a dimension as all rounds have when each uses the
// whole number of multipliers below the average: 3 x 11 of 42 places.
double counted(double size, double units) {
  const double all = rounds(size, units);
  return all > 0 ? all * std::floor(size / all) : 0;
}
double counted_share(double size, double units) {
  return size > 0 ? counted(size, units) / size : 1;
}

double array_cycles(const Layer& layer) {
  const Unrolling& spread = layer.spread;
  return layer.batch * layer.taps * rounds(layer.groups, spread.groups) *
         rounds(layer.outputs, spread.outputs) * rounds(layer.inputs, spread.inputs) *
         rounds(layer.height, spread.places) * rounds(layer.width, spread.places);
}

double cycles(const Layer& layer, double array) {
  const Unrolling& spread = layer.spread;
  const double of_groups = counted_share(layer.groups, spread.groups);
  const double of_inputs = counted_share(layer.inputs, spread.inputs);
  const double of_outputs = counted_share(layer.outputs, spread.outputs) *
                            counted_share(layer.height, spread.places) *
                            counted_share(layer.width, spread.places);
  double outputs = layer.ofm_bytes * of_groups * of_outputs / kDramBytes;
  double weights = layer.weight_bytes * of_groups * of_inputs *
                   counted_share(layer.outputs, spread.outputs) / kDramBytes;
  const double inputs = (layer.counted_ifm_bytes > 0 ? layer.counted_ifm_bytes : layer.ifm_bytes) *
                        of_groups * of_inputs / kDramBytes;
  if (layer.streams_inputs || layer.ifm_bytes + layer.ofm_bytes > kActivationBytes)
    return std::max(array, inputs + outputs + weights);
  if (layer.weight_bytes <= kWeightBytes) {
    double time = array;
    const auto hide = [&time](double& transfer) {
      const double hidden = std::min(std::max(transfer - 1, 0.0), time);
      transfer -= hidden;
      time -= hidden;
    };
    const bool outputs_first = outputs > weights;
    hide(outputs_first ? outputs : weights);
    hide(outputs_first ? weights : outputs);
    return array + std::max(inputs, weights) + outputs + kRegisterCycles;
  }
  double pieces =
      rounds(layer.outputs, layer.spread.outputs) * rounds(layer.groups, layer.spread.groups);
  if (layer.height * layer.width * layer.batch ==
      1)  // weights are used once: as small as they like
    pieces = std::max(pieces, 2 * rounds(layer.weight_bytes, kWeightBytes));
  pieces = std::max(pieces, 2.0);
  const double waiting = (pieces - 1) * std::max(0.0, (weights - array) / pieces);
  const double free = std::max(0.0, 1 - weights / array) * (array + waiting);
  outputs -= std::min(std::max(outputs - 1, 0.0), free);
  return array + waiting + std::max(inputs, weights / pieces) + outputs + kRegisterCycles;
}

// Picojoules of a read of so many bytes, of which a row of the memory holds `row`.
double read_energy(double bytes, double row, double of_row) {
  return std::ceil(bytes / kWord) * kWord / row * of_row;
}

double picojoules(const Layer& layer, double array) {
  const Unrolling& spread = layer.spread;
  const double groups = busy(layer.groups, spread.groups);
  const double outputs = busy(layer.outputs, spread.outputs);
  const double inputs = busy(layer.inputs, spread.inputs);
  const double places = busy(layer.height, spread.places) * busy(layer.width, spread.places);
  const double weights = layer.has_weights ? groups * outputs * inputs : 0;
  const double macs = layer.batch * layer.groups * layer.outputs * layer.inputs * layer.height *
                      layer.width * layer.taps;
  const double a_cycle = read_energy(groups * inputs * places, kActivationRow, kActivationRead) +
                         read_energy(weights, kWeightRow, kWeightRead) +
                         2 * kWeightRegister * weights +
                         2 * kSumRegister * groups * outputs * places;
  return kMac * macs + array * a_cycle + kDramRead * (layer.ifm_bytes + layer.weight_bytes) +
         kDramWrite * layer.ofm_bytes + layer.ifm_bytes * kActivationWrite / kActivationRow +
         layer.ofm_bytes * (kActivationWrite + kActivationRead) / kActivationRow +
         layer.weight_bytes * kWeightWrite / kWeightRow;
}

double number(int64_t value) { return static_cast<double>(value); }

// Rows of an image that a window of `kernel` taps touches on its way.
double touched(int64_t size, int64_t out, int64_t kernel, int64_t stride, int64_t dilation) {
  stride = std::max<int64_t>(stride, 1);
  dilation = std::max<int64_t>(dilation, 1);
  const int64_t common = std::gcd(stride, dilation);
  const double twice = std::max(0.0, number(kernel) - number(stride / common)) *
                       std::max(0.0, number(out) - number(dilation / common));
  return std::min(number(size), number(out) * number(kernel) - twice);
}

// Observed of windows with strides: where the last round along a side is nearly as full as the
// others (27 places as 7 rounds of 4), ZigZag finds an order that does not wait for the inputs.
bool is_nearly_full(int64_t places) {
  const double average = busy(number(places), kConvolution.places);
  return average - std::floor(average) >= 0.6;
}

Layer convolution(const Row& row) {
  Layer layer{.spread = kConvolution};
  const int64_t groups = std::max<int64_t>(row.groups, 1);
  layer.batch = number(row.ofm.n);
  layer.groups = number(groups);
  layer.outputs = number(row.ofm.c) / number(groups);
  layer.inputs = number(row.ifm.c) / number(groups);
  layer.height = number(row.ofm.h);
  layer.width = number(row.ofm.w);
  layer.taps = number(row.kernel_h) * number(row.kernel_w);
  layer.ifm_bytes = layer.batch * number(row.ifm.c) *
                    touched(row.ifm.h, row.ofm.h, row.kernel_h, row.stride_h, row.dilation_h) *
                    touched(row.ifm.w, row.ofm.w, row.kernel_w, row.stride_w, row.dilation_w);
  const auto seen = [&](int64_t size, int64_t out, int64_t kernel, int64_t stride,
                        int64_t dilation) {
    const double places = counted(number(out), kConvolution.places);
    return touched(size, static_cast<int64_t>(places), kernel, stride, dilation);
  };
  layer.counted_ifm_bytes = layer.batch * number(row.ifm.c) *
                            seen(row.ifm.h, row.ofm.h, row.kernel_h, row.stride_h, row.dilation_h) *
                            seen(row.ifm.w, row.ofm.w, row.kernel_w, row.stride_w, row.dilation_w);
  layer.streams_inputs = (row.stride_h > 1 && is_nearly_full(row.ofm.h)) ||
                         (row.stride_w > 1 && is_nearly_full(row.ofm.w));
  layer.weight_bytes = layer.groups * layer.outputs * layer.inputs * layer.taps;
  layer.has_weights = true;
  return layer;
}

// A product reads `rows` vectors of which each meets a matrix.
Layer product(const Row& row, const RowCost& cost) {
  Layer layer{.spread = kProduct};
  const double results = number(row.ofm.elements());
  layer.outputs = number(row.ofm.c);
  layer.inputs = results > 0 ? number(cost.macs) / results : 0;
  layer.height = results / std::max(layer.outputs, 1.0);
  layer.ifm_bytes = layer.height * layer.inputs;
  layer.weight_bytes = row.kind == RowKind::kMatMul && row.has_ifm2 ? number(row.ifm2.elements())
                                                                    : layer.outputs * layer.inputs;
  layer.has_weights = true;
  return layer;
}

Layer pooling(const Row& row) {
  Layer layer{.spread = kByChannel};
  layer.batch = number(row.ofm.n);
  layer.groups = number(row.ofm.c);
  layer.height = number(row.ofm.h);
  layer.width = number(row.ofm.w);
  if (row.kind == RowKind::kReduce) {
    layer.taps = number(row.ifm.h * row.ifm.w) / std::max(layer.height * layer.width, 1.0);
    layer.ifm_bytes = number(row.ifm.elements());
    return layer;
  }
  layer.taps = number(row.kernel_h) * number(row.kernel_w);
  layer.ifm_bytes = layer.batch * layer.groups *
                    touched(row.ifm.h, row.ofm.h, row.kernel_h, row.stride_h, 1) *
                    touched(row.ifm.w, row.ofm.w, row.kernel_w, row.stride_w, 1);
  return layer;
}

// Value by value, with a second operand or without.
Layer by_value(const Row& row, const RowCost& cost) {
  Layer layer{.spread = kByChannel};
  const double results = number(cost.ofm_bytes);  // of a split, all of them
  layer.groups = number(row.ofm.c);
  layer.height = results / std::max(layer.groups, 1.0);
  layer.ifm_bytes = results;
  const bool sums = row.kind == RowKind::kAdd || row.kind == RowKind::kSub ||
                    row.kind == RowKind::kMul || row.kind == RowKind::kMinMax;
  if (!sums || !row.has_ifm2) return layer;
  layer.weight_bytes = number(std::min(row.ifm.elements(), row.ifm2.elements()));
  layer.has_weights = layer.weight_bytes > 1;  // one value for all is a copy
  if (!layer.has_weights) layer.weight_bytes = 0;
  return layer;
}

Layer layer_of(const Row& row, const RowCost& cost) {
  Layer layer;
  switch (row.kind) {
    case RowKind::kConv2D:
    case RowKind::kDepthwiseConv2D:
      layer = convolution(row);
      break;
    case RowKind::kFullyConnected:
    case RowKind::kMatMul:
      layer = product(row, cost);
      break;
    case RowKind::kAveragePool:
    case RowKind::kMaxPool:
    case RowKind::kReduce:
      layer = pooling(row);
      break;
    default:
      layer = by_value(row, cost);
  }
  layer.ofm_bytes = number(cost.ofm_bytes);
  return layer;
}

}  // namespace

std::vector<EdgeTpuCost> edge_tpu_row_costs(const Graph& graph, const Lowering& lowering) {
  std::vector<EdgeTpuCost> result(lowering.rows.size());
  if (lowering.target.kind != TargetKind::kEdgeTpuLike) return result;
  const std::vector<RowCost> costs = row_costs(graph, lowering);
  for (size_t i = 0; i < result.size(); ++i) {
    const Row& row = lowering.rows[i];
    if (row.placement != Placement::kNpu || row.kind == RowKind::kReshape) continue;
    const Layer layer = layer_of(row, costs[i]);
    EdgeTpuCost& cost = result[i];
    cost.array_cycles = std::max(1.0, array_cycles(layer));
    cost.dram_cycles = (layer.ifm_bytes + layer.ofm_bytes + layer.weight_bytes) / kDramBytes;
    cost.cycles = cycles(layer, cost.array_cycles);
    cost.picojoules = picojoules(layer, cost.array_cycles);
  }
  return result;
}

}  // namespace edgesage
