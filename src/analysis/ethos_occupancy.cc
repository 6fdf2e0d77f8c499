#include "src/analysis/ethos_occupancy.h"

#include <algorithm>

#include "src/analysis/ethos_machine.h"

namespace edgesage {
namespace {

bool works_in_place(const Row& row) {
  return ethos_kernel(row) == EthosKernel::kElementwise || row.kind == RowKind::kActivation ||
         row.kind == RowKind::kLut;
}

class Occupancy {
 public:
  Occupancy(const Lowering& lowering, const EthosMaps& maps, const EthosCascades& cascades,
            const std::vector<uint8_t>& staged)
      : rows_(lowering.rows.size()), maps_(maps), cascades_(cascades), staged_(staged) {
    std::vector<uint8_t> may_share;
    for (const EthosMap& map : maps.maps)
      may_share.push_back(!map.border && map.first_row >= 0 ? 1 : 0);
    shared_ = ethos_shared_places(lowering, maps, cascades.lines, may_share);
  }

  EthosOccupancy run() const {
    std::vector<double> staged(rows_ + 1, 0.0), others(rows_ + 1, 0.0);
    for (size_t i = 0; i < maps_.maps.size(); ++i) {
      const EthosMap& map = maps_.maps[i];
      if (map.first_row < 0 || cascades_.is_rolling[i] != 0) continue;
      const auto place = static_cast<size_t>(shared_.place[i]);
      if (place != i && staged_[place] == staged_[i]) continue;
      const size_t first = map.is_input ? 0 : begin_of(map.first_row);
      const size_t last = map.is_output ? rows_ - 1 : end_of(shared_.last_row[i]);
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
  EthosSharedPlaces shared_;
};

}  // namespace

EthosSharedPlaces ethos_shared_places(const Lowering& lowering, const EthosMaps& maps,
                                      const std::vector<int64_t>& lines,
                                      const std::vector<uint8_t>& may_share) {
  EthosSharedPlaces shared;
  const auto map = [&](int32_t index) -> const EthosMap& {
    return maps.maps[static_cast<size_t>(index)];
  };
  const auto may = [&](int32_t index) { return may_share[static_cast<size_t>(index)] != 0; };
  for (size_t i = 0; i < maps.maps.size(); ++i) {
    shared.place.push_back(static_cast<int32_t>(i));
    shared.last_row.push_back(std::max(maps.maps[i].last_row, 0));
  }
  for (size_t i = 0; i < lowering.rows.size(); ++i) {
    if (!works_in_place(lowering.rows[i])) continue;
    if (maps.leaders[i] != static_cast<int32_t>(i) || lines[i] > 0) continue;
    const int32_t written = maps.rows[i].written;
    if (written < 0 || map(written).writers != 1) continue;
    for (const int32_t read : maps.rows[i].read) {
      if (read < 0 || read == written || map(read).readers != 1 || map(read).writers != 1) continue;
      if (map(read).bytes != map(written).bytes || !may(read) || !may(written)) continue;
      const int32_t at = shared.place[static_cast<size_t>(read)];
      shared.place[static_cast<size_t>(written)] = at;
      int32_t& last = shared.last_row[static_cast<size_t>(at)];
      last = std::max(last, map(written).last_row);
      break;
    }
  }
  return shared;
}

EthosOccupancy ethos_occupancy(const Lowering& lowering, const EthosMaps& maps,
                               const EthosCascades& cascades, const std::vector<uint8_t>& staged) {
  return Occupancy(lowering, maps, cascades, staged).run();
}

}  // namespace edgesage
