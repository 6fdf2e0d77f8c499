#include "src/analysis/ethos_cycles.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/analysis/ethos_machine.h"
#include "src/analysis/ethos_maps.h"
#include "src/analysis/ethos_occupancy.h"
#include "src/analysis/ethos_scheduled.h"
#include "src/analysis/ethos_traffic.h"
#include "src/analysis/ethos_weight_bytes.h"
#include "src/analysis/ethos_weight_slices.h"
#include "src/analysis/row_costs.h"
#include "src/analysis/weight_stats.h"

namespace edgesage {
namespace {

double real(int64_t value) { return static_cast<double>(value); }

// Of machines whose SRAM holds all maps. Walks the rows in order: whether weights are fetched ahead
// depends on the row before.
class Estimator {
 public:
  Estimator(const Graph& graph, const Lowering& lowering, std::span<const WeightStats> weights,
            EthosBlockMemo& memo)
      : memo_(memo),
        graph_(graph),
        lowering_(lowering),
        machine_(ethos_machine(lowering.target)),
        weights_(weights),
        is_input_(marked(graph.main(), graph.main().inputs)),
        is_output_(marked(graph.main(), graph.main().outputs)) {}

  std::vector<RowCycles> run() {
    std::vector<RowCycles> cycles(lowering_.rows.size());
    for (size_t i = 0; i < cycles.size(); ++i) {
      if (lowering_.rows[i].placement == Placement::kNpu)
        cycles[i] = row_cycles(i);
      else
        previous_ = 0;
    }
    const size_t count = cycles.size();
    const EthosMaps maps = ethos_maps(graph_, lowering_, std::vector<uint8_t>(count, 0));
    const EthosOccupancy live =
        ethos_occupancy(lowering_, maps, no_ethos_cascades(count, maps.maps.size()),
                        std::vector<uint8_t>(maps.maps.size(), 1));
    for (size_t i = 0; i < cycles.size(); ++i) {
      cycles[i].sram_live_bytes = live.staged[i] + products_bytes(lowering_.rows[i]);
      cycles[i].dram_live_bytes = live.others[i];
    }
    return cycles;
  }

 private:
  RowCycles row_cycles(size_t index) {
    const Row row = ethos_within_reason(lowering_.rows[index]);
    EthosTiling t = ethos_tiling(machine_, row, 0, memo_);
    if (reads_input(row)) t.stored_ifm_c = t.ifm.c;
    if (writes_output(row)) t.stored_ofm_c = t.ofm.c;
    const EthosWeightBytes weights =
        ethos_weight_bytes(graph_, row, weights_[index].encoded_bits_estimate, t.block.part_kernel);
    RowCycles cycles;
    const double unbuffered = ethos_compute_cycles(machine_, row, t, true);
    const EthosTraffic traffic = ethos_map_traffic(machine_, row, t);
    const bool reused = t.blocks_hw > 1 || (t.is_split && t.repeats > 1);
    const bool is_short = copy_cycles(weights) < 0.83 * unbuffered;
    const bool buffered = weights.all() > 0 && (reused || (is_short && previous_ > 0));
    cycles.npu = buffered ? ethos_compute_cycles(machine_, row, t, false) : unbuffered;
    double tail = cycles.npu;  // during which weights of the next row can be fetched
    double slow_bytes = weights.all() * real(t.blocks_hw), fast_bytes = 0;
    if (buffered) {
      const EthosWeightSlices slices =
          t.is_split ? EthosWeightSlices{.first = row.ofm.c, .held = row.ofm.c}
                     : slices_of(row, t, weights, cycles.npu);
      const double depth = real(row.ofm.c);
      cycles.weight_buffer_bytes = weights.all() * real(slices.held) / depth;
      fast_bytes = weights.values * real(t.blocks_hw);
      slow_bytes = weights.scales * real(t.blocks_hw) +
                   weights.values * (depth - real(slices.first)) / depth;
      tail = slices.last > 0 ? cycles_of_depth(row, t, cycles.npu, slices.last) : cycles.npu;
      cycles.npu = sliced_cycles(row, t, weights, slices, cycles.npu) +
                   exposed_fetch(weights, slices, depth);
    }
    const double constants = ethos_table_bytes(row, t) + ethos_constant_operand_bytes(row, t);
    slow_bytes += constants;
    double fast_counted = 0, slow_counted = weights.all() * real(t.blocks_hw) + constants;
    if (buffered) {
      fast_counted = weights.all() * (1 + real(t.blocks_hw));
      slow_counted = weights.all() + constants;
    }
    cycles.constant_bytes = weights.all();
    if (row.has_ifm2 && row.ifm2_constant)
      cycles.constant_bytes += real(row.ifm2.elements()) * bits_per_element(row.ifm_type) / 8.0;
    previous_ = tail;
    cycles.sram = (traffic.all() + fast_bytes) / machine_.sram_bytes;
    cycles.flash = slow_bytes / machine_.flash_bytes;
    cycles.sram_bytes = traffic.all() + fast_counted;
    cycles.flash_bytes = slow_counted;
    return cycles;
  }

