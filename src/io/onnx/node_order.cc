#include "src/io/onnx/node_order.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <span>

namespace edgesage::onnx {
namespace {

// Readers of each maker, or with `reverse` makers of each reader, as lists one behind the other.
class Neighbours {
 public:
  Neighbours(int32_t nodes, const std::vector<std::pair<int32_t, int32_t>>& edges, bool reverse)
      : begin_(static_cast<size_t>(nodes) + 1, 0), all_(edges.size()) {
    const auto from = [reverse](const auto& edge) {
      return static_cast<size_t>(reverse ? edge.second : edge.first);
    };
    for (const auto& edge : edges) ++begin_[from(edge) + 1];
    for (size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
    std::vector<size_t> next(begin_.begin(), begin_.end() - 1);
    for (const auto& edge : edges) all_[next[from(edge)]++] = reverse ? edge.first : edge.second;
  }
  [[nodiscard]] std::span<const int32_t> of(int32_t node) const {
    const auto at = static_cast<size_t>(node);
    return std::span(all_).subspan(begin_[at], begin_[at + 1] - begin_[at]);
  }

 private:
  std::vector<size_t> begin_;
  std::vector<int32_t> all_;
};

// Every node that is left waits for another one that is left: walking to it must come back.
std::vector<int32_t> find_cycle(int32_t nodes, const std::vector<bool>& done,
                                const std::vector<std::pair<int32_t, int32_t>>& edges) {
  const Neighbours makers(nodes, edges, true);
  std::vector<int32_t> position(static_cast<size_t>(nodes), -1);
  std::vector<int32_t> walk;
  auto at = static_cast<int32_t>(std::ranges::find(done, false) - done.begin());
  while (position[static_cast<size_t>(at)] < 0) {
    position[static_cast<size_t>(at)] = static_cast<int32_t>(walk.size());
    walk.push_back(at);
    at = *std::ranges::find_if(makers.of(at),
                               [&](int32_t maker) { return !done[static_cast<size_t>(maker)]; });
  }
  walk.erase(walk.begin(), walk.begin() + position[static_cast<size_t>(at)]);
  std::ranges::reverse(walk);
  std::ranges::rotate(walk, std::ranges::min_element(walk));
  return walk;
}

}  // namespace

NodeOrder order_nodes(int32_t nodes, const std::vector<std::pair<int32_t, int32_t>>& edges) {
  const Neighbours readers(nodes, edges, false);
  std::vector<int32_t> waits(static_cast<size_t>(nodes), 0);
  for (const auto& [maker, reader] : edges) ++waits[static_cast<size_t>(reader)];
  std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> ready;
  for (int32_t node = 0; node < nodes; ++node)
    if (waits[static_cast<size_t>(node)] == 0) ready.push(node);
  NodeOrder result;
  std::vector<bool> done(static_cast<size_t>(nodes), false);
  while (!ready.empty()) {
    const int32_t node = ready.top();
    ready.pop();
    done[static_cast<size_t>(node)] = true;
    result.order.push_back(node);
    for (const int32_t reader : readers.of(node))
      if (--waits[static_cast<size_t>(reader)] == 0) ready.push(reader);
  }
  if (result.order.size() < static_cast<size_t>(nodes))
    result.cycle = find_cycle(nodes, done, edges);
  return result;
}

}  // namespace edgesage::onnx
