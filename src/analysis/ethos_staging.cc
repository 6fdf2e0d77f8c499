#include "src/analysis/ethos_staging.h"

#include <algorithm>
#include <set>
#include <utility>

#include "src/analysis/ethos_machine.h"

namespace edgesage {
namespace {

int64_t divide_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }
int64_t round_up(int64_t value, int64_t unit) { return divide_up(value, unit) * unit; }
int64_t side(int64_t value) { return std::clamp<int64_t>(value, 1, 1 << 16); }

class CascadeSearch {
 public:
  CascadeSearch(const Lowering& lowering, const EthosMaps& maps,
                std::span<const double> weight_bytes, int64_t limit)
      : rows_(lowering.rows), maps_(maps), weights_(weight_bytes), limit_(limit) {
    const size_t count = rows_.size();
    result_.lines.assign(count, 0);
    result_.buffers.assign(count, 0);
    result_.is_rolling.assign(maps.maps.size(), 0);
    for (size_t i = 0; i < count; ++i) result_.first_row.push_back(static_cast<int32_t>(i));
    // At first every row makes as few lines as the next one steps over.
    lines_.assign(count, 1);
    for (size_t i = 0; i + 1 < count; ++i) lines_[i] = side(rows_[i + 1].stride_h);
  }

  EthosCascades run() && {
    for (size_t first = 0; first < rows_.size();) {
      const size_t last = works_by_lines(first) ? end_of_cascade(first) : first;
      if (last > first) settle(first, last);
      first = last + 1;
    }
    return std::move(result_);
  }

 private:
  bool is_alone(size_t i) const {
    return maps_.leaders[i] == static_cast<int32_t>(i) &&
           (i + 1 == rows_.size() || maps_.leaders[i + 1] == static_cast<int32_t>(i + 1));
  }

  bool works_by_lines(size_t i) const {
    const Row& row = rows_[i];
    if (row.placement != Placement::kNpu || !is_alone(i) || row.ofm.n > 1) return false;
    if (lines_[i] >= row.ofm.h) return false;
    switch (row.kind) {
      case RowKind::kConv2D:
      case RowKind::kDepthwiseConv2D:
      case RowKind::kAveragePool:
      case RowKind::kMaxPool:
        return true;
      case RowKind::kAdd:
      case RowKind::kSub:
      case RowKind::kMul:
      case RowKind::kMinMax:
      case RowKind::kElementwise:
      case RowKind::kActivation:
      case RowKind::kLut:
      case RowKind::kQuantize:
        return !row.has_ifm2 || row.ifm2_constant;
      default:
        return false;
    }
  }

  const EthosMap& map(int32_t index) const { return maps_.maps[static_cast<size_t>(index)]; }
  int64_t bytes_of(int32_t index) const { return index < 0 ? 0 : map(index).bytes; }

  // Whether row i's result goes to row i + 1 alone.
  bool flows_on(size_t i) const {
    const int32_t between = maps_.rows[i].written;
    if (between < 0 || maps_.rows[i + 1].read[0] != between) return false;
    const EthosMap& m = map(between);
    return !m.border && m.writers == 1 && m.readers == 1 && rows_[i].ofm == rows_[i + 1].ifm;
  }

  // The whole input and output of a row.
  int64_t whole(size_t i) const {
    const EthosRowMaps& m = maps_.rows[i];
    const bool in_place = ethos_kernel(rows_[i]) == EthosKernel::kElementwise &&
                          bytes_of(m.read[0]) == bytes_of(m.written);
    return bytes_of(m.read[0]) + (in_place ? 0 : bytes_of(m.written));
  }

  static int64_t input_lines(const Row& row, int64_t lines) {
    const int64_t kernel = (side(row.kernel_h) - 1) * side(row.dilation_h) + 1;
    return std::min((lines - 1) * side(row.stride_h) + kernel, side(row.ifm.h));
  }

