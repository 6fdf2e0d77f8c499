#include "src/analysis/ethos_cycles.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "src/analysis/ethos_blocks.h"
#include "src/analysis/liveness.h"
#include "src/analysis/row_costs.h"
#include "src/analysis/weight_stats.h"

namespace edgesage {
namespace {

double real(int64_t value) { return static_cast<double>(value); }
int64_t divide_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }
int64_t round_up(int64_t value, int64_t unit) { return divide_up(value, unit) * unit; }

// Output stage, cycles an element. Published figures of each size of U55 and U65.
struct OutputRates {
  double convolution = 0.25, mul = 0.375, add = 0.75, int32 = 1.125, count = 0.625, table = 1.0;
};

OutputRates output_rates(int32_t macs_per_cycle) {
  switch (macs_per_cycle) {
    case 32:
      return {2.0, 3.0, 6.0, 3.0, 2.0, 1.0};
    case 64:
      return {1.0, 1.5, 3.0, 1.5, 1.0, 1.0};
    case 128:
      return {0.5, 0.75, 1.5, 1.25, 0.75, 1.0};
    case 512:
      return {0.125, 0.1875, 0.375, 0.5625, 0.3125, 0.5};
    default:
      return {};
  }
}

// One device in its usual system; times in cycles of the core's clock.
struct Machine {
  EthosArray array;
  bool is_u85 = false;
  double speed = 1;  // of the array against 256 multiply-accumulates a cycle
  OutputRates rates;
  double sram_bytes = 8, dram_bytes = 0, flash_bytes = 0;  // a cycle
  double block_latency = 32;
  double fetch = 0.25;  // cycles a byte of a block's own reads and writes
  double dma_latency = 64;
  double fast_memory = 0;  // bytes of SRAM for feature maps; 0: they are always there
};

Machine machine_of(const Target& target) {
  Machine m;
  m.array = ethos_array(target);
  m.speed = std::max(target.macs_per_cycle, 32) / 256.0;
  m.rates = output_rates(target.macs_per_cycle);
  if (target.kind == TargetKind::kEthosU55) {
    m.flash_bytes = 1;
    return m;
  }
  m.is_u85 = target.kind == TargetKind::kEthosU85;
  m.sram_bytes = m.is_u85 ? 32 : 16;
  m.dram_bytes = m.is_u85 ? 6.84 : 12;  // U85: less, for the latency of its reads
  m.fetch = m.is_u85 ? 0.0625 : 0.125;
  m.dma_latency = 500;
  m.fast_memory = 384 * 1024;
  if (m.is_u85) {
    const double each = 32.0 / std::max(target.macs_per_cycle, 32);
    m.rates = {each, 2 * each, 2 * each, 4 * each, 4 * each, 4 * each};
  }
  return m;
}

// A row as blocks.
struct Tiling {
  EthosBlock block;
  int64_t h = 1, w = 1, c = 1;  // of a block, inside the output
  double blocks = 1;            // may be a fraction
  int64_t blocks_hw = 1;        // whole blocks over height and width
  int64_t blocks_c = 1;
  int64_t kernel_h = 1, kernel_w = 1;  // with dilation
  double repeats = 1;                  // batches, groups, or positions that run one after the other
  Shape4 ifm, ofm;                     // of one repeat
};

EthosKernel kernel_of(const Row& row) {
  switch (row.kind) {
    case RowKind::kConv2D:
    case RowKind::kTransposeConv:
      return EthosKernel::kDense;
    case RowKind::kDepthwiseConv2D:
      return EthosKernel::kDepthwise;
    case RowKind::kFullyConnected:
    case RowKind::kMatMul:
    case RowKind::kReduce:
      return EthosKernel::kVector;
    case RowKind::kAdd:
    case RowKind::kSub:
    case RowKind::kMul:
    case RowKind::kMinMax:
    case RowKind::kElementwise:
    case RowKind::kShift:
      return EthosKernel::kElementwise;
    default:
      return EthosKernel::kPooling;
  }
}

Tiling tile(const Machine& m, const Row& row) {
  Tiling t;
  t.ifm = row.ifm;
  t.ofm = row.ofm;
  t.repeats = real(std::max<int64_t>(row.ofm.n, 1));
  t.ifm.n = t.ofm.n = 1;
  const EthosKernel kernel = kernel_of(row);
  if (kernel == EthosKernel::kVector) {  // the batch becomes a width
    t.ofm = {1, 1, row.ofm.n * row.ofm.h * row.ofm.w, row.ofm.c};
    t.ifm = {1, 1, t.ofm.w, row.ifm.c};
    t.repeats = 1;
  }
  int64_t stride_h = row.stride_h, stride_w = row.stride_w;
  if (row.kind == RowKind::kTransposeConv) {  // over the input spread out by the stride
    t.ifm.h = row.ofm.h, t.ifm.w = row.ofm.w;
    stride_h = stride_w = 1;
  }
  if (row.kind == RowKind::kConv2D && row.groups > 1) {
    t.repeats *= real(row.groups);
    t.ifm.c = std::max<int64_t>(row.ifm.c / row.groups, 1);
    t.ofm.c = std::max<int64_t>(row.ofm.c / row.groups, 1);
  }
  const bool wide = std::max(stride_h, stride_w) > 3;
  if (wide && kernel != EthosKernel::kElementwise) {  // each position on its own
    t.repeats *= real(t.ofm.h) * real(t.ofm.w);
    t.ofm.h = t.ofm.w = 1;
    t.ifm.h = row.kernel_h, t.ifm.w = row.kernel_w;
    stride_h = stride_w = 1;
  }
  t.kernel_h = (row.kernel_h - 1) * int64_t{row.dilation_h} + 1;
  t.kernel_w = (row.kernel_w - 1) * int64_t{row.dilation_w} + 1;
  t.block = choose_ethos_block(m.array, kernel, t.ifm, t.ofm, t.kernel_h, t.kernel_w, stride_h,
                               stride_w, bits_per_element(row.ifm_type));
  const auto inside = [](int64_t block, int64_t whole) {
    return std::max<int64_t>(std::min(block, whole), 1);
  };
  t.h = inside(t.block.h, t.ofm.h);
  t.w = inside(t.block.w, t.ofm.w);
  t.c = inside(t.block.c, t.ofm.c);
  t.blocks_hw =
      divide_up(std::max<int64_t>(t.ofm.h, 1), t.h) * divide_up(std::max<int64_t>(t.ofm.w, 1), t.w);
  t.blocks_c = divide_up(std::max<int64_t>(t.ofm.c, 1), t.c);
  t.blocks = std::max(real(t.ofm.h) / real(t.h), 1.0) * std::max(real(t.ofm.w) / real(t.w), 1.0) *
             std::max(real(t.ofm.c) / real(t.c), 1.0);
  return t;
}

// Multiplier cycles of one block. Kernels beyond 8x8 run in parts; each step takes four cycles for
// each unit of outputs, and at least as long as its weights need to be decoded.
double array_cycles(const Machine& m, const Row& row, const Tiling& t) {
  constexpr int64_t kPart = 8, kDecode = 32;
  int64_t unit_h = m.array.unit_h, unit_w = m.array.unit_w;
  const bool multiplies = kernel_of(row) != EthosKernel::kPooling;
  if (multiplies && unit_h == 2 && t.ofm.h == 1 && t.ofm.w % 2 == 0 && t.kernel_h == 1) {
    unit_h = 1;
    unit_w = 2 * m.array.unit_w;
  }
  const int64_t units = divide_up(t.h, unit_h) * divide_up(t.w, unit_w);
  const int64_t deep = divide_up(t.c, m.array.unit_c);
  const int64_t slow = bits_per_element(row.ifm_type) > 8 ? 2 : 1;
  const int64_t passes = divide_up(std::max<int64_t>(t.ifm.c, 1), t.block.ifm_c);
  const int64_t taps_only = std::min(t.block.ifm_c, std::max<int64_t>(t.ifm.c, 1));
  double cycles = 0;
  for (int64_t y = 0; y < t.kernel_h; y += kPart)
    for (int64_t x = 0; x < t.kernel_w; x += kPart) {
      const int64_t taps = std::min(kPart, t.kernel_h - y) * std::min(kPart, t.kernel_w - x);
      const int64_t each = std::max(kDecode, 4 * units * slow);
      int64_t steps = taps;
      int64_t part = 0;
      switch (kernel_of(row)) {
        case EthosKernel::kPooling:
          part = 4 * std::max<int64_t>(taps, 4) * units * deep * slow;
          if (units == 1) part += taps * deep;
          break;
        case EthosKernel::kDepthwise:
          steps = divide_up(taps, 4);
          part = each * steps * deep;
          break;
        case EthosKernel::kDense:
        case EthosKernel::kVector:
        case EthosKernel::kElementwise:
          if (t.block.part_kernel) steps = divide_up(taps, 4) * divide_up(taps_only, 8);
          part = each * steps * deep;
          break;
      }
      if (multiplies && units == 1) part += 2 * (deep == 1 ? steps : (steps - 1) * deep);
      cycles += real(part);
    }
  if (kernel_of(row) == EthosKernel::kDense || kernel_of(row) == EthosKernel::kVector)
    cycles *= real(passes);
  return cycles / m.array.cores / (m.is_u85 ? m.speed : 1.0);
}

double output_rate(const Machine& m, const Row& row) {
  double rate = m.rates.convolution;
  const bool wide = bits_per_element(row.ifm_type) == 32;
  switch (row.kind) {
    case RowKind::kAdd:
    case RowKind::kSub:
      rate = wide ? m.rates.int32 : m.rates.add;
      break;
    case RowKind::kMul:
      rate = wide ? m.rates.int32 : m.rates.mul;
      break;
    case RowKind::kShift:
      rate = row.inputs.size() > 1 || row.ofm.c > 1 ? m.rates.int32 : m.rates.count;
      break;
    default:
      rate = m.rates.convolution;
      break;
  }
  const bool looked_up = row.activation != OpKind::kUnknown && row.activation != OpKind::kRelu &&
                         row.activation != OpKind::kRelu6 && row.activation != OpKind::kReluN1To1 &&
                         row.activation != OpKind::kRelu0To1;
  return looked_up ? std::max(rate, m.rates.table) : rate;
}

// Elementwise rows are limited by the output stage alone; channels come in bricks of 16.
double elementwise_cycles(const Machine& m, const Row& row) {
  const int64_t c = row.ofm_tensors.empty() ? round_up(row.ofm.c, 16) : row.ofm.c;
  const double elements = real(row.ofm.n) * real(row.ofm.h) * real(row.ofm.w) * real(c);
  return elements * output_rate(m, row);
}

double block_row_cycles(const Machine& m, const Row& row, const Tiling& t, bool slow_bias) {
  const double multiply = array_cycles(m, row, t);
  const double inputs =
      real(std::min(t.ifm.h, t.block.ifm_h)) * real(std::min(t.ifm.w, t.block.ifm_w)) *
      real(std::min(t.ifm.c, t.block.ifm_c)) * bits_per_element(row.ifm_type) / 8.0;
  const double outputs = real(t.h) * real(t.w) * real(t.c);
  const bool convolves = row.weights >= 0 || row.invented_weights;
  // Fewer than eight channels are written without bricks, a few bytes at a time.
  const double thin = convolves && row.kind != RowKind::kFullyConnected && t.ofm.c < 8
                          ? 16.0 / real(std::max<int64_t>(t.ofm.c, 1))
                          : 1.0;
  const double bias = convolves ? 10 * real(t.c) * (slow_bias ? m.dma_latency : 32.0) / 256 : 0.0;
  const double read = m.block_latency + m.fetch * inputs;
  const double written = m.block_latency + m.fetch * thin * outputs *
                                               std::max(bits_per_element(row.ofm_type) / 8.0, 1.0);
  const double output = std::max({written, output_rate(m, row) * outputs, bias});
  const double command =
      convolves ? (multiply + 2 * m.fetch * inputs + 3 * m.fetch * outputs + 250) / 4 : 0.0;
  return multiply + std::max(read + output, command) + (t.blocks - 1) * std::max(multiply, output);
}

// Bytes that a row reads and writes in its memories, counting what blocks fetch again.
double feature_map_bytes(const Row& row, const Tiling& t) {
  const double ifm_width = bits_per_element(row.ifm_type) / 8.0;
  const double ofm_width = bits_per_element(row.ofm_type) / 8.0;
  // Convolutions of fewer than eight channels are written plainly, all else in bricks of 16.
  const bool plain = row.ofm.c < 8 && (row.weights >= 0 || row.kind == RowKind::kActivation);
  const auto bricks = [plain](const Shape4& s) {
    return real(s.n) * real(s.h) * real(s.w) * real(plain ? s.c : round_up(s.c, 16));
  };
  const double written = bricks(row.ofm) * ofm_width;
  const EthosKernel kernel = kernel_of(row);
  if (kernel == EthosKernel::kElementwise) {
    double read = bricks(row.ofm) * ifm_width;
    if (row.has_ifm2 && !row.ifm2_constant) read *= 2;
    return read + written;
  }
  const double area =
      real(std::min(t.ifm.h, t.block.ifm_h)) * real(std::min(t.ifm.w, t.block.ifm_w));
  const bool per_depth = kernel == EthosKernel::kDense || kernel == EthosKernel::kVector;
  const double parts = real(divide_up(t.kernel_h, 8)) * real(divide_up(t.kernel_w, 8));
  const double read = area * real(round_up(t.ifm.c, 16)) * real(t.blocks_hw) *
                      (per_depth ? real(t.blocks_c) : 1.0) * parts * t.repeats * ifm_width;
  return read + written;
}

struct WeightBytes {
  double values = 0;  // encoded
  double scales = 0;  // ten bytes a channel
  [[nodiscard]] double all() const { return values + scales; }
};

// Zeros that fill up groups of eight channels and four taps are stored too, though shortly.
double filling(const Row& row, int64_t elements, bool part_kernel) {
  const int64_t taps = int64_t{row.kernel_h} * row.kernel_w;
  const bool by_four = part_kernel || row.kind == RowKind::kDepthwiseConv2D;
  double filled = real(round_up(row.ofm.c, 8)) * real(by_four ? round_up(taps, 4) : taps);
  if (row.kind != RowKind::kDepthwiseConv2D)
    filled *= real(round_up(std::max<int64_t>(row.ifm.c / std::max<int64_t>(row.groups, 1), 1), 8));
  return std::max(filled - real(elements), 0.0);
}

WeightBytes weight_bytes(const Graph& graph, const Row& row, bool part_kernel) {
  constexpr double kBitsOfFilling = 0.25, kHeaderBytes = 40;  // fitted to Vela's output
  WeightBytes bytes;
  if (row.invented_weights) {
    bytes.values = real(row.kernel_h) * real(row.kernel_w) * real(row.ofm.c) / 16 + kHeaderBytes;
  } else if (row.weights >= 0) {
    const Tensor& weights = graph.main().tensors[static_cast<size_t>(row.weights)];
    const double bits = weight_stats(graph, weights).encoded_bits_estimate;
    const int64_t elements = weights.element_count();
    bytes.values =
        (real(elements) * bits + kBitsOfFilling * filling(row, elements, part_kernel)) / 8 +
        kHeaderBytes;
  } else {
    return bytes;
  }
  bytes.scales = real(round_up(10 * row.ofm.c, 16));
  return bytes;
}

// Walks the rows in order: whether weights are fetched ahead depends on the row before.
class Estimator {
 public:
  Estimator(const Graph& graph, const Lowering& lowering)
      : graph_(graph), lowering_(lowering), machine_(machine_of(lowering.target)) {
    if (machine_.fast_memory > 0) live_ = liveness(graph, lowering).live_bytes;
  }

