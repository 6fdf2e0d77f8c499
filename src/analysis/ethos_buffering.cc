#include "src/analysis/ethos_buffering.h"

#include <algorithm>
#include <cmath>

namespace edgesage {
namespace {

constexpr int64_t kStep = 16;          // channels
constexpr double kStartCycles = 1000;  // of a copy that may keep the network waiting

double real(int64_t value) { return static_cast<double>(value); }
int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }
int64_t round_down(int64_t value, int64_t unit) { return value / unit * unit; }

struct Slices {
  int64_t first = 0, later = 0, last = 0, count = 1;
};

class Decision {
 public:
  explicit Decision(const EthosBufferCase& row) : r_(row) {
    copy_ = ethos_copy_cycles(r_.memories, r_.bytes);
    const double times = r_.refetches * r_.stripes;
    unmoved_ = ethos_weight_read_cycles(r_.memories.slow, r_.bytes) * times;
    moved_ = ethos_weight_read_cycles(r_.memories.fast, r_.bytes) * times;
    run_dominates_ = r_.run > unmoved_;
    least_copy_ = copy_ * real(std::min(r_.depth, kStep)) / real(r_.depth);
    may_be_early_ = !r_.is_first && (!r_.in_cascade || r_.starts_cascade);
    forced_ =
        !r_.after_npu && times > 1 && (least_copy_ < unmoved_ / 10 || least_copy_ <= kStartCycles);
  }

  EthosBuffering decide() {
    if (r_.bytes <= 0 || moved_ >= unmoved_) return {};
    const bool slices = r_.splits && !r_.in_cascade && wants_slices();
    if (!slices && !takes_all()) return {};
    slices_ = slices ? cut() : Slices{.first = r_.depth};
    if (slices_.count > 2) {
      const double filled = real(slices_.later) / real(round_up(slices_.later, r_.block_depth));
      if (filled < 0.3 && run_dominates_) return {};
    }
    if (!place()) return {};
    estimate();
    if (!pays()) return {};
    result_.first = slices_.first, result_.later = slices_.later, result_.last = slices_.last;
    result_.slices = slices_.count;
    result_.early = may_be_early_ && result_.part[0] < r_.slack_room;
    result_.copy_cycles = copy_;
    return result_;
  }

 private:
  double visible_copy() const { return std::max(copy_ - r_.slack, 0.0); }

  bool wants_slices() const {
    const int64_t expected = r_.depth / std::max<int64_t>(r_.block_depth, 1);
    const bool reads_again = r_.refetches * r_.stripes > 1;
    return forced_ || moved_ + visible_copy() < unmoved_ || expected > 2 ||
           (may_be_early_ && least_copy_ < r_.slack && reads_again);
  }

  bool takes_all() const {
    if (r_.bytes > r_.room || (r_.splits && !r_.in_cascade)) return false;
    const bool hidden =
        visible_copy() < copy_ / 20 || std::ceil(visible_copy() / r_.stripes) < kStartCycles;
    return (hidden || forced_) && (moved_ + visible_copy() < unmoved_ || !run_dominates_);
  }

  double first_share() const {
    const double least = std::min(real(kStep) / real(r_.depth), 1.0);
    const double half_room = std::min(std::floor(r_.room / 2) / r_.bytes, 1.0);
    const double in_time = std::min(r_.slack / copy_, 1.0);
    const double aligned = std::floor(in_time / least) * least;
    double share = 1 - aligned < least / 2 ? 1.0 : in_time;
    if (run_dominates_ && share > 0.5 && share < 1) {
      const auto half = static_cast<int64_t>(real(r_.depth) * 0.5);
      share = std::clamp(real(round_up(half, kStep)) / real(r_.depth), 0.5, 1.0);
    }
    return std::min(std::max(share, least), half_room);
  }

  double bytes_of(int64_t channels) const {
    return std::ceil(r_.bytes * real(channels) / real(r_.depth) / 16) * 16;
  }

  Slices sliced(int64_t first, int64_t later) const {
    Slices s{.first = first, .later = later};
    const int64_t rest = r_.depth - first;
    const int64_t count = (rest + later - 1) / later;
    s.last = rest - (count - 1) * later;
    s.count = count + 1;
    return s;
  }

  Slices cut() const {
    const double share = first_share();
    if (share >= 1) return {.first = r_.depth};
    int64_t first =
        std::max(round_down(static_cast<int64_t>(real(r_.depth) * share), kStep), kStep);
    if (first >= r_.depth) return {.first = r_.depth};
    const double half_room = std::floor(r_.room / 2);
    auto later =
        static_cast<int64_t>(std::min(real(r_.depth) * r_.cycles(first, true, false) / copy_, 1e9));
    later = round_up(std::max(later, kStep), std::max<int64_t>(r_.block_depth, 1));
    if (real(later) / real(r_.depth) * r_.bytes > half_room)
      later = static_cast<int64_t>(half_room / r_.bytes * real(r_.depth));
    while (later > 0) {
      later = std::max(round_down(later, later > r_.block_depth ? r_.block_depth : kStep), kStep);
      const double largest = bytes_of(std::max(first, std::min(later, r_.depth - first)));
      if (largest <= half_room || (first == kStep && later == kStep)) break;
      if (later > first)
        later = round_up(later / 2, kStep);
      else
        first = round_up(first / 2, kStep);
    }
    return later > 0 ? sliced(first, later) : Slices{.first = r_.depth};
  }

