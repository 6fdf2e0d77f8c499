#include "src/analysis/ethos_staging.h"

#include <algorithm>
#include <limits>

#include "src/analysis/ethos_machine.h"
#include "src/analysis/ethos_occupancy.h"

namespace edgesage {
namespace {

// Sums over slots of time: adding to a range, and the largest of one, in logarithmic time.
class Timeline {
 public:
  explicit Timeline(size_t slots) {
    while (size_ < slots) size_ *= 2;
    largest_.assign(2 * size_, 0);
    added_.assign(2 * size_, 0);
  }

  void add(size_t first, size_t last, int64_t bytes) { add(1, 0, size_ - 1, first, last, bytes); }
  int64_t largest(size_t first, size_t last) const { return largest(1, 0, size_ - 1, first, last); }

 private:
  // The depth is the logarithm of the slots.
  void add(size_t node, size_t from, size_t to, size_t first, size_t last, int64_t bytes) {
    if (last < from || to < first) return;
    if (first <= from && to <= last) {
      largest_[node] += bytes;
      added_[node] += bytes;
      return;
    }
    const size_t middle = (from + to) / 2;
    add(2 * node, from, middle, first, last, bytes);
    add(2 * node + 1, middle + 1, to, first, last, bytes);
    largest_[node] = std::max(largest_[2 * node], largest_[2 * node + 1]) + added_[node];
  }

  int64_t largest(size_t node, size_t from, size_t to, size_t first, size_t last) const {
    if (last < from || to < first) return std::numeric_limits<int64_t>::min() / 4;
    if (first <= from && to <= last) return largest_[node];
    const size_t middle = (from + to) / 2;
    return std::max(largest(2 * node, from, middle, first, last),
                    largest(2 * node + 1, middle + 1, to, first, last)) +
           added_[node];
  }

  size_t size_ = 1;
  std::vector<int64_t> largest_, added_;
};

struct Candidate {
  int32_t map = -1;
  size_t first = 0, last = 0;  // slots
  int64_t bytes = 0;
  double worth = 0;
};

// Which of some candidates stay: the most worth that fits. Tries to keep each, in their order.
class Choice {
 public:
  Choice(std::span<const Candidate> candidates, const Timeline& base, int64_t limit)
      : candidates_(candidates) {
    std::vector<size_t> cuts;
    for (const Candidate& c : candidates) cuts.push_back(c.first), cuts.push_back(c.last + 1);
    std::ranges::sort(cuts);
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    for (size_t i = 0; i + 1 < cuts.size(); ++i)
      room_.push_back(limit - base.largest(cuts[i], cuts[i + 1] - 1));
    const auto index = [&](size_t slot) {
      return static_cast<size_t>(std::ranges::lower_bound(cuts, slot) - cuts.begin());
    };
    for (const Candidate& c : candidates) {
      first_.push_back(index(c.first));
      end_.push_back(index(c.last + 1));
    }
    rest_.assign(candidates.size() + 1, 0);
    for (size_t i = candidates.size(); i-- > 0;) rest_[i] = rest_[i + 1] + candidates[i].worth;
  }

  std::vector<uint8_t> run() {
    now_.assign(candidates_.size(), 0);
    best_ = now_;
    search(0, 0);
    return best_;
  }

 private:
  // At most some twenty deep.
  void search(size_t i, double worth) {
    if (++visited_ > kMostVisited || worth + rest_[i] <= best_worth_) return;
    if (i == candidates_.size()) {
      best_worth_ = worth;
      best_ = now_;
      return;
    }
    const int64_t bytes = candidates_[i].bytes;
    bool fits = true;
    for (size_t t = first_[i]; t < end_[i]; ++t) fits &= room_[t] >= bytes;
    if (fits) {
      for (size_t t = first_[i]; t < end_[i]; ++t) room_[t] -= bytes;
      now_[i] = 1;
      search(i + 1, worth + candidates_[i].worth);
      now_[i] = 0;
      for (size_t t = first_[i]; t < end_[i]; ++t) room_[t] += bytes;
    }
    search(i + 1, worth);
  }

  static constexpr int64_t kMostVisited = 20000;
  std::span<const Candidate> candidates_;
  std::vector<int64_t> room_;        // between two cuts
  std::vector<size_t> first_, end_;  // cuts of each candidate
  std::vector<double> rest_;         // worth of all candidates from one on
  std::vector<uint8_t> now_, best_;
  double best_worth_ = -1;
  int64_t visited_ = 0;
};

class PlaceSearch {
 public:
  PlaceSearch(const Lowering& lowering, const EthosMaps& maps, const EthosCascades& cascades,
              std::span<const EthosTraffic> elements, std::span<const EthosBuffering> buffers,
              int64_t limit)
      : rows_(lowering.rows),
        maps_(maps),
        cascades_(cascades),
        elements_(elements),
        buffers_(buffers),
        limit_(limit) {
    count_steps();
    std::vector<uint8_t> candidate;
    for (size_t i = 0; i < maps.maps.size(); ++i) candidate.push_back(0);
    for (size_t i = 0; i < rows_.size(); ++i) mark(i, candidate);
    shared_ = ethos_shared_places(lowering, maps, cascades.lines, candidate);
    staged_ = std::move(candidate);
  }

