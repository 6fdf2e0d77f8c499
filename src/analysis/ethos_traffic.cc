#include "src/analysis/ethos_traffic.h"

#include <algorithm>

namespace edgesage {
namespace {

double real(int64_t value) { return static_cast<double>(value); }
int64_t divide_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }
int64_t round_up(int64_t value, int64_t unit) { return divide_up(value, unit) * unit; }

// A softmax's input and output at every pixel of a map are moved in runs of a block's channels,
// shorter than a burst; its output always.
double burst_waste(const Row& row, int64_t channels, int64_t block_c, double width, bool written) {
  constexpr double kShortBurst = 32;
  const bool step = row.op_kind == OpKind::kSoftmax && row.ofm.c > 1 &&
                    ethos_kernel(row) == EthosKernel::kElementwise;
  if (!step || row.ofm.h * row.ofm.w <= 1 || width > 1) return 1;
  if (written) return channels == 8 ? 1 : channels < 8 ? 4 : 2;
  if (row.ofm.h == 1 && channels >= 8) return 1;
  return channels == block_c ? 1
                             : std::max(kShortBurst / std::max(real(block_c) * width, 1.0), 1.0);
}

constexpr double kBurst = 128;

// Read with each block, a run of its channels at a time.
double spread_bytes(const Row& row, const EthosTiling& t) {
  const double width = bits_per_element(row.ofm_type) / 8.0;
  const double run = row.ofm.c < 8 ? kBurst / 2 : std::min(real(t.block.c) * width, kBurst);
  return real(row.ofm.n) * real(row.ofm.h) * real(row.ofm.w) * real(row.ofm.c) * width * kBurst /
         std::max(run, 1.0);
}

}  // namespace

EthosTraffic ethos_map_traffic(const EthosMachine& m, const Row& row, const EthosTiling& t) {
  double ifm_width = bits_per_element(row.ifm_type) / 8.0;
  double ofm_width = bits_per_element(row.ofm_type) / 8.0;
  if (m.fast_memory <= 0) {  // else ethos_run_time.h
    ifm_width *= burst_waste(row, t.ifm.c, t.block.ifm_c, ifm_width, false);
    ofm_width *= burst_waste(row, t.ofm.c, t.block.c, ofm_width, true);
    // Few channels are moved a word a pixel or more.
    if (row.kind == RowKind::kTransposeConv && t.stored_ofm_c < 8) ofm_width *= 4;
    const bool convolves = row.kind == RowKind::kDepthwiseConv2D || row.kind == RowKind::kConv2D;
    if (convolves && t.stored_ifm_c < 8) ifm_width *= 4;
  }
  const double pixels = real(row.ofm.n) * real(row.ofm.h) * real(row.ofm.w);
  const double groups = real(row.ofm.c) / real(std::max<int64_t>(t.ofm.c, 1));
  const double written = pixels * groups * real(t.stored_ofm_c) * ofm_width;
  const EthosKernel kernel = ethos_kernel(row);
  if (kernel == EthosKernel::kMatrix && t.ofm.c < row.ofm.c) {
    // The products of each column are written and read again.
    const double columns = real(row.ofm.c), depth = real(row.ifm.c) * ifm_width;
    return {.read = {3 * pixels * depth * columns, depth * columns},
            .written = 4 * pixels * columns};
  }
  if (kernel == EthosKernel::kElementwise) {
    const double read = pixels * real(t.stored_ifm_c) * ifm_width;
    return {.read = {read, row.has_ifm2 && !row.ifm2_constant ? read : 0}, .written = written};
  }
  const double area =
      real(std::min(t.ifm.h, t.block.ifm_h)) * real(std::min(t.ifm.w, t.block.ifm_w));
  const bool per_depth = kernel != EthosKernel::kDepthwise && kernel != EthosKernel::kPooling;
  const double parts = real(divide_up(t.kernel_h, 8)) * real(divide_up(t.kernel_w, 8));
  const double read = area * real(t.stored_ifm_c) * real(t.blocks_hw) *
                      (per_depth ? real(t.blocks_c) : 1.0) * parts * t.repeats * ifm_width;
  return {.read = {read, 0}, .written = written};
}

// A constant operand, or the zeros of a border, stays in the slow memory and is read with the
// block, a run of channels at a time: short runs waste the rest of a burst. One value of eight bits
// is part of the command.
double ethos_constant_operand_bytes(const Row& row, const EthosTiling& t) {
  const bool border = row.kind == RowKind::kPad && row.ifm_tensors.empty();
  const bool second = ethos_kernel(row) == EthosKernel::kElementwise && row.has_ifm2 &&
                      row.ifm2_constant && row.ifm2.elements() > 1;
  if (!border && !second) return 0;
  const double width = bits_per_element(row.ifm_type) / 8.0;
  const int64_t channels = border ? row.ofm.c : row.ifm2.c;
  const bool whole = channels == t.block.ifm_c;  // pixels of a block lie side by side
  const double run = whole ? kBurst : std::min(real(t.block.ifm_c) * width, kBurst);
  const double pixels = real(row.ofm.n) * real(row.ofm.h) * real(row.ofm.w);
  const bool plain = border || (row.op_kind == OpKind::kPrelu && row.ofm.c < 8);
  const auto stored = real(plain ? row.ofm.c : round_up(row.ofm.c, 16));
  return pixels * stored * width * kBurst / std::max(run, 1.0);
}

double ethos_table_bytes(const Row& row, const EthosTiling& t) {
  if (!row.ofm_tensors.empty()) return 0;
  if (row.spreads) return spread_bytes(row, t);
  if (row.op_kind != OpKind::kSoftmax || row.ofm.c <= 1) return 0;
  return row.kind == RowKind::kShift ? 192 : 0;
}

}  // namespace edgesage
