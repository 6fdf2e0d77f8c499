#include "src/analysis/ethos_run_time.h"

#include <algorithm>
#include <cmath>

#include "src/analysis/ethos_maps.h"
#include "src/analysis/ethos_u85.h"

namespace edgesage {
namespace {

constexpr double kBrick = 16;  // channels

double real(int64_t value) { return static_cast<double>(value); }
int64_t divide_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }

double width_of(DataType type) { return std::max(bits_per_element(type) / 8.0, 1.0); }

double waste(double run, const EthosMemory& memory) {
  return memory.burst / std::clamp(run, 1.0, memory.burst);
}

double flat_waste(double width, const EthosMemory& memory) {
  return width > 1 ? waste(kBrick * width, memory) : 1;
}

// What is left of a row when it is cut to `run`.
struct Part {
  int64_t h, w, c;  // outputs
  int64_t block_h, block_w, block_c;
  int64_t units, deep;  // of a block
  double blocks;
};

Part part_of(const EthosMachine& m, const Row& row, const EthosTiling& t, const EthosRun& run) {
  Part p{};
  p.h = run.lines > 0 ? std::min(run.lines, t.ofm.h) : t.ofm.h;
  p.w = t.ofm.w;
  p.c = run.depth > 0 && t.ofm.c > 1 ? std::min(run.depth, t.ofm.c) : t.ofm.c;
  p.block_h = std::min(t.block.h, p.h);
  p.block_w = std::min(t.block.w, p.w);
  p.block_c = std::min(t.block.c, p.c);
  int64_t unit_h = m.array.unit_h, unit_w = m.array.unit_w, unit_c = m.array.unit_c;
  if (m.is_u85) {
    unit_h = t.block.unit_h, unit_w = t.block.unit_w, unit_c = kBrick;
  } else {
    const EthosKernel kernel = ethos_kernel(row);
    const bool dense = kernel == EthosKernel::kDense || kernel == EthosKernel::kVector;
    if (dense && unit_h == 2 && p.h == 1 && p.w % 2 == 0 && t.kernel_h == 1)
      unit_h = 1, unit_w = 2 * m.array.unit_w;
  }
  p.units = divide_up(p.block_h, unit_h) * divide_up(p.block_w, unit_w);
  p.deep = divide_up(p.block_c, unit_c);
  p.blocks = real(divide_up(p.h, unit_h)) * real(divide_up(p.w, unit_w)) *
             real(divide_up(p.c, unit_c)) / real(p.units * p.deep);
  return p;
}

// The block's inputs and outputs, from and to where they are.
struct BlockTransfers {
  double in, out;
};

BlockTransfers transfers_of(const EthosMachine& m, const Row& row, const EthosTiling& t,
                            const Part& p, const EthosRun& run) {
  const EthosMemories memories = ethos_memories(m);
  const EthosMemory& from = memories.of(run.ifm_fast);
  const EthosMemory& to = memories.of(run.ofm_fast);
  const double inputs = real(std::min(t.ifm.h, t.block.ifm_h)) *
                        real(std::min(t.ifm.w, t.block.ifm_w)) *
                        real(std::min(t.ifm.c, t.block.ifm_c)) * width_of(row.ifm_type);
  const double outputs = real(p.block_h * p.block_w * p.block_c) * width_of(row.ofm_type);
  const double read = ethos_read_waste(row, t.block, from, run.ifm_linear);
  const double written = ethos_write_waste(m, row, t.block, to, run.ofm_linear);
  return {from.read_latency + std::floor(inputs * read / from.rate),
          to.write_latency + std::floor(outputs * written / to.rate)};
}

double elementwise_cycles(const EthosMachine& m, const Row& row, const EthosTiling& t,
                          const Part& p, const EthosRun& run) {
  const double rate = ethos_output_rate(m, row) + run.chained_cycles;
  const bool plain = run.ofm_linear || ethos_flattens(row);
  const double channels = plain ? real(p.c) : real(divide_up(p.c, 16) * 16);
  const double elements = real(p.h) * real(p.w) * channels;
  const BlockTransfers moved = transfers_of(m, row, t, p, run);
  const double block = real(t.block.h * t.block.w * t.block.c);
  const double command = (std::max(moved.in, moved.out) / block + rate) / 4;
  return std::ceil(std::max(rate, command) * elements) * t.repeats;
}

// A column at a time: products with one vector, which go to DRAM, and their sums over the channels.
double matrix_cycles(const EthosMachine& m, const Row& row, const EthosTiling& t, const Part& p,
                     const EthosRun& run) {
  constexpr double kWide = 4;  // bytes of a product
  const EthosMemories memories = ethos_memories(m);
  const EthosMemory& to = memories.of(run.ofm_fast);
  const double products = real(p.h) * real(p.w) * real(t.ifm.c) * 2 * m.rates.convolution;
  const double inputs = real(std::min(t.ifm.h, t.block.ifm_h)) *
                        real(std::min(t.ifm.w, t.block.ifm_w)) *
                        real(std::min(t.ifm.c, t.block.ifm_c)) * kWide;
  const double read_run = kWide * real(t.block.ifm_c);
  const double in =
      memories.slow.read_latency + inputs * waste(read_run, memories.slow) / memories.slow.rate;
  const double outputs = real(p.block_h * p.block_w) * width_of(row.ofm_type);
  const double out = to.write_latency + outputs * waste(width_of(row.ofm_type), to) / to.rate;
  EthosTiling cut = t;
  cut.c = 1;
  const double multiply = ethos_array_cycles(m, row, cut);
  const double output = std::ceil(m.rates.convolution * real(p.block_h * p.block_w));
  const double command = ((p.blocks > 1 ? std::abs(in - out) : 0.0) + multiply + output) / 4;
  const double array = std::max(multiply, command), stage = std::max(output, command);
  const double sums = std::max(array, stage) * p.blocks + std::min(array, stage) + in + out;
  return (products + sums) * real(row.ofm.c);
}

// Rows whose steps are priced otherwise.
bool is_special(const EthosMachine& m, const Row& row, const EthosTiling& t) {
  switch (row.kind) {
    case RowKind::kReduce:
    case RowKind::kResize:
    case RowKind::kArgMax:
      return true;
    case RowKind::kTransposeConv:
      return m.is_u85;
    default:
      break;
  }
  const bool moves = ethos_kernel(row) == EthosKernel::kPooling && t.kernel_h * t.kernel_w == 1;
  return moves && row.ofm.c < 16;
}

}  // namespace

