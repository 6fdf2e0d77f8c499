#include "src/analysis/ethos_cascades.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "src/analysis/ethos_machine.h"

namespace edgesage {
namespace {

int64_t divide_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }
int64_t round_up(int64_t value, int64_t unit) { return divide_up(value, unit) * unit; }
int64_t side(int64_t value) { return std::clamp<int64_t>(value, 1, 1 << 16); }

class CascadeSearch {
 public:
  CascadeSearch(const Lowering& lowering, const EthosMaps& maps, const CascadeWeights& weights,
                int64_t limit)
      : rows_(lowering.rows),
        maps_(maps),
        weights_(weights),
        limit_(limit),
        is_u85_(lowering.target.kind == TargetKind::kEthosU85),
        result_(no_ethos_cascades(rows_.size(), maps.maps.size())) {
    // At first every row makes as few lines as the next one steps over.
    least_.assign(rows_.size(), 1);
    for (size_t i = 0; i + 1 < rows_.size(); ++i)
      least_[i] = round_up(side(rows_[i + 1].stride_h), upscale(rows_[i]));
    if (!rows_.empty()) least_.back() = upscale(rows_.back());
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

  // A resize of a U65 is a pool over its input, each pixel twice.
  static int64_t upscale(const Row& row) {
    return row.kind == RowKind::kResize && row.ofm.h > row.ifm.h ? 2 : 1;
  }

  bool works_by_lines(size_t i) const {
    const Row& row = rows_[i];
    if (row.placement != Placement::kNpu || !is_alone(i) || row.ofm.n > 1) return false;
    if (least_[i] >= row.ofm.h) return false;
    switch (row.kind) {
      case RowKind::kConv2D:
        return row.groups <= 1;
      case RowKind::kDepthwiseConv2D:
      case RowKind::kAveragePool:
      case RowKind::kMaxPool:
      case RowKind::kAdd:
      case RowKind::kSub:
      case RowKind::kMul:
      case RowKind::kMinMax:
      case RowKind::kElementwise:
      case RowKind::kShift:
        return true;
      case RowKind::kResize:
        return !is_u85_;
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
    return !m.border && !m.linear && m.writers == 1 && m.readers == 1 &&
           rows_[i].ofm == rows_[i + 1].ifm;
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
    const int64_t spread = (lines - 1) * side(row.stride_h) + kernel;
    return std::min(divide_up(spread, upscale(row)), side(row.ifm.h));
  }

  // Of the map between rows i and i + 1.
  int64_t rolling_bytes(size_t i, int64_t made, int64_t used_for) const {
    const Row& row = rows_[i];
    const int64_t used = input_lines(rows_[i + 1], used_for);
    const int64_t width = std::max<int64_t>(bits_per_element(row.ofm_type) / 8, 1);
    return round_up(made + used, used) * side(row.ofm.w) * round_up(side(row.ofm.c), 16) * width;
  }

  size_t end_of_cascade(size_t first) const {
    size_t last = first;
    int64_t buffers = 0;
    while (last + 1 < rows_.size() && works_by_lines(last + 1) && flows_on(last)) {
      const size_t next = last + 1;
      buffers += rolling_bytes(last, least_[last], least_[next]);
      if (whole(next) < limit_ || buffers > limit_) break;
      last = next;
    }
    return last;
  }

  struct Segment {
    size_t first, last;
    int64_t bytes;  // of the maps between
  };

  // Lines of each row when the last makes `lines`.
  void set_stripes(size_t first, size_t last, int64_t lines) {
    stripes_.assign(last - first + 1, 0);
    for (size_t i = last;; --i) {
      stripes_[i - first] = lines;
      if (i == first) return;
      lines = std::min<int64_t>(lines / upscale(rows_[i]) * side(rows_[i].stride_h), 1 << 16);
      lines = round_up(lines, upscale(rows_[i - 1]));
    }
  }

  // Cascades of rows `first` to `last` with so many lines each: more than one where their buffers
  // do not all fit. Empty where a row would be left alone that does not fit either.
  std::vector<Segment> segments(size_t first, size_t last, std::span<const int64_t> weights) const {
    std::vector<Segment> found;
    const auto by_lines = [&](size_t i) { return stripes_[i - first] < side(rows_[i].ofm.h); };
    for (size_t i = first; i <= last;) {
      Segment s{.first = i, .last = i, .bytes = 0};
      int64_t copied = weights[i - first];
      while (s.last < last && by_lines(i) && by_lines(s.last + 1)) {
        const size_t next = s.last + 1;
        const int64_t bytes =
            s.bytes + rolling_bytes(s.last, stripes_[s.last - first], stripes_[next - first]);
        copied += weights[next - first];
        if (whole(next) < limit_ || bytes + copied > limit_) break;
        s.last = next;
        s.bytes = bytes;
      }
      if (s.last == s.first && whole(i) > limit_) return {};
      if (s.last > s.first) found.push_back(s);
      i = s.last + 1;
    }
    return found;
  }

  void keep(size_t first, size_t last, std::span<const Segment> found) {
    for (size_t i = first; i <= last; ++i) {
      result_.first_row[i] = static_cast<int32_t>(i);
      result_.lines[i] = result_.buffers[i] = 0;
      if (i < last) result_.is_rolling[static_cast<size_t>(maps_.rows[i].written)] = 0;
    }
    for (const Segment& s : found) {
      result_.buffers[s.first] = s.bytes;
      for (size_t i = s.first; i <= s.last; ++i) {
        result_.first_row[i] = static_cast<int32_t>(s.first);
        result_.lines[i] = stripes_[i - first];
        if (i < s.last) result_.is_rolling[static_cast<size_t>(maps_.rows[i].written)] = 1;
      }
    }
  }

  void settle(size_t first, size_t last) {
    stripes_.assign(least_.begin() + static_cast<std::ptrdiff_t>(first),
                    least_.begin() + static_cast<std::ptrdiff_t>(last) + 1);
    Segment all{.first = first, .last = last, .bytes = 0};
    for (size_t i = first; i < last; ++i) all.bytes += rolling_bytes(i, least_[i], least_[i + 1]);
    keep(first, last, {&all, 1});
    std::vector<int64_t> weights(last - first + 1, 0);
    if (weights_) weights = weights_(result_, first, last);
    const int64_t step = upscale(rows_[last]);
    const int64_t most = divide_up(side(rows_[last].ofm.h), 2);
    std::vector<Segment> best;
    int64_t best_lines = 0;
    for (int64_t lines = least_[last] + step; lines <= most; lines += step) {
      set_stripes(first, last, lines);
      std::vector<Segment> found = segments(first, last, weights);
      if (found.empty() || (!best.empty() && found.size() > most_cascades_)) break;
      if (best.empty()) most_cascades_ = found.size();
      best = std::move(found);
      best_lines = lines;
    }
    if (best.empty()) return;
    set_stripes(first, last, best_lines);
    keep(first, last, best);
  }

  const std::vector<Row>& rows_;
  const EthosMaps& maps_;
  const CascadeWeights& weights_;
  int64_t limit_;
  bool is_u85_;
  std::vector<int64_t> least_;    // lines, one a row
  std::vector<int64_t> stripes_;  // of the cascade in hand
  size_t most_cascades_ = 0;      // that it may fall into
  EthosCascades result_;
};

}  // namespace

EthosCascades no_ethos_cascades(size_t rows, size_t maps) {
  EthosCascades none;
  none.first_row.resize(rows);
  std::iota(none.first_row.begin(), none.first_row.end(), 0);
  none.lines.assign(rows, 0);
  none.buffers.assign(rows, 0);
  none.is_rolling.assign(maps, 0);
  return none;
}

EthosCascades ethos_cascades(const Lowering& lowering, const EthosMaps& maps,
                             const CascadeWeights& weights, int64_t limit) {
  return CascadeSearch(lowering, maps, weights, limit).run();
}

}  // namespace edgesage