  // Of the map between rows i and i + 1.
  int64_t rolling_bytes(size_t i, int64_t made, int64_t used_for) const {
    const Row& row = rows_[i];
    const int64_t used = input_lines(rows_[i + 1], used_for);
    const int64_t width = std::max<int64_t>(bits_per_element(row.ofm_type) / 8, 1);
    return round_up(made + used, used) * side(row.ofm.w) * round_up(side(row.ofm.c), 16) * width;
  }

  int64_t weights(size_t i) const { return static_cast<int64_t>(std::min(weights_[i], 1e12)); }

  size_t end_of_cascade(size_t first) const {
    size_t last = first;
    int64_t buffers = 0;
    while (last + 1 < rows_.size() && works_by_lines(last + 1) && flows_on(last)) {
      const size_t next = last + 1;
      buffers += rolling_bytes(last, lines_[last], lines_[next]) + weights(next);
      if (whole(next) < limit_ || buffers > limit_) break;
      last = next;
    }
    return last;
  }

  // Lines of each row of the cascade when the last makes `lines`; gives the SRAM they take.
  int64_t stripe(size_t first, size_t last, int64_t lines) {
    int64_t bytes = 0;
    stripes_.assign(last - first + 1, 0);
    for (size_t i = last;; --i) {
      stripes_[i - first] = std::min(lines, side(rows_[i].ofm.h));
      if (i < last)
        bytes += rolling_bytes(i, stripes_[i - first], stripes_[i + 1 - first]) + weights(i + 1);
      if (i == first) return bytes;
      lines = std::min<int64_t>(stripes_[i - first] * side(rows_[i].stride_h), 1 << 16);
    }
  }

  void settle(size_t first, size_t last) {
    int64_t low = lines_[last], high = std::max(side(rows_[last].ofm.h) / 2, low);
    while (low < high) {
      const int64_t middle = low + (high - low + 1) / 2;
      if (stripe(first, last, middle) <= limit_)
        low = middle;
      else
        high = middle - 1;
    }
    result_.buffers[first] = stripe(first, last, low);
    for (size_t i = first; i <= last; ++i) {
      result_.first_row[i] = static_cast<int32_t>(first);
      result_.lines[i] = stripes_[i - first];
      if (i < last) result_.is_rolling[static_cast<size_t>(maps_.rows[i].written)] = 1;
    }
  }

  const std::vector<Row>& rows_;
  const EthosMaps& maps_;
  std::span<const double> weights_;
  int64_t limit_;
  std::vector<int64_t> lines_;    // at first, one a row
  std::vector<int64_t> stripes_;  // of the cascade in hand
  EthosCascades result_;
};

bool works_in_place(const Row& row) {
  return ethos_kernel(row) == EthosKernel::kElementwise || row.kind == RowKind::kActivation ||
         row.kind == RowKind::kLut;
}

// An element-wise row outside cascades may write over what it alone reads. `place`: one a map, the
// map whose memory it is in, or itself; `last`: last row that uses its memory.
template <class MayShare>
void share_places(const std::vector<Row>& rows, const EthosMaps& maps,
                  const std::vector<int64_t>& lines, MayShare may_share,
                  std::vector<int32_t>& place, std::vector<int32_t>& last) {
  const auto map = [&](int32_t index) -> const EthosMap& {
    return maps.maps[static_cast<size_t>(index)];
  };
  for (size_t i = 0; i < maps.maps.size(); ++i) {
    place.push_back(static_cast<int32_t>(i));
    last.push_back(std::max(maps.maps[i].last_row, 0));
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!works_in_place(rows[i])) continue;
    if (maps.leaders[i] != static_cast<int32_t>(i) || lines[i] > 0) continue;
    const int32_t written = maps.rows[i].written;
    if (written < 0 || map(written).writers != 1) continue;
    for (const int32_t read : maps.rows[i].read) {
      if (read < 0 || read == written || map(read).readers != 1 || map(read).writers != 1) continue;
      if (map(read).bytes != map(written).bytes || !may_share(static_cast<size_t>(read)) ||
          !may_share(static_cast<size_t>(written)))
        continue;
      const int32_t at = place[static_cast<size_t>(read)];
      place[static_cast<size_t>(written)] = at;
      last[static_cast<size_t>(at)] =
          std::max(last[static_cast<size_t>(at)], map(written).last_row);
      break;
    }
  }
}

