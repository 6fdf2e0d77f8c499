#include "src/analysis/arena_placement.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace edgesage {
namespace {

int64_t aligned(int64_t offset) {
  return (offset + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

// Finds the placed blocks that are needed at some step of an interval: a segment tree over steps.
// A block is filed at the nodes that cover its interval, and its name at all nodes above them.
class OverlapIndex {
 public:
  OverlapIndex(size_t blocks, int32_t steps) : seen_(blocks, 0) {
    while (width_ < steps) width_ *= 2;
    covering_.assign(2 * static_cast<size_t>(width_), kNone);
    below_.assign(2 * static_cast<size_t>(width_), kNone);
  }

  void insert(int32_t block, const ArenaBlock& what) {
    for_each_cover(what.first, what.last, [&](size_t node) {
      push(covering_[node], block);
      // Blocks of several covering nodes come more than once to the nodes above; `seen_` sorts
      // that out.
      for (node /= 2; node >= 1; node /= 2) push(below_[node], block);
    });
  }

  // The blocks that overlap, each once, in no order.
  const std::vector<int32_t>& find(int32_t first, int32_t last) {
    found_.clear();
    ++query_;
    for_each_cover(first, last, [&](size_t node) {
      collect(below_[node]);
      for (; node >= 1; node /= 2) collect(covering_[node]);
    });
    return found_;
  }

  [[nodiscard]] int64_t work() const { return work_; }

 private:
  static constexpr int32_t kNone = -1;
  struct Entry {
    int32_t block = 0;
    int32_t next = kNone;
  };

  template <class Visit>
  void for_each_cover(int32_t first, int32_t last, Visit visit) {
    auto low = static_cast<size_t>(first + width_);
    auto high = static_cast<size_t>(last + width_) + 1;
    for (; low < high; low /= 2, high /= 2) {
      if (low % 2 == 1) visit(low++);
      if (high % 2 == 1) visit(--high);
    }
  }

  void push(int32_t& head, int32_t block) {
    entries_.push_back({block, head});
    head = static_cast<int32_t>(entries_.size()) - 1;
  }

  void collect(int32_t entry) {
    for (; entry != kNone; entry = entries_[static_cast<size_t>(entry)].next) {
      ++work_;
      const int32_t block = entries_[static_cast<size_t>(entry)].block;
      if (seen_[static_cast<size_t>(block)] == query_) continue;
      seen_[static_cast<size_t>(block)] = query_;
      found_.push_back(block);
    }
  }

  int32_t width_ = 1;
  std::vector<int32_t> covering_, below_;  // first entry of each node
  std::vector<Entry> entries_;
  std::vector<int32_t> seen_;  // the last query that met the block
  std::vector<int32_t> found_;
  int32_t query_ = 0;
  int64_t work_ = 0;
};

// The offset for a block, as its neighbours come by in order of their offsets.
class GapSearch {
 public:
  GapSearch(int64_t bytes, int64_t start) : bytes_(bytes), end_(start) {}

  void pass(const ArenaBlock& other) {
    const int64_t from = aligned(end_);
    if (from + bytes_ <= other.offset && other.offset - from < best_gap_) {
      best_ = from;
      // The runtime remembers the gap with the bytes that alignment skips; so must we.
      best_gap_ = other.offset - end_;
    }
    end_ = std::max(end_, other.offset + other.bytes);
  }

  [[nodiscard]] int64_t offset() const { return best_ >= 0 ? best_ : aligned(end_); }

 private:
  int64_t bytes_, end_;
  int64_t best_ = -1;
  int64_t best_gap_ = std::numeric_limits<int64_t>::max();
};

// Places blocks one by one. Where few of those placed before meet the next, an index finds them;
// where many do, all are looked at in the order of their offsets.
class Placer {
 public:
  Placer(std::span<const ArenaBlock> blocks, int32_t steps, int64_t start)
      : blocks_(blocks), index_(blocks.size(), steps), start_(start) {}

  // False if it has taken too long.
  bool place(size_t i, ArenaBlock& block) {
    GapSearch search(block.bytes, start_);
    const size_t met = sorted_.empty() ? ask_index(block, search) : look_at_all(block, search);
    block.offset = search.offset();
    index_.insert(static_cast<int32_t>(i), block);
    placed_.push_back(static_cast<int32_t>(i));
    const bool crowded = met > 64 && met > placed_.size() / 16;
    if (!crowded)
      sorted_.clear();
    else if (sorted_.empty())
      sort_all();
    else
      sorted_.insert(std::ranges::upper_bound(sorted_, block.offset, {}, &ArenaBlock::offset),
                     block);
    constexpr int64_t kMostWork = 500'000'000;
    return work_ + 4 * index_.work() < kMostWork;
  }

 private:
  size_t ask_index(const ArenaBlock& block, GapSearch& search) {
    neighbours_ = index_.find(block.first, block.last);
    std::ranges::sort(neighbours_, {}, [&](int32_t k) { return at(k).offset; });
    for (const int32_t neighbour : neighbours_) search.pass(at(neighbour));
    work_ += static_cast<int64_t>(neighbours_.size()) * 64;
    return neighbours_.size();
  }

  size_t look_at_all(const ArenaBlock& block, GapSearch& search) {
    size_t met = 0;
    for (const ArenaBlock& other : sorted_) {
      if (other.last < block.first || other.first > block.last) continue;
      search.pass(other);
      ++met;
    }
    work_ += 2 * static_cast<int64_t>(sorted_.size());
    return met;
  }

  void sort_all() {
    for (const int32_t k : placed_) sorted_.push_back(at(k));
    std::ranges::sort(sorted_, {}, &ArenaBlock::offset);
    work_ += static_cast<int64_t>(sorted_.size()) * 64;
  }

  [[nodiscard]] const ArenaBlock& at(int32_t k) const { return blocks_[static_cast<size_t>(k)]; }

  std::span<const ArenaBlock> blocks_;
  OverlapIndex index_;
  int64_t start_;
  std::vector<int32_t> placed_, neighbours_;
  std::vector<ArenaBlock> sorted_;  // all that are placed, by offset, while it is crowded
  int64_t work_ = 0;                // about nanoseconds
};

}  // namespace

std::optional<int64_t> place_blocks(std::span<ArenaBlock> blocks, int32_t steps) {
  size_t i = 0;
  int64_t reach = 0;
  // Blocks that are always needed lie one behind the other; there is no gap between them that
  // anything fits into, so they are one block to all others.
  for (; i < blocks.size(); ++i) {
    if (blocks[i].bytes == 0) continue;
    if (blocks[i].first != 0 || blocks[i].last != steps - 1) break;
    blocks[i].offset = aligned(reach);
    reach = blocks[i].offset + blocks[i].bytes;
  }
  Placer placer(blocks, std::max(steps, 1), reach);
  for (; i < blocks.size(); ++i) {
    if (blocks[i].bytes == 0) continue;
    if (!placer.place(i, blocks[i])) return std::nullopt;
    reach = std::max(reach, blocks[i].offset + blocks[i].bytes);
  }
  return reach;
}

}  // namespace edgesage