  // Odd and even slices have a place each.
  bool place() {
    if (slices_.count > 1) {
      const double even = bytes_of(slices_.count == 2   ? slices_.first
                                   : slices_.count == 3 ? std::max(slices_.first, slices_.last)
                                                        : std::max(slices_.first, slices_.later));
      const double odd = bytes_of(slices_.count == 2 ? slices_.last : slices_.later);
      if (even + odd <= r_.room) {
        result_.parts = 2;
        result_.part[0] = even, result_.part[1] = odd;
        return true;
      }
      if (std::max(even, odd) > r_.room) return false;
      result_.part[0] = std::max(even, odd);
    } else {
      if (r_.bytes > r_.room) return false;
      result_.part[0] = r_.bytes;
    }
    result_.parts = 1;
    return true;
  }

  int64_t depth_of(int64_t slice) const {
    if (slice == 0) return slices_.first;
    return slice + 1 == slices_.count ? slices_.last : slices_.later;
  }

  void estimate() {
    double slack = may_be_early_ && result_.part[0] < r_.slack_room ? r_.slack
                   : forced_                                        ? kStartCycles
                                                                    : 0;
    double run = 0;
    const auto one = [&](int64_t depth, bool starts, bool ends, double times) {
      const double cycles = r_.cycles(depth, starts, ends);
      const double copy = ethos_copy_cycles(r_.memories, bytes_of(depth));
      visible_ += std::max(copy - slack, 0.0);
      slack = result_.parts == 2 ? cycles : 0;
      visible_ += std::max(copy - slack, 0.0) * (times - 1);
      run += cycles * times;
      ifm_read_ += r_.ifm_bytes_of(depth) * times;
      result_.last_cycles = cycles;
    };
    one(slices_.first, true, slices_.count == 1, 1);
    if (slices_.count > 2) one(slices_.later, false, false, real(slices_.count - 2));
    if (slices_.count > 1) one(slices_.last, false, true, 1);
    full_run_ = std::floor(r_.stripes * run) + visible_;
    const double fetches = real(slices_.count) * r_.refetches;
    weight_cycles_ = r_.stripes * fetches *
                     ethos_weight_read_cycles(r_.memories.fast, r_.bytes / real(slices_.count));
    ifm_read_ *= r_.stripes;
  }

  bool pays() const {
    const double slow_ifm = ethos_map_read_cycles(r_.memories.slow, ifm_read_);
    double ifm = r_.in_cascade && !r_.starts_cascade
                     ? ethos_map_read_cycles(r_.memories.fast, ifm_read_)
                     : slow_ifm;
    const double room_for_ifm = r_.slack_room;
    if (r_.ifm_moves && !(r_.in_cascade && !r_.starts_cascade)) {
      const bool both = r_.ifm_bytes + result_.bytes() <= r_.room;
      const double ifm_instead =
          std::max({r_.run, unmoved_, ethos_map_read_cycles(r_.memories.fast, r_.ifm_read)});
      const double weights = std::max({full_run_, weight_cycles_, ifm});
      if (!both && r_.ifm_bytes < room_for_ifm && ifm_instead < weights && ifm_instead < ifm)
        return false;
      if (leaves_room_for_next(ifm)) return false;
      if (both) ifm = ethos_map_read_cycles(r_.memories.fast, ifm_read_);
    }
    const double before = std::max({r_.run, unmoved_, ifm});
    double after = std::max({full_run_, weight_cycles_, ifm});
    if (run_dominates_) {
      const bool run_only = full_run_ == after;
      if (visible_ / real(slices_.count) < kStartCycles) after -= visible_;
      if (slices_.count > 1 && run_only && forced_) after -= real(slices_.count) * kStartCycles / 2;
    }
    const bool once = r_.refetches * r_.stripes <= 1;
    return before >= after && !(once && copy_ + weight_cycles_ > before);
  }

  // The next row's input is worth more than these weights.
  bool leaves_room_for_next(double ifm) const {
    if (r_.next_weight_cycles <= 0) return false;
    const bool run_dominates_next =
        r_.next_run > r_.next_weight_cycles && r_.next_run > r_.next_ifm_cycles;
    if (run_dominates_next || r_.next_ifm_cycles <= 2 * r_.next_weight_cycles) return false;
    if (r_.next_ifm_bytes >= r_.room) return false;
    if (r_.next_ifm_bytes + r_.ifm_bytes + result_.bytes() <= r_.slack_room) return false;
    return (r_.run > unmoved_ && r_.run > ifm) || r_.next_ifm_cycles > ifm;
  }

  const EthosBufferCase& r_;
  double copy_ = 0, unmoved_ = 0, moved_ = 0, least_copy_ = 0;
  bool run_dominates_ = false, may_be_early_ = false, forced_ = false;
  Slices slices_;
  double visible_ = 0, full_run_ = 0, weight_cycles_ = 0, ifm_read_ = 0;
  EthosBuffering result_;
};

}  // namespace

EthosBuffering ethos_buffering(const EthosBufferCase& row) { return Decision(row).decide(); }

}  // namespace edgesage