  // One column's products of two matrices, and their sums.
  double products_bytes(const Row& row) const {
    if (row.kind != RowKind::kMatMul || row.placement != Placement::kNpu) return 0;
    const Row r = ethos_within_reason(row);
    return 4 * real(r.ofm.n) * real(r.ofm.h) * real(r.ofm.w) * (real(r.ifm.c) + 1);
  }

  // What the compiler reckons with when it asks whether copying weights is worth it.
  double copy_cycles(const EthosWeightBytes& weights) const {
    constexpr double kLatency = 64;
    return weights.all() / machine_.flash_bytes + kLatency;
  }

  // Of so many output channels of a row that takes `all` cycles.
  double cycles_of_depth(const Row& row, const EthosTiling& t, double all, int64_t depth) const {
    if (t.repeats > 1) return all * real(depth) / real(row.ofm.c);
    EthosTiling part = t;
    part.ofm.c = depth;
    part.c = std::min(t.c, depth);
    part.blocks = t.blocks / std::max(real(t.ofm.c) / real(t.c), 1.0) *
                  std::max(real(depth) / real(part.c), 1.0);
    return ethos_compute_cycles(machine_, row, part, false);
  }

  EthosWeightSlices slices_of(const Row& row, const EthosTiling& t, const EthosWeightBytes& weights,
                              double all) const {
    return ethos_weight_slices(row.ofm.c, t.block.c, weights.all() / machine_.flash_bytes,
                               previous_,
                               [&](int64_t depth) { return cycles_of_depth(row, t, all, depth); });
  }

  // Each slice takes the longer of its own cycles and its fetch.
  double sliced_cycles(const Row& row, const EthosTiling& t, const EthosWeightBytes& weights,
                       const EthosWeightSlices& slices, double all) const {
    if (slices.later_count == 0) return all;
    const auto cycles = [&](int64_t depth) {
      return std::max(cycles_of_depth(row, t, all, depth),
                      weights.values / machine_.flash_bytes * real(depth) / real(row.ofm.c));
    };
    const double waited = cycles_of_depth(row, t, all, slices.first) + cycles(slices.last) +
                          real(slices.later_count - 1) * cycles(slices.later);
    return std::max(all, waited);
  }

  // Cycles that the first slice keeps the row waiting.
  double exposed_fetch(const EthosWeightBytes& weights, const EthosWeightSlices& slices,
                       double depth) const {
    const double first = weights.all() * std::min(real(slices.first) / depth, 1.0);
    return std::max(first / machine_.flash_bytes + machine_.dma_latency - previous_, 0.0);
  }

  static std::vector<uint8_t> marked(const Subgraph& subgraph, const std::vector<int32_t>& list) {
    std::vector<uint8_t> marks(subgraph.tensors.size(), 0);
    for (const int32_t tensor : list)
      if (tensor >= 0 && static_cast<size_t>(tensor) < marks.size())
        marks[static_cast<size_t>(tensor)] = 1;
    return marks;
  }

  static bool any_marked(const std::vector<int32_t>& list, const std::vector<uint8_t>& marks) {
    return std::ranges::any_of(list, [&](int32_t t) { return marks[static_cast<size_t>(t)] != 0; });
  }
  bool reads_input(const Row& row) const { return any_marked(row.ifm_tensors, is_input_); }
  bool writes_output(const Row& row) const { return any_marked(row.ofm_tensors, is_output_); }

  EthosBlockMemo& memo_;
  const Graph& graph_;
  const Lowering& lowering_;
  EthosMachine machine_;
  std::span<const WeightStats> weights_;       // one a row
  std::vector<uint8_t> is_input_, is_output_;  // one a tensor
  double previous_ = 0;  // cycles of the row before, during which weights can be fetched
};

}  // namespace

std::vector<RowCycles> ethos_row_cycles(const Graph& graph, const Lowering& lowering) {
  EthosBlockMemo memo;  // layers of one network are alike, too
  return ethos_row_cycles(graph, lowering, row_weight_stats(graph, lowering), memo);
}

std::vector<RowCycles> ethos_row_cycles(const Graph& graph, const Lowering& lowering,
                                        std::span<const WeightStats> weights,
                                        EthosBlockMemo& memo) {
  if (!lowering.target.is_ethos() || graph.subgraphs.empty())
    return std::vector<RowCycles>(lowering.rows.size());
  if (lowering.target.kind != TargetKind::kEthosU55)
    return ethos_scheduled_cycles(graph, lowering, weights, memo);
  return Estimator(graph, lowering, weights, memo).run();
}

}  // namespace edgesage
