#include "src/analysis/ethos_machine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "src/analysis/ethos_u85.h"

namespace edgesage {
namespace {

double real(int64_t value) { return static_cast<double>(value); }
int64_t divide_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }
int64_t round_up(int64_t value, int64_t unit) { return divide_up(value, unit) * unit; }

EthosOutputRates output_rates(int32_t macs_per_cycle) {
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

// The machine dilates by two itself; wider gaps are filled with zeros, which are multiplied. (The
// estimates of U55 fill a gap of one, too.)
int64_t spread_kernel(const EthosMachine& m, int64_t side, int64_t dilation) {
  const bool halved = dilation % 2 == 0 && (dilation > 2 || m.fast_memory > 0);
  return (side - 1) * (halved ? dilation / 2 : dilation) + 1;
}

}  // namespace

EthosMachine ethos_machine(const Target& target) {
  EthosMachine m;
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

int64_t ethos_stored_channels(int64_t channels) {
  return channels < 8 ? channels : round_up(channels, 16);
}

int64_t ethos_stored_between(const Row& row, int64_t channels) {
  const bool linear = row.op_kind == OpKind::kArgMax ||
                      (row.op_kind == OpKind::kResizeBilinear && row.kind == RowKind::kCopy);
  if (row.fills_bricks || row.kind == RowKind::kResize) return round_up(channels, 16);
  return linear ? channels : ethos_stored_channels(channels);
}

EthosKernel ethos_kernel(const Row& row) {
  switch (row.kind) {
    case RowKind::kConv2D:
    case RowKind::kTransposeConv:
      return EthosKernel::kDense;
    case RowKind::kDepthwiseConv2D:
      return EthosKernel::kDepthwise;
    case RowKind::kFullyConnected:
      return EthosKernel::kVector;
    case RowKind::kMatMul:
      return EthosKernel::kMatrix;
    case RowKind::kReduce:
      return EthosKernel::kSum;
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

namespace {

U85Work u85_work(const Row& row, const EthosTiling& t, const Shape4& ofm, int64_t stride_h,
                 int64_t stride_w) {
  const auto inside = [](const Shape4& shape) {
    const auto clamp = [](int64_t value) { return std::clamp<int64_t>(value, 1, 1 << 20); };
    return Shape4{1, clamp(shape.h), clamp(shape.w), clamp(shape.c)};
  };
  const auto small = [](int64_t value) { return std::clamp<int64_t>(value, 1, 4096); };
  const auto extent = [](int64_t taps, int32_t dilation) {
    return dilation % 2 == 0 ? 2 * taps - 1 : taps;
  };
  U85Work work;
  work.kernel = ethos_kernel(row);
  if (work.kernel == EthosKernel::kSum || work.kernel == EthosKernel::kMatrix)
    work.kernel = EthosKernel::kVector;
  work.ifm = inside(t.ifm), work.ofm = inside(ofm);
  work.kernel_h = small(t.kernel_h), work.kernel_w = small(t.kernel_w);
  work.extent_h = extent(work.kernel_h, row.dilation_h);
  work.extent_w = extent(work.kernel_w, row.dilation_w);
  work.stride_h = small(stride_h), work.stride_w = small(stride_w);
  work.ifm_bits = std::clamp<int64_t>(bits_per_element(row.ifm_type), 8, 32);
  return work;
}

// Element-wise rows and resizes have fixed runs of pixels in bricks; copies of large maps are
// small blocks.
EthosBlock u85_block(const Row& row, const EthosTiling& t, const Shape4& stripe, int64_t stride_h,
                     int64_t stride_w, EthosBlockMemo& memo) {
  const bool small_copy =
      row.kind == RowKind::kCopy && real(t.ifm.h) * real(t.ifm.w) * real(t.ifm.c) > 8192;
  const bool resize = row.kind == RowKind::kResize;
  if (ethos_kernel(row) != EthosKernel::kElementwise && !small_copy && !resize)
    return memo.choose_u85(u85_work(row, t, stripe, stride_h, stride_w));
  EthosBlock block;
  block.h = resize ? 1 : 2;
  block.w = resize ? 60 : small_copy ? 6 : 16;
  block.c = block.ifm_c = 16;
  block.ifm_h = 2, block.ifm_w = block.w;
  return block;
}

// Between the steps of a decomposition channels always fill up bricks. Those of softmaxes at many
// pixels keep few channels plain, and what is summed up or spread over all channels.
void set_stored_channels(const Row& row, EthosTiling& t) {
  const bool inner = row.ofm_tensors.empty();
  const EthosKernel kernel = ethos_kernel(row);
  const bool convolves = kernel == EthosKernel::kDense || kernel == EthosKernel::kDepthwise;
  const bool plain = convolves || row.kind == RowKind::kActivation;
  const auto stored = [plain](int64_t channels, bool between) {
    return between && !plain ? round_up(channels, 16) : ethos_stored_channels(channels);
  };
  const bool reads_inner = kernel == EthosKernel::kElementwise ? inner : row.ifm_tensors.empty();
  t.stored_ifm_c = stored(t.ifm.c, reads_inner);
  t.stored_ofm_c = stored(t.ofm.c, inner);
  if (row.op_kind != OpKind::kSoftmax || row.ofm.h * row.ofm.w == 1) return;
  const bool many = t.ofm.c > 1;
  const bool sums_up = many && inner && row.kind == RowKind::kShift;
  const bool reads_plain = !row.ifm_tensors.empty() || row.spreads || kernel == EthosKernel::kSum;
  const bool writes_plain = sums_up || !inner;
  t.stored_ifm_c = !many || reads_plain ? t.ifm.c : ethos_stored_channels(t.ifm.c);
  t.stored_ofm_c = !many || writes_plain ? t.ofm.c : ethos_stored_channels(t.ofm.c);
}

bool works_on_vectors(EthosKernel kernel) {
  return kernel == EthosKernel::kVector || kernel == EthosKernel::kSum ||
         kernel == EthosKernel::kMatrix;
}

// A batch of vectors is cut into blocks as a convolution of one tap.
EthosKernel searched_as(EthosKernel kernel, const EthosTiling& t) {
  const bool batch = kernel == EthosKernel::kVector && t.ofm.h * t.ofm.w > 1;
  return batch ? EthosKernel::kDense : kernel;
}

// The batch of a fully connected layer becomes an area, as square as its factors allow; other
// vectors lie in a row.
Shape4 area_of_batch(const Row& row) {
  const int64_t count = row.ofm.n * row.ofm.h * row.ofm.w;
  if (row.ofm.h > 1 && row.kind != RowKind::kFullyConnected)
    return {1, row.ofm.n * row.ofm.h, row.ofm.w, row.ofm.c};
  if (row.kind != RowKind::kFullyConnected) return {1, 1, count, row.ofm.c};
  auto height = static_cast<int64_t>(std::sqrt(real(count)));
  while (height > 1 && count % height != 0) --height;
  return {1, height, count / std::max<int64_t>(height, 1), row.ofm.c};
}

}  // namespace

EthosTiling ethos_tiling(const EthosMachine& m, const Row& row, int64_t lines,
                         EthosBlockMemo& memo) {
  EthosTiling t;
  t.ifm = row.ifm;
  t.ofm = row.ofm;
  t.repeats = real(std::max<int64_t>(row.ofm.n, 1));
  t.ifm.n = t.ofm.n = 1;
  const EthosKernel kernel = ethos_kernel(row);
  if (works_on_vectors(kernel)) {
    t.ofm = area_of_batch(row);
    t.ifm = t.ofm;
    t.ifm.c = row.ifm.c;
    t.repeats = 1;
    if (kernel == EthosKernel::kMatrix && !m.is_u85) t.ofm.c = 1;  // a column at a time
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
  t.is_split = wide && kernel != EthosKernel::kElementwise;
  t.kernel_h = spread_kernel(m, row.kernel_h, row.dilation_h);
  t.kernel_w = spread_kernel(m, row.kernel_w, row.dilation_w);
  if (row.kind == RowKind::kTransposeConv && m.is_u85) {  // a convolution for each phase
    t.kernel_h = divide_up(t.kernel_h, row.stride_h);
    t.kernel_w = divide_up(t.kernel_w, row.stride_w);
    t.repeats *= real(row.stride_h) * real(row.stride_w);
  }
  Shape4 stripe = t.ofm;
  if (lines > 0) stripe.h = std::min(stripe.h, lines);
  const int64_t bits = bits_per_element(row.ifm_type);
  if (m.is_u85)
    t.block = u85_block(row, t, stripe, stride_h, stride_w, memo);
  else
    t.block = memo.choose(m.array, searched_as(kernel, t), t.ifm, stripe, t.kernel_h, t.kernel_w,
                          stride_h, stride_w, bits);
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
  set_stored_channels(row, t);
  return t;
}

namespace {

// How often each length occurs when one side of a kernel is cut into eights.
std::array<std::pair<int64_t, int64_t>, 2> parts_of(int64_t side) {
  constexpr int64_t kPart = 8;
  return {{{side / kPart, kPart}, {side % kPart > 0 ? 1 : 0, side % kPart}}};
}

// Multiplier cycles of one block. Kernels beyond 8x8 run in parts; each step takes four cycles for
// each unit of outputs, and at least as long as its weights need to be decoded.
double array_cycles(const EthosMachine& m, const Row& row, const EthosTiling& t) {
  constexpr int64_t kDecode = 32;
  int64_t unit_h = m.array.unit_h, unit_w = m.array.unit_w;
  const EthosKernel kernel = ethos_kernel(row);
  const bool sums = kernel == EthosKernel::kSum || kernel == EthosKernel::kMatrix;
  const bool multiplies = kernel != EthosKernel::kPooling;
  if (multiplies && !sums && unit_h == 2 && t.ofm.h == 1 && t.ofm.w % 2 == 0 && t.kernel_h == 1) {
    unit_h = 1;
    unit_w = 2 * m.array.unit_w;
  }
  const int64_t units = divide_up(t.h, unit_h) * divide_up(t.w, unit_w);
  const int64_t deep = divide_up(t.c, m.array.unit_c);
  const int64_t slow = bits_per_element(row.ifm_type) > 8 ? 2 : 1;
  const int64_t passes = divide_up(std::max<int64_t>(t.ifm.c, 1), t.block.ifm_c);
  const int64_t taps_only = std::min(t.block.ifm_c, std::max<int64_t>(t.ifm.c, 1));
  const auto part_cycles = [&](int64_t taps) {
    const int64_t each = std::max(kDecode, 4 * units * slow);
    int64_t steps = taps;
    int64_t part = 0;
    switch (kernel) {
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
      case EthosKernel::kSum:
      case EthosKernel::kMatrix:
      case EthosKernel::kElementwise:
        if (t.block.part_kernel) steps = divide_up(taps, 4) * divide_up(taps_only, 8);
        part = each * steps * deep;
        break;
    }
    if (multiplies && units == 1) part += 2 * (deep == 1 ? steps : (steps - 1) * deep);
    return real(part);
  };
  double cycles = 0;
  const std::array<std::pair<int64_t, int64_t>, 2> high = parts_of(t.kernel_h),
                                                   wide = parts_of(t.kernel_w);
  for (const auto& [count_h, h] : high)
    for (const auto& [count_w, w] : wide)
      if (count_h > 0 && count_w > 0) cycles += real(count_h) * real(count_w) * part_cycles(h * w);
  if (kernel == EthosKernel::kDense || works_on_vectors(kernel)) cycles *= real(passes);
  return cycles / m.array.cores / (m.is_u85 ? m.speed : 1.0);
}

double output_rate(const EthosMachine& m, const Row& row) {
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
  return ethos_looks_up(row) ? std::max(rate, m.rates.table) : rate;
}

// Elementwise rows are limited by the output stage alone.
double elementwise_cycles(const EthosMachine& m, const Row& row, const EthosTiling& t) {
  const double elements =
      real(row.ofm.n) * real(row.ofm.h) * real(row.ofm.w) * real(t.stored_ofm_c);
  return elements * output_rate(m, row);
}

// A column of a product at a time: products with one vector, then their sum over the channels.
double matrix_cycles(const EthosMachine& m, const Row& row, const EthosTiling& t) {
  constexpr double kSumBits = 32;
  const double pixels = real(t.ofm.h) * real(t.ofm.w);
  const double products = pixels * real(t.ifm.c) * 2 * m.rates.convolution;
  const double multiply = array_cycles(m, row, t);
  const double areas =
      std::max(real(t.ofm.h) / real(t.h), 1.0) * std::max(real(t.ofm.w) / real(t.w), 1.0);
  const double inputs =
      real(t.h) * real(t.w) * real(std::min(t.ifm.c, t.block.ifm_c)) * kSumBits / 8;
  const double command = (multiply + m.fetch / 2 * inputs + 6 * real(t.h) * real(t.w) + 250) / 4;
  return (products + multiply * areas + command) * real(row.ofm.c);
}

double block_row_cycles(const EthosMachine& m, const Row& row, const EthosTiling& t,
                        bool slow_bias) {
  const double multiply = array_cycles(m, row, t);
  const double inputs =
      real(std::min(t.ifm.h, t.block.ifm_h)) * real(std::min(t.ifm.w, t.block.ifm_w)) *
      real(std::min(t.ifm.c, t.block.ifm_c)) * bits_per_element(row.ifm_type) / 8.0;
  const double outputs = real(t.h) * real(t.w) * real(t.c);
  const bool convolves = row.weights >= 0 || row.invented_weights;
  // Fewer than eight channels are written without bricks, a few bytes at a time.
  const bool buffered = row.kind == RowKind::kFullyConnected || row.kind == RowKind::kTransposeConv;
  const double thin =
      convolves && !buffered && t.ofm.c < 8 ? 16.0 / real(std::max<int64_t>(t.ofm.c, 1)) : 1.0;
  const double bias = convolves ? 10 * real(t.c) * (slow_bias ? m.dma_latency : 32.0) / 256 : 0.0;
  const double read = m.block_latency + m.fetch * inputs;
  const double written = m.block_latency + m.fetch * thin * outputs *
                                               std::max(bits_per_element(row.ofm_type) / 8.0, 1.0);
  const double output = std::max({written, output_rate(m, row) * outputs, bias});
  const double command =
      convolves ? (multiply + 2 * m.fetch * inputs + 3 * m.fetch * outputs + 250) / 4 : 0.0;
  return multiply + std::max(read + output, command) + (t.blocks - 1) * std::max(multiply, output);
}

}  // namespace

bool ethos_looks_up(const Row& row) {
  return row.activation != OpKind::kUnknown && row.activation != OpKind::kRelu &&
         row.activation != OpKind::kRelu6 && row.activation != OpKind::kReluN1To1 &&
         row.activation != OpKind::kRelu0To1;
}

double ethos_array_cycles(const EthosMachine& m, const Row& row, const EthosTiling& t) {
  return m.is_u85 ? u85_array_cycles(u85_work(row, t, t.ofm, 1, 1), t.block) * 2 / m.speed
                  : array_cycles(m, row, t);
}

double ethos_output_rate(const EthosMachine& m, const Row& row) {
  if (!m.is_u85) return output_rate(m, row);
  const bool wide = bits_per_element(row.ifm_type) == 32 || bits_per_element(row.ofm_type) == 32;
  return (wide ? 0.25 : 0.125) * 2 / m.speed;
}

double ethos_compute_cycles(const EthosMachine& m, const Row& row, const EthosTiling& t,
                            bool slow_bias) {
  if (ethos_kernel(row) == EthosKernel::kElementwise) return elementwise_cycles(m, row, t);
  if (m.is_u85) {
    const double outputs = real(row.ofm.n) * real(row.ofm.h) * real(row.ofm.w);
    if (row.kind == RowKind::kResize) return outputs * real(t.stored_ofm_c) * m.rates.mul;
    if (row.kind == RowKind::kArgMax)  // a pool over the channels
      return outputs * real(row.ofm.c) / 2 * real(std::max<int64_t>(row.ifm.c, 4)) * 8 / m.speed;
    const double latency = row.weights < 0 && !row.invented_weights ? 0 : slow_bias ? 500 : 32;
    const double cycles = u85_compute_cycles(u85_work(row, t, t.ofm, 1, 1), t.block, latency) *
                          t.repeats * 2 / m.speed;
    // Few channels are looked up as pixels of 16.
    constexpr double kFlat = 0.3;
    const bool flat =
        (row.kind == RowKind::kActivation || row.kind == RowKind::kLut) && row.ofm.c < 16;
    return flat ? std::min(cycles, kFlat * outputs * real(row.ofm.c) * 2 / m.speed) : cycles;
  }
  if (row.kind == RowKind::kMatMul) return matrix_cycles(m, row, t);
  const double cycles = block_row_cycles(m, row, t, slow_bias) * t.repeats;
  const bool moves = ethos_kernel(row) == EthosKernel::kPooling && row.kind != RowKind::kResize &&
                     t.kernel_h * t.kernel_w == 1;
  if (!moves || row.ofm.c >= 8) return cycles;
  // Few channels are not padded to whole units here; fitted.
  constexpr double kElement = 0.8, kStart = 220;
  const double elements = real(row.ofm.h) * real(row.ofm.w) * real(row.ofm.c) * t.repeats;
  return std::min(cycles, kElement * elements * m.rates.add / 0.75 + kStart);
}

}  // namespace edgesage