  EthosPlaces run() && {
    Timeline base(2 * steps_ + 2);
    fill(base);
    std::vector<Candidate> candidates = ranges();
    keep_what_fits(base, candidates);
    choose_groups(base, candidates);
    for (size_t i = 0; i < staged_.size(); ++i)
      if (staged_[i] != 0) staged_[i] = staged_[static_cast<size_t>(shared_.place[i])];
    unpair();
    EthosPlaces out;
    out.peak = peaks();
    for (size_t i = 0; i < staged_.size(); ++i)
      if (cascades_.is_rolling[i] != 0) staged_[i] = 1;
    out.staged = std::move(staged_);
    return out;
  }

 private:
  const EthosMap& map(int32_t index) const { return maps_.maps[static_cast<size_t>(index)]; }
  bool runs(size_t row) const { return rows_[row].placement != Placement::kFolded; }
  bool in_cascade(size_t row) const { return cascades_.lines[row] > 0; }

  // Rows of a cascade, and what is done in a row, are one step of two slots each.
  void count_steps() {
    step_.assign(rows_.size(), 0);
    size_t next = 0;
    for (size_t i = 0; i < rows_.size(); ++i) {
      const auto leader = static_cast<size_t>(maps_.leaders[i]);
      const auto first = static_cast<size_t>(cascades_.first_row[leader]);
      if (first != i)
        step_[i] = step_[first];
      else
        step_[i] = runs(i) || next == 0 ? next++ : next - 1;
    }
    steps_ = std::max<size_t>(next, 1);
  }

  void mark(size_t row, std::vector<uint8_t>& candidate) const {
    const int32_t written = maps_.rows[row].written;
    if (written < 0 || in_cascade(row) || rows_[row].placement != Placement::kNpu) return;
    const EthosMap& m = map(written);
    if (m.border || m.readers == 0 || cascades_.is_rolling[static_cast<size_t>(written)] != 0)
      return;
    candidate[static_cast<size_t>(written)] = 1;
  }

  // What maps cannot have.
  void fill(Timeline& base) const {
    for (size_t i = 0; i < rows_.size(); ++i) {
      const size_t at = 2 * step_[i];
      if (cascades_.buffers[i] > 0) base.add(at, at + 1, cascades_.buffers[i]);
      const EthosBuffering& b = buffers_[i];
      for (int part = 0; part < b.parts; ++part) {
        const bool early = part == 0 && b.early && at > 0;
        const bool is_last = (b.slices - 1) % b.parts == part;
        base.add(early ? at - 1 : at, is_last ? at + 1 : at, static_cast<int64_t>(b.part[part]));
      }
    }
  }

  std::vector<Candidate> ranges() {
    std::vector<double> worth = worths();
    std::vector<Candidate> candidates;
    for (size_t i = 0; i < staged_.size(); ++i) {
      if (staged_[i] == 0 || shared_.place[i] != static_cast<int32_t>(i)) continue;
      const auto step = [&](int32_t row) { return step_[static_cast<size_t>(row)]; };
      candidates.push_back({.map = static_cast<int32_t>(i),
                            .first = 2 * step(maps_.maps[i].first_row),
                            .last = 2 * step(shared_.last_row[i]) + 1,
                            .bytes = maps_.maps[i].bytes,
                            .worth = worth[i]});
    }
    std::ranges::stable_sort(candidates, {}, &Candidate::first);
    return drop_across_cpu(std::move(candidates));
  }

  // Rows of the CPU may overwrite SRAM.
  std::vector<Candidate> drop_across_cpu(std::vector<Candidate> candidates) {
    std::vector<size_t> slots;
    for (size_t i = 0; i < rows_.size(); ++i)
      if (runs(i) && rows_[i].placement != Placement::kNpu) slots.push_back(2 * step_[i]);
    if (slots.empty()) return candidates;
    std::erase_if(candidates, [&](const Candidate& c) {
      const auto next = std::ranges::lower_bound(slots, c.first);
      const bool crosses = next != slots.end() && *next <= c.last;
      if (crosses) staged_[static_cast<size_t>(c.map)] = 0;
      return crosses;
    });
    return candidates;
  }

