#include "src/analysis/greedy_plan.h"

#include <algorithm>
#include <numeric>

namespace edgesage {
namespace {

struct Placed {
  int64_t offset = 0;
  int64_t end = 0;
  int32_t order = 0;  // in which it was placed: of equal offsets the earlier comes first
};

// Finds the placed buffers that live at the same time as another one without looking at the rest.
// Those that overlap [first, last] are the ones that live at `first`, kept in a segment tree over
// steps, and the ones that start later, kept by their start.
class PlacedByTime {
 public:
  explicit PlacedByTime(std::span<const PlanBuffer> buffers) {
    for (const PlanBuffer& buffer : buffers) {
      steps_.push_back(buffer.first);
      steps_.push_back(buffer.last);
    }
    std::sort(steps_.begin(), steps_.end());
    steps_.erase(std::unique(steps_.begin(), steps_.end()), steps_.end());
    while (leaves_ < steps_.size()) leaves_ *= 2;
    covering_.resize(2 * leaves_);
    starting_.resize(steps_.size());
  }

  void add(const PlanBuffer& buffer, const Placed& placed) {
    size_t low = index(buffer.first), high = index(buffer.last) + 1;
    starting_[low].push_back(placed);
    for (low += leaves_, high += leaves_; low < high; low /= 2, high /= 2) {
      if (low % 2 == 1) covering_[low++].push_back(placed);
      if (high % 2 == 1) covering_[--high].push_back(placed);
    }
  }

  void overlapping(const PlanBuffer& buffer, std::vector<Placed>& found) const {
    found.clear();
    const size_t first = index(buffer.first), last = index(buffer.last);
    for (size_t node = first + leaves_; node > 0; node /= 2)
      found.insert(found.end(), covering_[node].begin(), covering_[node].end());
    for (size_t step = first + 1; step <= last; ++step)
      found.insert(found.end(), starting_[step].begin(), starting_[step].end());
  }

  // What `overlapping` costs beside what it finds.
  [[nodiscard]] int64_t span_of(const PlanBuffer& buffer) const {
    return static_cast<int64_t>(index(buffer.last) - index(buffer.first));
  }

 private:
  [[nodiscard]] size_t index(int32_t step) const {
    return static_cast<size_t>(std::lower_bound(steps_.begin(), steps_.end(), step) -
                               steps_.begin());
  }

  std::vector<int32_t> steps_;
  size_t leaves_ = 1;
  std::vector<std::vector<Placed>> covering_;
  std::vector<std::vector<Placed>> starting_;
};

// Fixed ones first, then by falling size; of equal sizes the last added first.
std::vector<int32_t> placing_order(std::span<const PlanBuffer> buffers) {
  std::vector<int32_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    const PlanBuffer& left = buffers[static_cast<size_t>(a)];
    const PlanBuffer& right = buffers[static_cast<size_t>(b)];
    const bool left_fixed = left.fixed_offset >= 0, right_fixed = right.fixed_offset >= 0;
    if (left_fixed != right_fixed) return left_fixed;
    if (left_fixed) return a < b;
    return left.bytes != right.bytes ? left.bytes > right.bytes : a > b;
  });
  return order;
}

int64_t lowest_gap(std::vector<Placed>& neighbours, int64_t bytes) {
  std::sort(neighbours.begin(), neighbours.end(), [](const Placed& a, const Placed& b) {
    return a.offset != b.offset ? a.offset < b.offset : a.order < b.order;
  });
  int64_t offset = 0;
  for (const Placed& next : neighbours) {
    if (next.offset - offset >= bytes) break;
    offset = std::max(offset, next.end);
  }
  return offset;
}

}  // namespace

Result<GreedyPlan> greedy_plan(std::span<const PlanBuffer> buffers) {
  constexpr int64_t kMostWork = 100'000'000;
  GreedyPlan plan;
  plan.offsets.resize(buffers.size());
  PlacedByTime placed(buffers);
  std::vector<Placed> neighbours;
  int64_t work = 0;
  int32_t order = 0;
  for (const int32_t id : placing_order(buffers)) {
    const PlanBuffer& buffer = buffers[static_cast<size_t>(id)];
    int64_t offset = buffer.fixed_offset;
    if (offset < 0) {
      work += placed.span_of(buffer);
      if (work > kMostWork) break;
      placed.overlapping(buffer, neighbours);
      work += 8 * static_cast<int64_t>(neighbours.size());
      offset = lowest_gap(neighbours, buffer.bytes);
    }
    placed.add(buffer, {offset, offset + buffer.bytes, order++});
    plan.offsets[static_cast<size_t>(id)] = offset;
    plan.bytes = std::max(plan.bytes, offset + buffer.bytes);
  }
  if (work > kMostWork)
    return make_error(ErrorCode::kUnsupported, "",
                      "too many tensors are alive at the same time to plan their memory");
  return plan;
}

}  // namespace edgesage
