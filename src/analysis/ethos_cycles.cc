#include "src/analysis/ethos_cycles.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/analysis/ethos_machine.h"
#include "src/analysis/ethos_maps.h"
#include "src/analysis/ethos_staging.h"
#include "src/analysis/ethos_traffic.h"
#include "src/analysis/ethos_u85.h"
#include "src/analysis/ethos_weight_slices.h"
#include "src/analysis/row_costs.h"
#include "src/analysis/weight_stats.h"

namespace edgesage {
namespace {

double real(int64_t value) { return static_cast<double>(value); }
int64_t divide_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }
int64_t round_up(int64_t value, int64_t unit) { return divide_up(value, unit) * unit; }

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

WeightBytes weight_bytes(const Graph& graph, const Row& row, double bits, bool part_kernel) {
  constexpr double kBitsOfFilling = 0.25, kHeaderBytes = 40;  // fitted to Vela's output
  WeightBytes bytes;
  if (row.invented_weights) {
    // Ones take a bit each, and a header.
    const int64_t taps = int64_t{row.kernel_h} * row.kernel_w;
    bytes.values = real(round_up(taps, 4)) * real(round_up(row.ofm.c, 8)) / 8 + 16;
  } else if (row.weights >= 0) {
    const Tensor& weights = graph.main().tensors[static_cast<size_t>(row.weights)];
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

// No side of a shape beyond what any device holds: products must not overflow.
Row within_reason(const Row& row) {
  const auto clamp = [](int64_t side) { return std::clamp<int64_t>(side, 1, 1 << 20); };
  Row result = row;
  for (Shape4* shape : {&result.ifm, &result.ifm2, &result.ofm})
    *shape = {clamp(shape->n), clamp(shape->h), clamp(shape->w), clamp(shape->c)};
  for (int32_t* side : {&result.kernel_h, &result.kernel_w, &result.stride_h, &result.stride_w,
                        &result.dilation_h, &result.dilation_w})
    *side = std::clamp(*side, 1, 1 << 16);
  result.groups = clamp(result.groups);
  return result;
}

// Walks the rows in order: whether weights are fetched ahead depends on the row before. Where DRAM
// holds what SRAM cannot, all rows' memory cycles follow once the rows' needs are known.
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
        is_output_(marked(graph.main(), graph.main().outputs)),
        last_reader_(lowering.rows.size(), -1) {
    for (size_t i = 0; i < lowering.rows.size(); ++i)
      for (const int32_t producer : lowering.rows[i].inputs)
        last_reader_[static_cast<size_t>(producer)] = static_cast<int32_t>(i);
    plan();
  }

  std::vector<RowCycles> run() {
    std::vector<RowCycles> cycles(lowering_.rows.size());
    for (size_t i = 0; i < cycles.size(); ++i) {
      if (lowering_.rows[i].placement == Placement::kNpu)
        cycles[i] = row_cycles(i);
      else
        previous_ = 0;
    }
    std::vector<uint8_t> staged(maps_.maps.size(), 1);
    if (machine_.fast_memory > 0) staged = add_memory_cycles(cycles);
    const EthosOccupancy live = ethos_occupancy(lowering_, maps_, cascades_, staged);
    for (size_t i = 0; i < cycles.size(); ++i) {
      cycles[i].sram_live_bytes = live.staged[i] + products_bytes(lowering_.rows[i]);
      cycles[i].dram_live_bytes = live.others[i];
    }
    return cycles;
  }

 private:
  // What a row moves between memories.
  struct Moved {
    EthosTraffic traffic;
    double fast_bytes = 0, slow_bytes = 0;  // besides feature maps
    // Bytes read and written at once where pixels follow each other.
    double read_piece = kBrick, written_piece = kBrick;
    EthosBlock block;
    U85Transfers fast, slow;                    // of U85, besides feature maps
    double fast_counted = 0, slow_counted = 0;  // besides feature maps, as the compiler counts
  };
  static constexpr double kBrick = 16, kBurst = 128;  // bytes

  // Whole lines where a block takes all channels, else what it takes of each pixel.
  double read_piece(const Row& row, const EthosTiling& t) const {
    if (ethos_kernel(row) == EthosKernel::kDense)
      return row.ifm.c == t.block.ifm_c && row.ifm.c <= 16 ? kBurst
                                                           : std::min(real(t.block.ifm_c), kBurst);
    const bool one_by_one = ethos_kernel(row) == EthosKernel::kElementwise;
    return row.ifm.c <= 16 || one_by_one ? kBurst : kBrick;
  }

  static double written_piece(const Row& row) {
    const int64_t blocks = round_up(row.ofm.c, 8);
    const bool convolves =
        ethos_kernel(row) == EthosKernel::kDense || ethos_kernel(row) == EthosKernel::kDepthwise;
    const bool whole = blocks <= 16 && (!convolves || blocks == row.ofm.c);
    return whole ? kBurst : std::min(real(blocks), kBrick);
  }

  // Which rows run together, before their blocks are chosen.
  void plan() {
    const size_t count = lowering_.rows.size();
    std::vector<uint8_t> chained(count, 0);
    std::vector<double> weights(count, 0);
    for (size_t i = 0; i < count; ++i) {
      const Row& row = lowering_.rows[i];
      if (row.placement != Placement::kNpu) continue;
      chained[i] = is_chained(i) ? 1 : 0;
      weights[i] =
          weight_bytes(graph_, within_reason(row), weights_[i].encoded_bits_estimate, false).all();
    }
    maps_ = ethos_maps(graph_, lowering_, chained);
    // Where SRAM holds all maps a limit of nothing keeps rows apart.
    cascades_ = ethos_cascades(lowering_, maps_, weights, memory_limit());
    moved_.resize(count);
  }

  int64_t memory_limit() const { return static_cast<int64_t>(machine_.fast_memory); }

  RowCycles row_cycles(size_t index) {
    const Row row = within_reason(lowering_.rows[index]);
    EthosTiling t =
        ethos_tiling(machine_, row, cascades_.lines.empty() ? 0 : cascades_.lines[index], memo_);
    if (reads_input(row)) t.stored_ifm_c = t.ifm.c;
    if (writes_output(row)) t.stored_ofm_c = t.ofm.c;
    const WeightBytes weights =
        weight_bytes(graph_, row, weights_[index].encoded_bits_estimate, t.block.part_kernel);
    RowCycles cycles;
    const double unbuffered = ethos_compute_cycles(machine_, row, t, true);
    EthosTraffic traffic = ethos_map_traffic(machine_, row, t);
    const bool reused = t.blocks_hw > 1 || (t.is_split && t.repeats > 1);
    const bool is_short = copy_cycles(row, weights) < 0.83 * unbuffered;
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
    if (machine_.fast_memory <= 0) {
      cycles.sram = (traffic.all() + fast_bytes) / machine_.sram_bytes;
      cycles.flash = slow_bytes / machine_.flash_bytes;
      cycles.sram_bytes = traffic.all() + fast_counted;
      cycles.flash_bytes = slow_counted;
      return cycles;
    }
    traffic.weight_buffer = cycles.weight_buffer_bytes;
    moved_[index] = {traffic, fast_bytes, slow_bytes, read_piece(row, t), written_piece(row),
                     t.block, {},         {},         fast_counted,       slow_counted};
    if (machine_.is_u85) add_u85_constants(row, t, weights, buffered, moved_[index]);
    return cycles;
  }

  // One column's products of two matrices, and their sums.
  double products_bytes(const Row& row) const {
    if (row.kind != RowKind::kMatMul || row.placement != Placement::kNpu || machine_.is_u85)
      return 0;
    const Row r = within_reason(row);
    return 4 * real(r.ofm.n) * real(r.ofm.h) * real(r.ofm.w) * (real(r.ifm.c) + 1);
  }

  double slow_rate() const {
    return machine_.flash_bytes > 0 ? machine_.flash_bytes : machine_.dram_bytes;
  }

  // What the compiler reckons with when it asks whether copying weights is worth it; U85 never
  // copies those that are used once.
  double copy_cycles(const Row& row, const WeightBytes& weights) const {
    constexpr double kLatency = 64;
    if (!machine_.is_u85) return weights.all() / slow_rate() + kLatency;
    const bool once =
        row.kind == RowKind::kFullyConnected && row.ofm.n * row.ofm.h * row.ofm.w == 1;
    return once ? std::numeric_limits<double>::infinity() : weights.all() + machine_.dma_latency;
  }

  // Of so many output channels of a row that takes `all` cycles.
  double cycles_of_depth(const Row& row, const EthosTiling& t, double all, int64_t depth) const {
    if (t.repeats > 1 || machine_.is_u85) return all * real(depth) / real(row.ofm.c);
    EthosTiling part = t;
    part.ofm.c = depth;
    part.c = std::min(t.c, depth);
    part.blocks = t.blocks / std::max(real(t.ofm.c) / real(t.c), 1.0) *
                  std::max(real(depth) / real(part.c), 1.0);
    return ethos_compute_cycles(machine_, row, part, false);
  }

  EthosWeightSlices slices_of(const Row& row, const EthosTiling& t, const WeightBytes& weights,
                              double all) const {
    return ethos_weight_slices(row.ofm.c, t.block.c, weights.all() / slow_rate(), previous_,
                               [&](int64_t depth) { return cycles_of_depth(row, t, all, depth); });
  }

  // Each slice takes the longer of its own cycles and its fetch.
  double sliced_cycles(const Row& row, const EthosTiling& t, const WeightBytes& weights,
                       const EthosWeightSlices& slices, double all) const {
    if (slices.later_count == 0) return all;
    const auto cycles = [&](int64_t depth) {
      return std::max(cycles_of_depth(row, t, all, depth),
                      weights.values / slow_rate() * real(depth) / real(row.ofm.c));
    };
    const double waited = cycles_of_depth(row, t, all, slices.first) + cycles(slices.last) +
                          real(slices.later_count - 1) * cycles(slices.later);
    return std::max(all, waited);
  }

  // Cycles that the first slice keeps the row waiting.
  double exposed_fetch(const WeightBytes& weights, const EthosWeightSlices& slices,
                       double depth) const {
    const double first = weights.all() * std::min(real(slices.first) / depth, 1.0);
    return std::max(first / slow_rate() + machine_.dma_latency - previous_, 0.0);
  }

  // Feature maps are in SRAM where they fit, else in DRAM.
  std::vector<uint8_t> add_memory_cycles(std::vector<RowCycles>& cycles) const {
    std::vector<EthosTraffic> traffic;
    for (size_t i = 0; i < moved_.size(); ++i) traffic.push_back(weighed(i));
    const std::vector<uint8_t> staged =
        ethos_staged(lowering_, maps_, cascades_, traffic, memory_limit());
    for (size_t i = 0; i < cycles.size(); ++i) {
      if (lowering_.rows[i].placement != Placement::kNpu) continue;
      if (maps_.leaders[i] != static_cast<int32_t>(i)) {
        cycles[i] = {};
        continue;
      }
      count_traffic(i, staged, cycles[i]);
      if (machine_.is_u85) {
        add_u85_memory_cycles(i, staged, cycles[i]);
        continue;
      }
      const Moved& m = moved_[i];
      const EthosRowMaps& maps = maps_.rows[i];
      double fast = m.fast_bytes, slow = m.slow_bytes;
      const auto add = [&](int32_t map, double bytes, double piece) {
        const bool none = map < 0;
        if (!none && staged[static_cast<size_t>(map)] != 0) {
          fast += bytes;
          return;
        }
        const bool linear = !none && maps_.maps[static_cast<size_t>(map)].linear;
        slow += linear ? bytes * kBurst / piece : bytes;
      };
      const int32_t written = maps_.rows[last_chained(i)].written;
      add(written, m.traffic.written, m.written_piece);
      for (int side = 0; side < 2; ++side) add(maps.read[side], m.traffic.read[side], m.read_piece);
      cycles[i].dram = slow / machine_.dram_bytes;
      cycles[i].sram = fast / machine_.sram_bytes;
    }
    return staged;
  }

  void count_traffic(size_t index, const std::vector<uint8_t>& staged, RowCycles& cycles) const {
    const Moved& m = moved_[index];
    cycles.sram_bytes = m.fast_counted;
    cycles.dram_bytes = m.slow_counted;
    const Row row = within_reason(lowering_.rows[index]);
    const auto add = [&](int32_t map, double bytes, bool reads) {
      const bool is_fast = map >= 0 && staged[static_cast<size_t>(map)] != 0;
      const bool linear = map >= 0 && maps_.maps[static_cast<size_t>(map)].linear;
      double waste = 1;
      if (machine_.is_u85)
        waste = u85_waste(row, m.block, map, reads, is_fast ? kU85SramBurst : kU85DramBurst);
      else if (!is_fast && linear)
        waste = kBurst / (reads ? m.read_piece : m.written_piece);
      (is_fast ? cycles.sram_bytes : cycles.dram_bytes) += bytes * waste;
    };
    add(maps_.rows[last_chained(index)].written, m.traffic.written, false);
    for (int side = 0; side < 2; ++side)
      add(maps_.rows[index].read[side], m.traffic.read[side], true);
  }

  // The last of the rows that are done in this one.
  size_t last_chained(size_t index) const {
    size_t last = index;
    while (last + 1 < maps_.leaders.size() &&
           maps_.leaders[last + 1] == static_cast<int32_t>(index))
      ++last;
    return last;
  }

  // Scales are always read from DRAM, weights are copied to SRAM once or read where they are.
  void add_u85_constants(const Row& row, const EthosTiling& t, const WeightBytes& weights,
                         bool buffered, Moved& moved) const {
    const double phases = row.kind == RowKind::kTransposeConv ? t.repeats : 1;
    const double times = real(t.blocks_hw) * phases;
    if (row.weights >= 0 || row.invented_weights)
      moved.slow.scales = 10 * real(round_up(row.ofm.c, 16)) * times;
    if (buffered) {
      moved.slow.copied = moved.fast.written = weights.values;
      moved.fast.weights = weights.values * times;
    } else {
      moved.slow.weights = weights.values * times;
    }
    const bool second = row.has_ifm2 && row.ifm2_constant && row.ifm2.elements() > 1;
    moved.slow.read = ethos_table_bytes(row, t) + (second ? 16 * real(row.ifm2.elements()) : 0);
    moved.traffic.written *= phases;
    if (row.kind == RowKind::kResize)
      moved.traffic.read[0] = real(row.ifm.n * row.ifm.h * row.ifm.w) * real(t.stored_ifm_c) *
                              bits_per_element(row.ifm_type) / 8.0;
  }

  // What is moved for each byte that is wanted, where a burst moves `most` bytes.
  double u85_waste(const Row& row, const EthosBlock& block, int32_t map, bool reads,
                   double most) const {
    const bool linear = map >= 0 && maps_.maps[static_cast<size_t>(map)].linear;
    const bool flat =
        ethos_kernel(row) == EthosKernel::kElementwise || row.kind == RowKind::kActivation;
    if (flat && linear) return 1;  // pixels side by side count as one of 16 channels
    const Shape4& shape = reads ? row.ifm : row.ofm;
    const double width = bits_per_element(reads ? row.ifm_type : row.ofm_type) / 8.0;
    const double burst = reads ? u85_read_burst(block, shape.c, width, linear)
                               : u85_write_burst(block, shape.c, width, linear);
    return std::max(most / std::max(burst, 1.0), 1.0);
  }

  // Traffic as the search for places in SRAM weighs it.
  EthosTraffic weighed(size_t index) const {
    const Moved& m = moved_[index];
    EthosTraffic traffic = m.traffic;
    if (!machine_.is_u85 || lowering_.rows[index].placement != Placement::kNpu) return traffic;
    const Row row = within_reason(lowering_.rows[index]);
    const EthosRowMaps& maps = maps_.rows[index];
    traffic.written *= u85_waste(row, m.block, maps.written, false, kU85DramBurst);
    for (int side = 0; side < 2; ++side)
      traffic.read[side] *= u85_waste(row, m.block, maps.read[side], true, kU85DramBurst);
    return traffic;
  }

  void add_u85_memory_cycles(size_t index, const std::vector<uint8_t>& staged,
                             RowCycles& cycles) const {
    const Row row = within_reason(lowering_.rows[index]);
    const Moved& m = moved_[index];
    U85Transfers fast = m.fast, slow = m.slow;
    const auto add = [&](int32_t map, double bytes, bool reads) {
      const bool is_fast = map >= 0 && staged[static_cast<size_t>(map)] != 0;
      const double most = is_fast ? kU85SramBurst : kU85DramBurst;
      U85Transfers& memory = is_fast ? fast : slow;
      (reads ? memory.read : memory.written) += bytes * u85_waste(row, m.block, map, reads, most);
    };
    add(maps_.rows[last_chained(index)].written, m.traffic.written, false);
    for (int side = 0; side < 2; ++side)
      add(maps_.rows[index].read[side], m.traffic.read[side], true);
    cycles.dram = u85_dram_cycles(slow);
    cycles.sram = u85_sram_cycles(fast);
  }

  // U85 applies a sum or product to the result of the row before on its way to memory.
  bool is_chained(size_t index) const {
    const Row& row = lowering_.rows[index];
    if (!machine_.is_u85 || ethos_kernel(row) != EthosKernel::kElementwise) return false;
    if (index == 0 || row.op_kind == OpKind::kSoftmax) return false;
    const auto before = static_cast<int32_t>(index) - 1;
    if (std::ranges::find(row.inputs, before) == row.inputs.end()) return false;
    if (last_reader_[static_cast<size_t>(before)] > static_cast<int32_t>(index)) return false;
    return ethos_kernel(lowering_.rows[index - 1]) != EthosKernel::kPooling;
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
  std::vector<int32_t> last_reader_;           // of each row; -1 for none
  EthosMaps maps_;                             // of machines with DRAM, as the next two
  EthosCascades cascades_;
  std::vector<Moved> moved_;  // one a row
  double previous_ = 0;       // cycles of the row before, during which weights can be fetched
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
  return Estimator(graph, lowering, weights, memo).run();
}

}  // namespace edgesage
