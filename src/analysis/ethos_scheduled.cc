#include "src/analysis/ethos_scheduled.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/analysis/ethos_buffering.h"
#include "src/analysis/ethos_cascades.h"
#include "src/analysis/ethos_constants.h"
#include "src/analysis/ethos_machine.h"
#include "src/analysis/ethos_maps.h"
#include "src/analysis/ethos_occupancy.h"
#include "src/analysis/ethos_run_time.h"
#include "src/analysis/ethos_staging.h"
#include "src/analysis/ethos_traffic.h"
#include "src/analysis/ethos_u85.h"
#include "src/analysis/ethos_weight_bytes.h"

namespace edgesage {
namespace {

double real(int64_t value) { return static_cast<double>(value); }
int64_t divide_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }
int64_t round_up(int64_t value, int64_t unit) { return divide_up(value, unit) * unit; }
double width_of(DataType type) { return std::max(bits_per_element(type) / 8.0, 1.0); }

// A row as the scheduler sees it.
struct Work {
  Row row;
  EthosTiling t;
  EthosWeightBytes weights;
  EthosTraffic bytes;       // of maps, as often as blocks fetch them
  double constants = 0;     // read from DRAM besides weights
  double scratch = 0;       // written to DRAM and read again
  double scratch_size = 0;  // of DRAM
  double phases = 1;        // of a transposed convolution of U85
  double chained = 0;       // cycles an element of rows that are done in this one
  double refetches = 1;     // of weights
  double run = 0;           // cycles with everything in DRAM
  double striped_run = 0;   // and cut into the lines of its cascade
  double ifm_bytes = 0, ifm_read = 0;
  double slack = 0;  // cycles during which weights of the next row can be fetched
  [[nodiscard]] double ifm_elements() const {
    return real(row.ifm.n) * real(row.ifm.h) * real(row.ifm.w) * real(row.ifm.c);
  }
};

class Scheduler {
 public:
  Scheduler(const Graph& graph, const Lowering& lowering, std::span<const WeightStats> weights,
            EthosBlockMemo& memo)
      : memo_(memo),
        graph_(graph),
        lowering_(lowering),
        machine_(ethos_machine(lowering.target)),
        memories_(ethos_memories(machine_)),
        weights_(weights),
        limit_(static_cast<int64_t>(machine_.fast_memory)),
        last_reader_(lowering.rows.size(), -1) {
    for (size_t i = 0; i < lowering.rows.size(); ++i)
      for (const int32_t producer : lowering.rows[i].inputs)
        last_reader_[static_cast<size_t>(producer)] = static_cast<int32_t>(i);
  }

  std::vector<RowCycles> run() {
    const size_t count = lowering_.rows.size();
    std::vector<uint8_t> chained(count, 0);
    constexpr size_t kLongestChain = 4;
    for (size_t i = 0, length = 1; i < count; ++i) {
      chained[i] = length < kLongestChain && is_chained(i) ? 1 : 0;
      length = chained[i] != 0 ? length + 1 : 1;
    }
    maps_ = ethos_maps(graph_, lowering_, chained);
    work_.resize(count);
    for (size_t i = 0; i < count; ++i)
      if (is_leader(i)) work_[i] = work_of(i, 0);
    find_first_readers();
    buffers_.resize(count);
    cascades_ = no_ethos_cascades(count, maps_.maps.size());
    const CascadeWeights weights = [this](const EthosCascades& cascades, size_t first,
                                          size_t last) { return copied(cascades, first, last); };
    cascades_ = ethos_cascades(lowering_, maps_, weights, limit_);
    for (size_t i = 0; i < count; ++i)
      if (is_leader(i) && cascades_.lines[i] > 0) work_[i] = work_of(i, cascades_.lines[i]);
    forget_narrow();
    buffer_all();
    std::vector<EthosTraffic> elements(count);
    for (size_t i = 0; i < count; ++i) elements[i] = elements_of(i);
    places_ = ethos_places(lowering_, maps_, cascades_, elements, buffers_, limit_);
    return all_cycles();
  }

