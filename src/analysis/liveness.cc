#include "src/analysis/liveness.h"

#include <algorithm>
#include <limits>

namespace edgesage {
namespace {

class RangeTable {
 public:
  RangeTable(const Subgraph& subgraph, size_t steps)
      : subgraph_(subgraph),
        first_(subgraph.tensors.size(), kUnset),
        last_(subgraph.tensors.size(), kUnset),
        end_(static_cast<int32_t>(steps) - 1) {}

  void touch(int32_t tensor, int32_t step) {
    if (tensor < 0 || static_cast<size_t>(tensor) >= first_.size()) return;
    const auto i = static_cast<size_t>(tensor);
    first_[i] = first_[i] == kUnset ? step : std::min(first_[i], step);
    last_[i] = std::max(last_[i], step);
  }

  // Graph inputs exist from the start, outputs to the end, variables throughout.
  void touch_start(int32_t tensor) { touch(tensor, 0); }
  void touch_end(int32_t tensor) { touch(tensor, std::max(end_, 0)); }

  Liveness finish() && {
    Liveness result;
    if (end_ < 0) return result;
    std::vector<int64_t> change(static_cast<size_t>(end_) + 2, 0);
    result.live_bytes.resize(static_cast<size_t>(end_) + 1);
    for (size_t i = 0; i < first_.size(); ++i) {
      const Tensor& tensor = subgraph_.tensors[i];
      if (first_[i] == kUnset || tensor.is_constant()) continue;
      const auto index = static_cast<int32_t>(i);
      const std::optional<int64_t> bytes = known_bytes(tensor);
      if (!bytes) {
        result.unknown.push_back(index);
        continue;
      }
      result.ranges.push_back({index, first_[i], last_[i], *bytes});
      change[static_cast<size_t>(first_[i])] += *bytes;
      change[static_cast<size_t>(last_[i]) + 1] -= *bytes;
    }
    int64_t live = 0;
    for (size_t step = 0; step < result.live_bytes.size(); ++step) {
      live += change[step];
      result.live_bytes[step] = live;
      if (result.peak_step < 0 || live > result.peak_bytes) {
        result.peak_bytes = live;
        result.peak_step = static_cast<int32_t>(step);
      }
    }
    return result;
  }

 private:
  static constexpr int32_t kUnset = -1;
  // Sums of sizes must not overflow: no device holds more than this.
  static constexpr int64_t kLargest = int64_t{1} << 42;

  static std::optional<int64_t> known_bytes(const Tensor& tensor) {
    if (!tensor.has_rank || std::ranges::any_of(tensor.shape, [](int64_t d) { return d < 0; }))
      return std::nullopt;
    const std::optional<int64_t> bytes = tensor.byte_size();
    if (!bytes || *bytes > kLargest) return std::nullopt;
    return bytes;
  }

  const Subgraph& subgraph_;
  std::vector<int32_t> first_, last_;
  int32_t end_;
};

void touch_borders(const Subgraph& subgraph, RangeTable& table,
                   const std::vector<int32_t>& storage) {
  const auto held_by = [&](int32_t tensor) {
    const bool in_range = tensor >= 0 && static_cast<size_t>(tensor) < storage.size();
    return in_range ? storage[static_cast<size_t>(tensor)] : tensor;
  };
  for (const int32_t tensor : subgraph.inputs) table.touch_start(held_by(tensor));
  for (const int32_t tensor : subgraph.outputs) table.touch_end(held_by(tensor));
  for (size_t i = 0; i < subgraph.tensors.size(); ++i) {
    if (!subgraph.tensors[i].is_variable) continue;
    table.touch_start(static_cast<int32_t>(i));
    table.touch_end(static_cast<int32_t>(i));
  }
}

}  // namespace

Liveness liveness(const Graph& graph) {
  if (graph.subgraphs.empty()) return {};
  const Subgraph& subgraph = graph.main();
  RangeTable table(subgraph, subgraph.operators.size());
  touch_borders(subgraph, table, {});
  for (size_t step = 0; step < subgraph.operators.size(); ++step) {
    for (const int32_t t : subgraph.operators[step].inputs)
      table.touch(t, static_cast<int32_t>(step));
    for (const int32_t t : subgraph.operators[step].outputs)
      table.touch(t, static_cast<int32_t>(step));
  }
  return std::move(table).finish();
}

Liveness liveness(const Graph& graph, const Lowering& lowering) {
  if (graph.subgraphs.empty()) return {};
  const Subgraph& subgraph = graph.main();
  RangeTable table(subgraph, lowering.rows.size());
  touch_borders(subgraph, table, lowering.storage);
  for (size_t step = 0; step < lowering.rows.size(); ++step) {
    const Row& row = lowering.rows[step];
    for (const int32_t t : row.ifm_tensors) table.touch(t, static_cast<int32_t>(step));
    for (const int32_t t : row.ofm_tensors) {
      const bool aliased = static_cast<size_t>(t) < lowering.storage.size();
      table.touch(aliased ? lowering.storage[static_cast<size_t>(t)] : t,
                  static_cast<int32_t>(step));
    }
  }
  return std::move(table).finish();
}

}  // namespace edgesage