  RowCycles row_cycles(size_t index) {
    const Row& row = lowering_.rows[index];
    const Tiling t = tile(machine_, row);
    const WeightBytes weights = weight_bytes(graph_, row, t.block.part_kernel);
    RowCycles cycles;
    const bool elementwise = kernel_of(row) == EthosKernel::kElementwise;
    const double unbuffered = elementwise ? elementwise_cycles(machine_, row)
                                          : block_row_cycles(machine_, row, t, true) * t.repeats;
    const double moved = feature_map_bytes(row, t);
    const bool buffered =
        weights.all() > 0 && row.kind != RowKind::kFullyConnected &&
        (t.blocks_hw > 1 || weights.all() + machine_.dma_latency < 0.83 * unbuffered);
    cycles.npu = buffered && !elementwise ? block_row_cycles(machine_, row, t, false) * t.repeats
                                          : unbuffered;
    double slow_bytes = weights.all() * real(t.blocks_hw), fast_bytes = 0;
    if (buffered) {
      fast_bytes = weights.values * real(t.blocks_hw);
      slow_bytes = weights.scales * real(t.blocks_hw) + fetched_late(row, weights);
      cycles.npu += exposed_fetch(row, weights);
    }
    slow_bytes += table_bytes(row);
    if (machine_.is_u85 && !elementwise) cycles.npu = 1.2 * cycles.npu + 150;  // fitted
    previous_ = cycles.npu;
    spread(row, index, moved, fast_bytes, slow_bytes, cycles);
    if (machine_.is_u85) add_latency(row, t, cycles);
    if (machine_.is_u85 && elementwise && is_chained(index)) cycles = {};
    return cycles;
  }