 private:
  bool on_npu(size_t i) const { return lowering_.rows[i].placement == Placement::kNpu; }
  bool is_leader(size_t i) const {
    return on_npu(i) && maps_.leaders[i] == static_cast<int32_t>(i);
  }
  bool is_linear(int32_t map) const {
    return map >= 0 && maps_.maps[static_cast<size_t>(map)].linear;
  }
  bool is_staged(int32_t map) const {
    return map >= 0 && places_.staged[static_cast<size_t>(map)] != 0;
  }

  // U85 applies a sum or product to the result of the row before on its way to memory.
  bool is_chained(size_t index) const {
    const Row& row = lowering_.rows[index];
    if (!machine_.is_u85 || ethos_kernel(row) != EthosKernel::kElementwise) return false;
    if (index == 0 || ethos_flattens(row) != ethos_flattens(lowering_.rows[index - 1]))
      return false;
    const auto before = static_cast<int32_t>(index) - 1;
    if (std::ranges::find(row.inputs, before) == row.inputs.end()) return false;
    if (last_reader_[static_cast<size_t>(before)] > static_cast<int32_t>(index)) return false;
    return ethos_kernel(lowering_.rows[index - 1]) != EthosKernel::kPooling;
  }

  // The last of the rows that are done in this one.
  size_t last_chained(size_t index) const {
    size_t last = index;
    while (last + 1 < maps_.leaders.size() &&
           maps_.leaders[last + 1] == static_cast<int32_t>(index))
      ++last;
    return last;
  }
  int32_t written_map(size_t index) const { return maps_.rows[last_chained(index)].written; }

  int64_t stored(int32_t map, int64_t channels, int64_t otherwise) const {
    if (map < 0) return otherwise;
    return is_linear(map) ? channels : round_up(channels, 16);
  }

  Work work_of(size_t index, int64_t lines) {
    Work w;
    w.row = ethos_within_reason(lowering_.rows[index]);
    w.t = ethos_tiling(machine_, w.row, lines, memo_);
    const bool flat = ethos_flattens(w.row);
    w.t.stored_ifm_c =
        flat ? w.t.ifm.c : stored(maps_.rows[index].read[0], w.t.ifm.c, w.t.stored_ifm_c);
    w.t.stored_ofm_c = flat ? w.t.ofm.c : stored(written_map(index), w.t.ofm.c, w.t.stored_ofm_c);
    w.weights = ethos_weight_bytes(graph_, w.row, weights_[index].encoded_bits_estimate,
                                   w.t.block.part_kernel);
    if (machine_.is_u85 && w.weights.scales > 0)
      w.weights.scales = 10 * real(round_up(w.row.ofm.c, 16));
    w.bytes = ethos_map_traffic(machine_, w.row, w.t);
    w.constants = ethos_table_bytes(w.row, w.t);
    if (!machine_.is_u85) w.constants += ethos_constant_operand_bytes(w.row, w.t);
    if (machine_.is_u85)
      adjust_u85(w, maps_.rows[index].read[1], flat);
    else if (w.row.kind == RowKind::kMatMul)
      multiply_in_dram(w);
    for (size_t j = index + 1; j <= last_chained(index); ++j)
      w.chained += ethos_output_rate(machine_, lowering_.rows[j]);
    w.refetches = real(w.t.blocks_hw) * w.phases;
    if (w.t.is_split) w.refetches *= w.t.repeats;
    EthosRun slow = slow_run(index, w);
    w.run = ethos_run_cycles(machine_, w.row, w.t, slow);
    w.slack = w.run;
    w.striped_run = w.run;
    if (lines > 0) {
      slow.lines = lines;
      w.striped_run =
          std::floor(stripes_of(w, lines) * ethos_run_cycles(machine_, w.row, w.t, slow));
    }
    w.ifm_bytes = w.ifm_elements() * width_of(w.row.ifm_type);
    w.ifm_read = w.bytes.read[0];
    return w;
  }

  static double stripes_of(const Work& w, int64_t lines) {
    return std::max(real(w.t.ofm.h) / real(lines), 1.0);
  }