class Staging {
 public:
  Staging(const Lowering& lowering, const EthosMaps& maps, const EthosCascades& cascades,
          std::span<const EthosTraffic> traffic, int64_t limit)
      : rows_(lowering.rows), maps_(maps), cascades_(cascades), traffic_(traffic), limit_(limit) {
    step_.resize(rows_.size());
    for (size_t i = 0; i < rows_.size(); ++i) {
      const auto leader = static_cast<size_t>(maps.leaders[i]);
      step_[i] = cascades.first_row[leader];
    }
    share_places(
        rows_, maps_, cascades_.lines, [this](size_t i) { return can_be_staged(i); }, place_,
        last_);
    count_accesses();
  }

  std::vector<uint8_t> run() && {
    std::vector<uint8_t> staged(maps_.maps.size(), 0);
    fill_steps();
    std::vector<uint8_t> dropped(maps_.maps.size(), 0);
    std::set<std::pair<double, int32_t>> live;  // cheapest to lose first
    int64_t used = 0;
    for (size_t step = 0; step < rows_.size(); ++step) {
      for (const int32_t m : starting_[step]) {
        live.emplace(worth_[static_cast<size_t>(m)], m);
        used += map(m).bytes;
      }
      while (!live.empty() && used + base_[step] > limit_) {
        const int32_t m = live.begin()->second;
        live.erase(live.begin());
        used -= map(m).bytes;
        dropped[static_cast<size_t>(m)] = 1;
      }
      for (const int32_t m : ending_[step])
        if (live.erase({worth_[static_cast<size_t>(m)], m}) > 0) used -= map(m).bytes;
    }
    for (size_t i = 0; i < staged.size(); ++i) {
      const auto place = static_cast<size_t>(place_[i]);
      staged[i] = cascades_.is_rolling[i] != 0 || (can_be_staged(i) && dropped[place] == 0);
    }
    return staged;
  }

 private:
  const EthosMap& map(int32_t index) const { return maps_.maps[static_cast<size_t>(index)]; }

  bool can_be_staged(size_t index) const {
    const EthosMap& m = maps_.maps[index];
    return !m.border && m.first_row >= 0 && cascades_.is_rolling[index] == 0;
  }

  void count_accesses() {
    worth_.assign(maps_.maps.size(), 0);
    const auto add = [&](int32_t m, double bytes) {
      if (m >= 0) worth_[static_cast<size_t>(place_[static_cast<size_t>(m)])] += bytes;
    };
    for (size_t i = 0; i < rows_.size(); ++i) {
      add(maps_.rows[i].written, traffic_[i].written);
      for (int side = 0; side < 2; ++side) add(maps_.rows[i].read[side], traffic_[i].read[side]);
    }
    for (size_t i = 0; i < worth_.size(); ++i) {
      const int64_t time = last_[i] - std::max(maps_.maps[i].first_row, 0) + 1;
      worth_[i] /= static_cast<double>(std::max<int64_t>(maps_.maps[i].bytes, 1)) *
                   static_cast<double>(std::max<int64_t>(time, 1));
    }
  }

  void fill_steps() {
    starting_.resize(rows_.size());
    ending_.resize(rows_.size());
    for (size_t i = 0; i < maps_.maps.size(); ++i) {
      if (!can_be_staged(i) || place_[i] != static_cast<int32_t>(i)) continue;
      const auto step = [&](int32_t row) {
        return static_cast<size_t>(step_[static_cast<size_t>(row)]);
      };
      starting_[step(maps_.maps[i].first_row)].push_back(static_cast<int32_t>(i));
      ending_[step(last_[i])].push_back(static_cast<int32_t>(i));
    }
    base_.assign(rows_.size(), 0);
    for (size_t i = 0; i < rows_.size(); ++i) {
      base_[i] += cascades_.buffers[i];
      if (cascades_.lines[i] == 0)
        base_[static_cast<size_t>(step_[i])] +=
            static_cast<int64_t>(std::min(traffic_[i].weight_buffer, static_cast<double>(limit_)));
    }
  }