EthosMemories ethos_memories(const EthosMachine& m) {
  if (!m.is_u85) return {{16, 32, 32, 32, 16, 16, 16}, {12, 500, 250, 128, 12, 12, 12}};
  return {{32, 32, 32, kU85SramBurst, 20.48, 20.48, 20.48},
          {12, 500, 250, kU85DramBurst, 3.2768, 6.5536, 3.2768}};
}

double ethos_read_waste(const Row& row, const EthosBlock& block, const EthosMemory& memory,
                        bool linear) {
  const double width = width_of(row.ifm_type);
  if (ethos_flattens(row)) return linear ? flat_waste(width, memory) : 1;
  if (!linear) return waste(kBrick * width * real(block.ifm_w), memory);
  const double pixel = real(row.ifm.c) * width;
  const bool whole = pixel == real(block.ifm_c);
  return waste(width * real(block.ifm_c) * (whole ? real(block.ifm_w) : 1.0), memory);
}

double ethos_write_waste(const EthosMachine& m, const Row& row, const EthosBlock& block,
                         const EthosMemory& memory, bool linear) {
  const double width = width_of(row.ofm_type);
  const double cores = real(m.array.cores);
  if (ethos_flattens(row)) return linear ? flat_waste(width, memory) : 1;
  if (!linear) return waste(kBrick * width * real(block.w) * cores, memory);
  const double pixel = real(row.ofm.c) * width;
  if (block.c <= 16 && pixel == real(block.c))
    return waste(width * real(block.w * block.c), memory);
  return waste(std::min({64.0, kBrick * width * cores, width * real(block.c)}), memory);
}

double ethos_copy_cycles(const EthosMemories& memories, double bytes) {
  return std::max(bytes / memories.slow.copy_rate + memories.slow.read_latency,
                  bytes / memories.fast.copy_rate + memories.fast.write_latency);
}

double ethos_run_cycles(const EthosMachine& m, const Row& row, const EthosTiling& t,
                        const EthosRun& run) {
  const Part p = part_of(m, row, t, run);
  const bool elementwise = ethos_kernel(row) == EthosKernel::kElementwise;
  if (!elementwise && is_special(m, row, t)) {
    const double part = real(p.h) * real(p.c) / (real(t.ofm.h) * real(t.ofm.c));
    return ethos_compute_cycles(m, row, t, !run.scales_fast) * part;
  }
  if (elementwise) return elementwise_cycles(m, row, t, p, run);
  if (row.kind == RowKind::kMatMul && !m.is_u85) return matrix_cycles(m, row, t, p, run);
  EthosTiling cut = t;
  cut.ofm.h = p.h, cut.ofm.c = p.c;
  cut.h = p.block_h, cut.w = p.block_w, cut.c = p.block_c;
  const double multiply = ethos_array_cycles(m, row, cut);
  const double outputs = real(p.block_h * p.block_w * p.block_c);
  const bool convolves = row.weights >= 0 || row.invented_weights;
  const EthosMemories memories = ethos_memories(m);
  const double scales =
      convolves ? 10 * real(p.block_c) * memories.of(run.scales_fast).read_latency / 256 : 0.0;
  const double rate = ethos_output_rate(m, row) + run.chained_cycles;
  const double output = std::max(std::ceil(rate * outputs), scales);
  const BlockTransfers moved = transfers_of(m, row, t, p, run);
  const double memory = p.blocks > 1 ? std::abs(moved.out - moved.in) : 0.0;
  const double command = (memory + multiply + output) / 4;
  const double array = std::max(multiply, command), stage = std::max(output, command);
  double cycles = array > stage ? std::floor(array * p.blocks) + (run.ends ? stage : 0.0)
                                : stage * p.blocks + array;
  if (run.ends) cycles += moved.out;
  if (run.starts) cycles += moved.in;
  return std::floor(cycles) * t.repeats;
}

}  // namespace edgesage