  // Products of each column with one matrix are written to DRAM and read again.
  static void multiply_in_dram(Work& w) {
    const double left = w.ifm_elements(), columns = real(w.row.ofm.c);
    w.bytes.read[0] = w.scratch = left * columns * width_of(w.row.ifm_type);
    w.bytes.read[1] = real(w.row.ofm.n) * real(w.row.ifm.c) * columns * width_of(w.row.ifm_type);
    w.bytes.written = real(w.row.ofm.elements()) * width_of(w.row.ofm_type);
    w.scratch_size =
        4 * real(w.row.ofm.n) * real(w.row.ofm.h) * real(w.row.ofm.w) * (real(w.row.ifm.c) + 1);
  }

  void adjust_u85(Work& w, int32_t second_map, bool flat) const {
    if (w.row.kind == RowKind::kTransposeConv) w.phases = w.t.repeats;
    const bool second = w.row.has_ifm2 && w.row.ifm2_constant && w.row.ifm2.elements() > 1;
    if (second) w.constants += 16 * real(w.row.ifm2.elements());
    w.bytes.written *= w.phases;
    const bool elementwise = ethos_kernel(w.row) == EthosKernel::kElementwise;
    if (elementwise && w.bytes.read[1] > 0) {
      const int64_t channels = w.row.ifm2.c;
      w.bytes.read[1] = real(w.row.ifm2.elements()) / real(channels) *
                        real(flat ? channels : stored(second_map, channels, channels)) *
                        width_of(w.row.ifm_type);
    }
    if (is_transposed(w.row)) {  // and each is read and written once more
      w.bytes.read[0] = w.ifm_elements();
      w.scratch = w.ifm_elements();
    }
    if (w.row.kind == RowKind::kResize)
      w.bytes.read[0] = real(w.row.ifm.n) * real(w.row.ifm.h) * real(w.row.ifm.w) *
                        real(w.t.stored_ifm_c) * width_of(w.row.ifm_type);
  }

  // The largest channel of a softmax at many pixels, on U85: channels become lines.
  static bool is_transposed(const Row& row) {
    return row.op_kind == OpKind::kSoftmax && row.kind == RowKind::kMaxPool && row.ofm.w > 1;
  }

  EthosRun slow_run(size_t index, const Work& w) const {
    return {.ifm_linear = is_linear(maps_.rows[index].read[0]),
            .ofm_linear = is_linear(written_map(index)),
            .chained_cycles = w.chained};
  }

  // Elements as the search for places weighs them.
  EthosTraffic elements_of(size_t index) const {
    if (!on_npu(index)) return {};
    if (!is_leader(index)) return chained_bytes(index, 1);
    const Work& w = work_[index];
    const double in = width_of(w.row.ifm_type), out = width_of(w.row.ofm_type);
    return {.read = {w.bytes.read[0] / in, w.bytes.read[1] / in}, .written = w.bytes.written / out};
  }

  // What a row that is done in another reads and writes of its own.
  EthosTraffic chained_bytes(size_t index, double width) const {
    const Row row = ethos_within_reason(lowering_.rows[index]);
    const auto size = [&](int32_t map, const Shape4& shape) {
      return real(shape.n) * real(shape.h) * real(shape.w) *
             real(stored(map, shape.c, round_up(shape.c, 16))) * width;
    };
    const EthosRowMaps& maps = maps_.rows[index];
    EthosTraffic traffic;
    for (int side = 0; side < 2; ++side)
      if (maps.read[side] >= 0) traffic.read[side] = size(maps.read[side], row.ofm);
    return traffic;
  }

  void find_first_readers() {
    first_reader_.assign(maps_.maps.size(), -1);
    for (size_t i = lowering_.rows.size(); i-- > 0;)
      for (const int32_t read : maps_.rows[i].read)
        if (read >= 0) first_reader_[static_cast<size_t>(read)] = maps_.leaders[i];
  }