  void skip() { previous_ = 0; }

 private:
  // Constants of a softmax: the exponential's table, and zeros that spread one value over all.
  static double table_bytes(const Row& row) {
    if (row.op_kind != OpKind::kSoftmax || row.ofm.c <= 1 || !row.ofm_tensors.empty()) return 0;
    if (row.kind == RowKind::kShift) return 192;
    return row.kind == RowKind::kAdd ? 8 * real(row.ofm.c) : 0;
  }

  double slow_rate() const {
    return machine_.flash_bytes > 0 ? machine_.flash_bytes : machine_.dram_bytes;
  }

  // Share of the weights that the row before leaves time to fetch.
  double early_share(const Row& row, const WeightBytes& weights) const {
    if (weights.values <= 0 || previous_ <= 0) return 0;
    const double share = previous_ * slow_rate() / weights.all();
    const double smallest = std::min(16.0 / real(std::max<int64_t>(row.ofm.c, 1)), 1.0);
    return std::clamp(share, smallest, 1.0);
  }

  double fetched_late(const Row& row, const WeightBytes& weights) const {
    return weights.values * (1.0 - early_share(row, weights));
  }

  // Cycles that the first piece keeps the row waiting.
  double exposed_fetch(const Row& row, const WeightBytes& weights) const {
    const double piece =
        weights.all() * std::min(16.0 / real(std::max<int64_t>(row.ofm.c, 1)), 1.0);
    return std::max(piece / slow_rate() + machine_.dma_latency - previous_, 0.0);
  }