  // Elements read and written; what a cascade reads besides its rolling buffers comes first.
  std::vector<double> worths() const {
    constexpr double kFirst = 2147483647;
    std::vector<double> worth(maps_.maps.size(), 0);
    const auto add = [&](int32_t m, double elements) {
      if (m >= 0) worth[static_cast<size_t>(shared_.place[static_cast<size_t>(m)])] += elements;
    };
    for (size_t i = 0; i < rows_.size(); ++i) {
      const bool inside = in_cascade(i) && cascades_.first_row[i] != static_cast<int32_t>(i);
      add(maps_.rows[i].written, elements_[i].written);
      for (int side = 0; side < 2; ++side)
        add(maps_.rows[i].read[side], inside ? kFirst : elements_[i].read[side]);
    }
    return worth;
  }

  void keep_what_fits(Timeline& base, std::vector<Candidate>& candidates) {
    Timeline most = base;
    for (const Candidate& c : candidates) most.add(c.first, c.last, c.bytes);
    std::erase_if(candidates, [&](const Candidate& c) {
      if (base.largest(c.first, c.last) + c.bytes <= limit_) return false;
      most.add(c.first, c.last, -c.bytes);
      staged_[static_cast<size_t>(c.map)] = 0;
      return true;
    });
    std::erase_if(candidates, [&](const Candidate& c) {
      if (most.largest(c.first, c.last) > limit_) return false;
      base.add(c.first, c.last, c.bytes);
      return true;
    });
  }

  void choose_groups(Timeline& base, std::span<const Candidate> candidates) {
    constexpr size_t kLargestGroup = 21;
    for (size_t start = 0; start < candidates.size();) {
      size_t end = start + 1, last = candidates[start].last;
      while (end < candidates.size() && candidates[end].first <= last &&
             end - start < kLargestGroup) {
        last = std::max(last, candidates[end].last);
        ++end;
      }
      const std::span<const Candidate> group = candidates.subspan(start, end - start);
      const std::vector<uint8_t> stays = Choice(group, base, limit_).run();
      for (size_t i = 0; i < group.size(); ++i) {
        if (stays[i] != 0)
          base.add(group[i].first, group[i].last, group[i].bytes);
        else
          staged_[static_cast<size_t>(group[i].map)] = 0;
      }
      start = end;
    }
  }

  // A map that only element-wise rows read goes to DRAM with another operand of one of them.
  void unpair() {
    std::vector<uint8_t> flat(maps_.maps.size(), 1);
    for (size_t i = 0; i < rows_.size(); ++i)
      for (const int32_t read : maps_.rows[i].read)
        if (read >= 0 && ethos_kernel(rows_[i]) != EthosKernel::kElementwise)
          flat[static_cast<size_t>(read)] = 0;
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (maps_.leaders[i] != static_cast<int32_t>(i)) continue;
      if (in_cascade(i) && cascades_.first_row[i] != static_cast<int32_t>(i)) continue;
      size_t end = i + 1;
      while (end < rows_.size() && maps_.leaders[end] == static_cast<int32_t>(i)) ++end;
      bool slow = false;
      const auto each = [&](const auto& visit) {
        for (size_t j = i; j < end; ++j)
          for (const int32_t read : maps_.rows[j].read)
            if (read >= 0) visit(static_cast<size_t>(read));
      };
      each([&](size_t m) { slow |= staged_[m] == 0; });
      if (slow) each([&](size_t m) { staged_[m] = flat[m] != 0 ? 0 : staged_[m]; });
    }
  }

  std::vector<double> peaks() const {
    Timeline used(2 * steps_ + 2);
    fill(used);
    for (size_t i = 0; i < staged_.size(); ++i) {
      if (staged_[i] == 0 || maps_.maps[i].first_row < 0) continue;
      const auto place = static_cast<size_t>(shared_.place[i]);
      if (place != i && staged_[place] != 0) continue;
      const auto step = [&](int32_t row) { return step_[static_cast<size_t>(row)]; };
      used.add(2 * step(maps_.maps[i].first_row), 2 * step(shared_.last_row[i]) + 1,
               maps_.maps[i].bytes);
    }
    std::vector<double> peak;
    for (size_t i = 0; i < rows_.size(); ++i)
      peak.push_back(static_cast<double>(used.largest(2 * step_[i], 2 * step_[i] + 1)));
    return peak;
  }

  const std::vector<Row>& rows_;
  const EthosMaps& maps_;
  const EthosCascades& cascades_;
  std::span<const EthosTraffic> elements_;
  std::span<const EthosBuffering> buffers_;
  int64_t limit_;
  std::vector<size_t> step_;  // one a row
  size_t steps_ = 1;
  EthosSharedPlaces shared_;
  std::vector<uint8_t> staged_;  // one a map
};

}  // namespace

EthosPlaces ethos_places(const Lowering& lowering, const EthosMaps& maps,
                         const EthosCascades& cascades, std::span<const EthosTraffic> elements,
                         std::span<const EthosBuffering> buffers, int64_t limit) {
  return PlaceSearch(lowering, maps, cascades, elements, buffers, limit).run();
}

}  // namespace edgesage