  // Of the rows that run, the one before; -1: none.
  int32_t before(size_t index) const {
    for (auto i = static_cast<int32_t>(index) - 1; i >= 0; --i) {
      const auto at = static_cast<size_t>(i);
      if (lowering_.rows[at].placement != Placement::kFolded &&
          maps_.leaders[at] == static_cast<int32_t>(at))
        return i;
    }
    return -1;
  }

  EthosBuffering decide(size_t index, const Work& w, const EthosCascades& cascades, double room,
                        double slack, double slack_room) const {
    if (w.weights.all() <= 0) return {};
    const int64_t lines = cascades.lines[index];
    const int32_t previous = before(index);
    EthosRun fast = slow_run(index, w);
    fast.scales_fast = true;
    fast.lines = lines;
    EthosBufferCase c;
    c.memories = memories_;
    c.bytes = w.weights.all();
    c.depth = w.row.ofm.c;
    c.block_depth = w.t.block.c;
    c.refetches = w.refetches;
    c.stripes = lines > 0 ? stripes_of(w, lines) : 1;
    c.in_cascade = lines > 0;
    c.starts_cascade = cascades.first_row[index] == static_cast<int32_t>(index);
    c.splits = !w.t.is_split;
    c.is_first = previous < 0;
    c.after_npu = previous >= 0 && on_npu(static_cast<size_t>(previous));
    c.slack = slack;
    c.slack_room = slack_room;
    c.room = room;
    c.run = w.striped_run;
    c.ifm_bytes = w.ifm_bytes;
    c.ifm_read = w.ifm_read;
    const int32_t read = maps_.rows[index].read[0];
    c.ifm_moves = read >= 0 && maps_.maps[static_cast<size_t>(read)].writers > 0;
    if (const int32_t written = written_map(index); written >= 0) {
      const int32_t next = first_reader_[static_cast<size_t>(written)];
      if (next >= 0 && on_npu(static_cast<size_t>(next)))
        look_ahead(work_[static_cast<size_t>(next)], c);
    }
    c.cycles = [&](int64_t depth, bool starts, bool ends) {
      EthosRun part = fast;
      part.depth = depth;
      part.starts = starts;
      part.ends = ends;
      return ethos_run_cycles(machine_, w.row, w.t, part);
    };
    c.ifm_bytes_of = [&](int64_t depth) {
      return w.ifm_read * real(divide_up(depth, w.t.block.c)) / real(w.t.blocks_c);
    };
    return ethos_buffering(c);
  }

  void look_ahead(const Work& next, EthosBufferCase& c) const {
    c.next_ifm_bytes = next.ifm_bytes;
    c.next_ifm_cycles = ethos_map_read_cycles(memories_.slow, next.ifm_read);
    if (next.weights.all() > 0)
      c.next_weight_cycles =
          next.refetches * ethos_weight_read_cycles(memories_.slow, next.weights.all());
    c.next_run = next.striped_run;
  }

  // Weights that rows of a cascade copy while they make the fewest lines.
  std::vector<int64_t> copied(const EthosCascades& cascades, size_t first, size_t last) {
    std::vector<int64_t> bytes;
    double sum = 0;
    const int32_t previous = before(first);
    double slack = previous >= 0 ? work_[static_cast<size_t>(previous)].run : 0;
    const double free = real(limit_ - cascades.buffers[first]);
    for (size_t i = first; i <= last; ++i) {
      const Work w = work_of(i, cascades.lines[i]);
      const double slack_room = i == first && previous >= 0 ? real(limit_) : free - sum;
      buffers_[i] = decide(i, w, cascades, std::max(free - sum, 0.0), slack, slack_room);
      slack = buffers_[i].parts > 0 ? buffers_[i].last_cycles : w.run;
      sum += buffers_[i].bytes();
      bytes.push_back(static_cast<int64_t>(buffers_[i].bytes()));
    }
    narrow_.emplace_back(last, cascades.lines[last]);
    return bytes;
  }

  // Cascades that could not make more lines keep no weights.
  void forget_narrow() {
    for (const auto& [last, lines] : narrow_) {
      if (cascades_.lines[last] != lines) continue;
      for (auto i = static_cast<size_t>(cascades_.first_row[last]); i <= last; ++i)
        buffers_[i] = {};
    }
  }