  // Feature maps are in SRAM; on U65 and U85 those of the model's inputs and outputs, and what
  // does not fit, are in DRAM.
  void spread(const Row& row, size_t index, double moved, double fast_bytes, double slow_bytes,
              RowCycles& cycles) const {
    if (machine_.flash_bytes > 0) {
      cycles.sram = (moved + fast_bytes) / machine_.sram_bytes;
      cycles.flash = slow_bytes / machine_.flash_bytes;
      return;
    }
    const bool is_full = index < live_.size() && real(live_[index]) > machine_.fast_memory;
    const double share = is_full || touches_border(row) ? 1.0 : 0.0;
    cycles.dram = (slow_bytes + moved * share) / machine_.dram_bytes;
    cycles.sram = (fast_bytes + moved * (1 - share)) / machine_.sram_bytes;
  }

  // U85 waits for each burst of DRAM: a pixel of a model input, and a group of scales.
  void add_latency(const Row& row, const Tiling& t, RowCycles& cycles) const {
    constexpr double kReadBurst = 78.125, kWriteBurst = 19.53, kScales = 390.6, kBurst = 128;
    const double groups = real(divide_up(std::max<int64_t>(row.ofm.c, 1), 16));
    const Subgraph& subgraph = graph_.main();
    const bool convolves = row.weights >= 0;
    double waits = convolves ? kScales * groups * real(t.blocks_hw) : 0.0;
    const auto bursts = [](const Shape4& s) {
      return real(s.n) * real(s.h) * real(s.w) * std::ceil(real(s.c) / kBurst);
    };
    if (any_of_in(row.ifm_tensors, subgraph.inputs)) {
      // A block that takes all channels reads whole lines, others a piece of each pixel.
      const bool dense = kernel_of(row) == EthosKernel::kDense;
      const bool whole = !dense || row.ifm.c <= 16;
      const double lines =
          real(row.ifm.n) * real(row.ifm.h) * std::ceil(real(row.ifm.w) * real(row.ifm.c) / kBurst);
      waits += kReadBurst * (whole ? lines * (dense ? groups : 1.0) : bursts(row.ifm) * groups);
    }
    if (any_of_in(row.ofm_tensors, subgraph.outputs)) waits += kWriteBurst * bursts(row.ofm);
    cycles.dram = std::max(cycles.dram, waits);
  }

