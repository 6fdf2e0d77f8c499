#include "src/analysis/ethos_cycles.h"

#include <algorithm>
#include <cmath>

#include "src/analysis/row_costs.h"
#include "src/analysis/weight_stats.h"

namespace edgesage {
namespace {

struct Machine {
  double macs = 256;
  double block_h = 2, block_w = 2, block_c = 8;            // outputs worked on at once
  double ifm_c = 8;                                        // input channels a cycle
  double sram_bytes = 8, dram_bytes = 0, flash_bytes = 1;  // a cycle
};

Machine machine_of(const Target& target) {
  Machine machine;
  machine.macs = std::max(target.macs_per_cycle, 32);
  if (target.kind == TargetKind::kEthosU55) {
    if (target.macs_per_cycle <= 64) machine.block_h = 1;
    if (target.macs_per_cycle <= 32) machine.block_w = 1;
    if (target.macs_per_cycle == 128) machine.block_h = 2, machine.block_w = 1;
    return machine;
  }
  machine.sram_bytes = target.kind == TargetKind::kEthosU65 ? 16 : 32;
  machine.dram_bytes = target.kind == TargetKind::kEthosU65 ? 3.75 : 12;
  machine.flash_bytes = 0;
  machine.block_c = std::max(8.0, machine.macs / 32);
  return machine;
}

double steps(int64_t size, double unit) { return std::ceil(static_cast<double>(size) / unit); }

double array_cycles(const Machine& m, const Row& row) {
  const double taps = static_cast<double>(row.kernel_h) * row.kernel_w;
  const double blocks = static_cast<double>(row.ofm.n) * steps(row.ofm.h, m.block_h) *
                        steps(row.ofm.w, m.block_w) * steps(row.ofm.c, m.block_c);
  const int64_t depth = row.ifm.c / std::max<int64_t>(row.groups, 1);
  switch (row.kind) {
    case RowKind::kConv2D:
    case RowKind::kTransposeConv:
      // Either many input channels of one tap, or four taps of few channels.
      return blocks * 4 *
             std::min(taps * steps(depth, 4 * m.ifm_c),
                      std::ceil(taps / 4) * steps(depth, m.ifm_c));
    case RowKind::kFullyConnected:
    case RowKind::kMatMul:
      return static_cast<double>(row.ofm.n) * steps(row.ofm.c, m.block_c) * 32 *
             steps(row.ifm.c, 4 * m.ifm_c);
    case RowKind::kDepthwiseConv2D:
      return blocks * 4 * std::ceil(taps / 4);
    case RowKind::kAveragePool:
    case RowKind::kMaxPool:
      return blocks * std::max(4.0, taps);
    default:
      return 0;
  }
}

double output_cycles(const Machine& m, const Row& row) {
  const auto elements = static_cast<double>(row.ofm.elements());
  const double rate = 32.0 / m.macs * 8;  // relative to 256 MACs a cycle
  switch (row.kind) {
    case RowKind::kAdd:
    case RowKind::kSub:
      return elements * 0.75 * rate;
    case RowKind::kMul:
      return elements * 0.5 * rate;
    case RowKind::kCopy:
    case RowKind::kPad:
    case RowKind::kTranspose:
      return elements * 1.0 * rate;
    default:
      return elements * 0.25 * rate;
  }
}

double weight_bytes(const Graph& graph, const Row& row, const RowCost& cost) {
  if (row.invented_weights || row.weights < 0) return static_cast<double>(cost.weights_bytes);
  const Tensor& weights = graph.main().tensors[static_cast<size_t>(row.weights)];
  const double bits = weight_stats(graph, weights).encoded_bits_estimate;
  return static_cast<double>(weights.element_count()) * bits / 8 +
         10.0 * static_cast<double>(row.ofm.c);
}

}  // namespace

std::vector<RowCycles> ethos_row_cycles(const Graph& graph, const Lowering& lowering) {
  std::vector<RowCycles> cycles(lowering.rows.size());
  if (!lowering.target.is_ethos()) return cycles;
  const Machine machine = machine_of(lowering.target);
  const std::vector<RowCost> costs = row_costs(graph, lowering);
  for (size_t i = 0; i < cycles.size(); ++i) {
    const Row& row = lowering.rows[i];
    if (row.placement != Placement::kNpu) continue;
    const double activations = static_cast<double>(costs[i].ifm_bytes + costs[i].ofm_bytes);
    const double weights = weight_bytes(graph, row, costs[i]);
    RowCycles& c = cycles[i];
    c.npu = std::max(array_cycles(machine, row), output_cycles(machine, row)) + 16;
    c.sram = activations / machine.sram_bytes;
    if (machine.flash_bytes > 0) c.flash = weights / machine.flash_bytes;
    if (machine.dram_bytes > 0) c.dram = (activations + weights) / machine.dram_bytes;
  }
  return cycles;
}

}  // namespace edgesage