  void buffer_all() {
    double slack = 0, slack_room = real(limit_), of_cascade = 0, old = 0;
    for (size_t i = 0; i < work_.size(); ++i) {
      if (maps_.leaders[i] != static_cast<int32_t>(i)) continue;
      if (lowering_.rows[i].placement == Placement::kFolded) continue;
      if (!on_npu(i)) {
        slack = slack_room = 0;
        continue;
      }
      Work& w = work_[i];
      double room = real(limit_);
      if (cascades_.lines[i] > 0) {
        const auto first = static_cast<size_t>(cascades_.first_row[i]);
        if (first == i) {
          of_cascade = old = 0;
          for (size_t j = i; j < work_.size() && cascades_.first_row[j] == static_cast<int32_t>(i);
               ++j)
            old += buffers_[j].bytes();
        }
        room -=
            real(cascades_.buffers[first]) + std::max(old + of_cascade - buffers_[i].bytes(), 0.0);
      }
      room = std::max(room, 0.0);
      buffers_[i] = decide(i, w, cascades_, room, slack, slack_room);
      const EthosBuffering& b = buffers_[i];
      of_cascade += b.bytes();
      if (b.parts > 0) w.slack = b.last_cycles;
      slack = w.slack;
      slack_room = room - (b.parts > 0 ? b.part[(b.slices - 1) % b.parts] : 0.0);
    }
  }

  std::vector<RowCycles> all_cycles() {
    std::vector<RowCycles> cycles(work_.size());
    std::vector<double> weights;
    for (const Work& w : work_) weights.push_back(w.weights.all());
    constants_ = ethos_constant_bytes(lowering_, weights);
    const EthosOccupancy live = ethos_occupancy(lowering_, maps_, cascades_, places_.staged);
    for (size_t i = 0; i < cycles.size(); ++i) {
      const int32_t previous = before(i);
      if (is_leader(i)) {
        const double slack = previous >= 0 && on_npu(static_cast<size_t>(previous))
                                 ? work_[static_cast<size_t>(previous)].slack
                                 : 0;
        cycles[i] = row_cycles(i, slack);
      }
      cycles[i].weight_buffer_bytes = buffers_[i].bytes();
      cycles[i].sram_live_bytes = std::max(places_.peak[i] - buffers_[i].bytes(), 0.0);
      cycles[i].dram_live_bytes = live.others[i] + work_[i].scratch_size;
    }
    return cycles;
  }

  RowCycles row_cycles(size_t index, double slack) const {
    const Work& w = work_[index];
    const EthosBuffering& b = buffers_[index];
    const int32_t from = maps_.rows[index].read[0], to = written_map(index);
    EthosRun run = slow_run(index, w);
    run.ifm_fast = is_staged(from);
    run.ofm_fast = is_staged(to);
    run.scales_fast = b.parts > 0;
    RowCycles cycles;
    cycles.npu = ethos_run_cycles(machine_, w.row, w.t, run);
    constexpr double kTransposed = 0.32;  // an element; fitted
    if (machine_.is_u85 && is_transposed(w.row)) cycles.npu = kTransposed * w.ifm_elements();
    const double depth = real(w.row.ofm.c);
    if (b.parts > 0) {
      const double first = w.weights.all() * real(b.first) / depth;
      const double waits = std::max(ethos_copy_cycles(memories_, first) - slack, 0.0);
      cycles.npu = std::max(b.copy_cycles - slack + b.last_cycles, cycles.npu + waits);
    }
    count_constants(index, cycles);
    U85Transfers fast, slow;
    move_maps(index, cycles, fast, slow);
    move_weights(index, fast, slow);
    if (machine_.is_u85) {
      cycles.dram = u85_dram_cycles(slow);
      cycles.sram = u85_sram_cycles(fast);
    } else {
      const auto all = [](const U85Transfers& t) {
        return t.read + t.written + t.copied + t.weights + t.scales;
      };
      cycles.dram = all(slow) / memories_.slow.rate;
      cycles.sram = all(fast) / memories_.fast.rate;
    }
    return cycles;
  }