  // U85 applies a sum or product to the result of the row before on its way to memory.
  bool is_chained(size_t index) const {
    const Row& row = lowering_.rows[index];
    if (index == 0 || row.op_kind == OpKind::kSoftmax) return false;
    const auto before = static_cast<int32_t>(index) - 1;
    if (std::ranges::find(row.inputs, before) == row.inputs.end()) return false;
    for (size_t i = index + 1; i < lowering_.rows.size(); ++i)
      if (std::ranges::find(lowering_.rows[i].inputs, before) != lowering_.rows[i].inputs.end())
        return false;
    return kernel_of(lowering_.rows[index - 1]) != EthosKernel::kPooling;
  }

  static bool any_of_in(const std::vector<int32_t>& list, const std::vector<int32_t>& of) {
    return std::ranges::any_of(list,
                               [&](int32_t t) { return std::ranges::find(of, t) != of.end(); });
  }

  bool touches_border(const Row& row) const {
    const Subgraph& subgraph = graph_.main();
    return any_of_in(row.ifm_tensors, subgraph.inputs) ||
           any_of_in(row.ofm_tensors, subgraph.outputs);
  }

  const Graph& graph_;
  const Lowering& lowering_;
  Machine machine_;
  std::vector<int64_t> live_;
  double previous_ = 0;  // cycles of the row before, during which weights can be fetched
};

}  // namespace

std::vector<RowCycles> ethos_row_cycles(const Graph& graph, const Lowering& lowering) {
  std::vector<RowCycles> cycles(lowering.rows.size());
  if (!lowering.target.is_ethos() || graph.subgraphs.empty()) return cycles;
  Estimator estimator(graph, lowering);
  for (size_t i = 0; i < cycles.size(); ++i) {
    if (lowering.rows[i].placement == Placement::kNpu)
      cycles[i] = estimator.row_cycles(i);
    else
      estimator.skip();
  }
  return cycles;
}

}  // namespace edgesage