  const std::vector<Row>& rows_;
  const EthosMaps& maps_;
  const EthosCascades& cascades_;
  std::span<const EthosTraffic> traffic_;
  int64_t limit_;
  std::vector<int32_t> step_;   // one a row: rows of a cascade are one step
  std::vector<int32_t> place_;  // one a map: the map whose memory it is in, or itself
  std::vector<int32_t> last_;   // one a map: last row that uses its memory
  std::vector<double> worth_;   // one a map: accesses for its room and time
  std::vector<int64_t> base_;   // one a step: SRAM that maps cannot have
  std::vector<std::vector<int32_t>> starting_, ending_;  // maps, by step
};

class Occupancy {
 public:
  Occupancy(const Lowering& lowering, const EthosMaps& maps, const EthosCascades& cascades,
            const std::vector<uint8_t>& staged)
      : rows_(lowering.rows.size()), maps_(maps), cascades_(cascades), staged_(staged) {
    share_places(
        lowering.rows, maps, cascades.lines,
        [&](size_t i) { return !maps.maps[i].border && maps.maps[i].first_row >= 0; }, place_,
        last_);
  }

  EthosOccupancy run() const {
    std::vector<double> staged(rows_ + 1, 0.0), others(rows_ + 1, 0.0);
    for (size_t i = 0; i < maps_.maps.size(); ++i) {
      const EthosMap& map = maps_.maps[i];
      if (map.first_row < 0 || cascades_.is_rolling[i] != 0) continue;
      const auto place = static_cast<size_t>(place_[i]);
      if (place != i && staged_[place] == staged_[i]) continue;
      const size_t first = map.is_input ? 0 : begin_of(map.first_row);
      const size_t last = map.is_output ? rows_ - 1 : end_of(last_[i]);
      std::vector<double>& change = staged_[i] != 0 ? staged : others;
      change[first] += static_cast<double>(map.bytes);
      change[last + 1] -= static_cast<double>(map.bytes);
    }
    EthosOccupancy out{std::vector<double>(rows_), std::vector<double>(rows_)};
    double now_staged = 0, now_others = 0, rolling = 0;
    for (size_t i = 0; i < rows_; ++i) {
      now_staged += staged[i];
      now_others += others[i];
      if (cascades_.first_row[i] == static_cast<int32_t>(i))
        rolling = static_cast<double>(cascades_.buffers[i]);
      out.staged[i] = now_staged + rolling;
      out.others[i] = now_others;
    }
    return out;
  }

 private:
  // Rows of a cascade run at once.
  size_t begin_of(int32_t row) const {
    return static_cast<size_t>(cascades_.first_row[static_cast<size_t>(row)]);
  }
  size_t end_of(int32_t row) const {
    auto last = static_cast<size_t>(row);
    while (last + 1 < rows_ && cascades_.first_row[last + 1] == cascades_.first_row[last] &&
           cascades_.lines[last] > 0)
      ++last;
    return last;
  }

  size_t rows_;
  const EthosMaps& maps_;
  const EthosCascades& cascades_;
  const std::vector<uint8_t>& staged_;
  std::vector<int32_t> place_, last_;
};

}  // namespace

EthosOccupancy ethos_occupancy(const Lowering& lowering, const EthosMaps& maps,
                               const EthosCascades& cascades, const std::vector<uint8_t>& staged) {
  return Occupancy(lowering, maps, cascades, staged).run();
}

EthosCascades ethos_cascades(const Lowering& lowering, const EthosMaps& maps,
                             std::span<const double> weight_bytes, int64_t limit) {
  return CascadeSearch(lowering, maps, weight_bytes, limit).run();
}

std::vector<uint8_t> ethos_staged(const Lowering& lowering, const EthosMaps& maps,
                                  const EthosCascades& cascades,
                                  std::span<const EthosTraffic> traffic, int64_t limit) {
  return Staging(lowering, maps, cascades, traffic, limit).run();
}

}  // namespace edgesage