  void count_constants(size_t index, RowCycles& cycles) const {
    const Work& w = work_[index];
    const double all = w.weights.all(), again = all * w.refetches;
    cycles.dram_bytes = w.constants + (buffers_[index].parts > 0 ? all : again);
    cycles.sram_bytes = buffers_[index].parts > 0 ? all + again : 0;
    for (size_t j = index; j <= last_chained(index); ++j) cycles.constant_bytes += constants_[j];
  }

  void move_maps(size_t index, RowCycles& cycles, U85Transfers& fast, U85Transfers& slow) const {
    const Work& w = work_[index];
    const bool elementwise = ethos_kernel(w.row) == EthosKernel::kElementwise;
    const auto add = [&](int32_t map, double bytes, bool reads, bool streams = false) {
      const bool is_fast = is_staged(map);
      const EthosMemory& memory = memories_.of(is_fast);
      const bool plain = is_linear(map) && !(machine_.is_u85 && is_transposed(w.row));
      const double moved =
          bytes * (reads ? ethos_read_waste(w.row, w.t.block, memory, plain)
                         : ethos_write_waste(machine_, w.row, w.t.block, memory, plain));
      (is_fast ? cycles.sram_bytes : cycles.dram_bytes) += moved;
      U85Transfers& transfers = is_fast ? fast : slow;
      (!reads ? transfers.written : streams ? transfers.streamed : transfers.read) += moved;
    };
    add(written_map(index), w.bytes.written, false);
    for (int side = 0; side < 2; ++side)
      add(maps_.rows[index].read[side], w.bytes.read[side], true);
    for (size_t j = index + 1; j <= last_chained(index); ++j) {
      const EthosTraffic own = chained_bytes(j, width_of(lowering_.rows[j].ifm_type));
      for (int side = 0; side < 2; ++side)
        if (maps_.rows[j].read[side] >= 0)
          add(maps_.rows[j].read[side], own.read[side], true, !elementwise);
    }
    slow.read += w.constants;
    const bool scratch_fast = machine_.is_u85 && is_staged(maps_.rows[index].read[0]);
    U85Transfers& aside = scratch_fast ? fast : slow;
    aside.read += w.scratch;
    aside.written += w.scratch;
    (scratch_fast ? cycles.sram_bytes : cycles.dram_bytes) += 2 * w.scratch;
  }

  // Scales are always read from DRAM, weights are copied to SRAM once or read where they are.
  void move_weights(size_t index, U85Transfers& fast, U85Transfers& slow) const {
    const Work& w = work_[index];
    const EthosBuffering& b = buffers_[index];
    slow.scales += w.weights.scales * w.refetches;
    if (b.parts == 0) {
      slow.weights += w.weights.values * w.refetches;
      return;
    }
    const double early = b.early ? w.weights.all() * real(b.first) / real(w.row.ofm.c) : 0;
    const double copied = std::max(w.weights.values - early, 0.0);
    slow.copied += copied;
    fast.written += copied;
    fast.weights += w.weights.values * w.refetches;
  }

  EthosBlockMemo& memo_;
  const Graph& graph_;
  const Lowering& lowering_;
  EthosMachine machine_;
  EthosMemories memories_;
  std::span<const WeightStats> weights_;
  int64_t limit_;
  std::vector<int32_t> last_reader_;   // of each row; -1 for none
  std::vector<int32_t> first_reader_;  // of each map
  EthosMaps maps_;
  std::vector<Work> work_;         // one a row
  std::vector<double> constants_;  // one a row: bytes
  EthosCascades cascades_;
  std::vector<std::pair<size_t, int64_t>> narrow_;  // last rows of cascades with the fewest lines
  std::vector<EthosBuffering> buffers_;             // one a row
  EthosPlaces places_;
};

}  // namespace

std::vector<RowCycles> ethos_scheduled_cycles(const Graph& graph, const Lowering& lowering,
                                              std::span<const WeightStats> weights,
                                              EthosBlockMemo& memo) {
  return Scheduler(graph, lowering, weights, memo).run();
}

}  // namespace edgesage
