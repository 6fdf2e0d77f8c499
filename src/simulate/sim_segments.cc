#include "src/simulate/sim_segments.h"

#include <algorithm>
#include <map>
#include <utility>

#include "src/simulate/sim_rows.h"

namespace edgesage::simulate {
namespace {

// Position p is a cut when no row after p reads a row before p, or the graph's input, and no
// output is made before p: row p is then waited for by all that follows. So is the last row of what
// a loop runs, and the last one before it: where the number of runs changes.
std::vector<bool> find_cuts(const Graph& graph, const Lowering& lowering) {
  const auto rows = static_cast<int32_t>(lowering.rows.size());
  // reach[p + 1]: how far something that exists before row p + 1 is still needed.
  std::vector<int32_t> last(static_cast<size_t>(rows) + 1, -1);  // last reader of row i - 1
  for (int32_t i = 0; i < rows; ++i) {
    const Row& row = lowering.rows[static_cast<size_t>(i)];
    if (row.inputs.empty()) last[0] = i;
    for (const int32_t input : row.inputs)
      last[static_cast<size_t>(input) + 1] = std::max(last[static_cast<size_t>(input) + 1], i);
  }
  std::vector<uint8_t> is_output(lowering.storage.size(), 0);
  for (const int32_t tensor : graph.main().outputs)
    if (tensor >= 0 && static_cast<size_t>(tensor) < is_output.size())
      is_output[static_cast<size_t>(lowering.storage[static_cast<size_t>(tensor)])] = 1;
  for (int32_t i = 0; i < rows; ++i)
    for (const int32_t tensor : lowering.rows[static_cast<size_t>(i)].ofm_tensors)
      if (is_output[static_cast<size_t>(tensor)] != 0) last[static_cast<size_t>(i) + 1] = rows;
  std::vector<bool> cuts(static_cast<size_t>(rows), false);
  int32_t needed = last[0];  // by what is older than row p
  for (int32_t p = 0; p < rows; ++p) {
    const bool changes = p + 1 < rows && lowering.rows[static_cast<size_t>(p)].repeat !=
                                             lowering.rows[static_cast<size_t>(p) + 1].repeat;
    cuts[static_cast<size_t>(p)] = needed <= p || changes;
    needed = std::max(needed, last[static_cast<size_t>(p) + 1]);
  }
  if (rows > 0) cuts[static_cast<size_t>(rows) - 1] = true;
  return cuts;
}

Segment make_segment(const Lowering& lowering, const SimNetwork& network, int32_t first,
                     int32_t last) {
  Segment segment;
  std::vector<int32_t> place(static_cast<size_t>(last - first) + 1, -1);
  for (int32_t i = first; i <= last; ++i) {
    const int32_t unique = network.unique_of[static_cast<size_t>(i)];
    if (unique < 0) continue;
    place[static_cast<size_t>(i - first)] = static_cast<int32_t>(segment.row.size());
    segment.row.push_back(unique);
    segment.offset.push_back(static_cast<int32_t>(segment.input.size()));
    for (const int32_t input : lowering.rows[static_cast<size_t>(i)].inputs)
      if (input >= first && input < i && place[static_cast<size_t>(input - first)] >= 0)
        segment.input.push_back(place[static_cast<size_t>(input - first)]);
  }
  segment.offset.push_back(static_cast<int32_t>(segment.input.size()));
  return segment;
}

// Each row reads the one before it: nothing can overlap.
bool is_chain(const Segment& segment) {
  for (size_t i = 1; i < segment.row.size(); ++i) {
    const auto begin = segment.input.begin() + segment.offset[i];
    const auto end = segment.input.begin() + segment.offset[i + 1];
    if (std::find(begin, end, static_cast<int32_t>(i) - 1) == end) return false;
  }
  return true;
}

}  // namespace

void fill_segments(const Graph& graph, const Lowering& lowering, bool merge, SimNetwork& network) {
  network.serial_count.assign(network.unique.size(), 0);
  network.segment_of.assign(lowering.rows.size(), -1);
  const std::vector<bool> cuts = find_cuts(graph, lowering);
  std::map<std::pair<std::vector<int32_t>, std::vector<int32_t>>, int32_t> known;
  int32_t first = 0;
  for (int32_t i = 0; i < static_cast<int32_t>(cuts.size()); ++i) {
    if (!cuts[static_cast<size_t>(i)]) continue;
    Segment segment = make_segment(lowering, network, first, i);
    const float runs = network.times[static_cast<size_t>(i)];
    if (is_chain(segment)) {
      for (const int32_t unique : segment.row)
        add_bounded(network.serial_count[static_cast<size_t>(unique)], runs);
    } else {
      std::vector<int32_t> wiring = segment.offset;
      wiring.insert(wiring.end(), segment.input.begin(), segment.input.end());
      const auto next = static_cast<int32_t>(network.segments.size());
      const auto [found, is_new] = known.try_emplace({segment.row, std::move(wiring)}, next);
      const int32_t index = is_new || !merge ? next : found->second;
      if (index == next) network.segments.push_back(std::move(segment));
      add_bounded(network.segments[static_cast<size_t>(index)].count, runs);
      for (int32_t k = first; k <= i; ++k) network.segment_of[static_cast<size_t>(k)] = index;
    }
    first = i + 1;
  }
}

}  // namespace edgesage::simulate
