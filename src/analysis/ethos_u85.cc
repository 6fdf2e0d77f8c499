#include "src/analysis/ethos_u85.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace edgesage {
namespace {

constexpr int64_t kInputBytes = 16384, kSums = 8192;  // buffers: of inputs, of 32-bit sums
constexpr int64_t kUnitC = 16, kMaxSide = 128, kMaxC = 1024, kLargestKernelSide = 8;

double real(int64_t value) { return static_cast<double>(value); }
int64_t divide_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }
int64_t round_up(int64_t value, int64_t unit) { return divide_up(value, unit) * unit; }

// Four taps at once of 16 channels, where that fills the multipliers better than 64 channels.
bool prefers_part_kernel(int64_t channels, int64_t taps) {
  const int64_t steps = taps / 5 * 5 + std::max<int64_t>(taps % 5, 2);
  const double part = real(channels) / real(round_up(channels, 16)) * real(taps) / real(steps);
  return part >= real(channels) / real(round_up(channels, 64));
}

struct Unit {
  int64_t h = 2, w = 2;
};

// Of 2 x 2 and 1 x 4 outputs at once, those that waste least.
Unit unit_of(const Shape4& ofm) {
  const int64_t square = round_up(ofm.h, 2) * round_up(ofm.w, 2);
  const int64_t flat = ofm.h * round_up(ofm.w, 4);
  return flat < square ? Unit{1, 4} : Unit{};
}

class Search {
 public:
  explicit Search(const U85Work& work) : w_(work), unit_(unit_of(work.ofm)) {
    best_.unit_h = unit_.h, best_.unit_w = unit_.w;
    taps_ = work.kernel_h * work.kernel_w;
    best_.part_kernel =
        work.kernel == EthosKernel::kDense && prefers_part_kernel(work.ifm.c, taps_);
    max_h_ = std::min(round_up(work.ofm.h, unit_.h), kMaxSide);
    max_w_ = std::min(round_up(work.ofm.w, unit_.w), kMaxSide);
    max_c_ = std::min(round_up(work.ofm.c, kUnitC), kMaxC);
  }

  // Dense rows: the block that moves least data, both buffers doubled.
  EthosBlock dense() {
    pass_c_ = best_.part_kernel ? 16 : w_.ifm_bits == 32 ? 32 : 64;
    for (int64_t copies = 2; copies > 0 && best_cost_ == kNone; --copies)
      for (int64_t c = kUnitC; c <= max_c_; c += kUnitC)
        for (int64_t h = unit_.h; h <= max_h_ && try_width(h, c, copies); h += unit_.h) {
        }
    return best_;
  }

  // Depthwise rows and pools: the largest area of the output's aspect that fits.
  EthosBlock by_area() {
    EthosBlock block = largest_area();
    while (!leaves_room_for_a_row(block) && shrink(block)) {
    }
    return block;
  }

 private:
  static constexpr double kNone = std::numeric_limits<double>::infinity();

  EthosBlock with_inputs(int64_t h, int64_t w, int64_t c) const {
    EthosBlock block = best_;
    block.h = h, block.w = w, block.c = c;
    const int64_t depth = pass_c_ > 0 ? pass_c_ : c;
    const int64_t bits = depth * w_.ifm_bits;
    // Buffers are handed out in four units of 128 bits: of pixels, or of one pixel's channels.
    const int64_t deep = bits > 256 ? 4 : bits > 128 ? 2 : 1;
    const int64_t step_h = deep == 1 ? unit_.h : 1;
    const int64_t step_w = std::max<int64_t>(4 / (deep * step_h), 1);
    const auto side = [](int64_t outputs, int64_t stride, int64_t extent) {
      return (outputs - 1) * stride + std::min(extent, kLargestKernelSide);
    };
    block.ifm_h = round_up(side(h, w_.stride_h, w_.extent_h), step_h);
    block.ifm_w = round_up(side(w, w_.stride_w, w_.extent_w), step_w);
    block.ifm_c = round_up(depth, deep * 128 / w_.ifm_bits);
    return block;
  }

  int64_t input_bytes(const EthosBlock& block) const {
    return block.ifm_h * block.ifm_w * block.ifm_c * w_.ifm_bits / 8;
  }

  // Whether any width fits.
  bool try_width(int64_t h, int64_t c, int64_t copies) {
    bool any = false;
    for (int64_t w = unit_.w; w <= max_w_; w += unit_.w) {
      const EthosBlock block = with_inputs(h, w, c);
      if (input_bytes(block) * copies > kInputBytes || h * w * c * copies > kSums) break;
      any = true;
      consider(block);
    }
    return any;
  }

  double cost_of(const EthosBlock& block) const {
    if (w_.kernel == EthosKernel::kVector) return 1.0 / real(block.h * block.w);
    const double repeats = real(divide_up(w_.extent_h, kLargestKernelSide) *
                                divide_up(w_.extent_w, kLargestKernelSide));
    const double areas = real(w_.ofm.h) / real(block.h) * real(w_.ofm.w) / real(block.w);
    const double whole = real(divide_up(w_.ofm.h, block.h) * divide_up(w_.ofm.w, block.w));
    const double weights = real(taps_) * real(w_.ifm.c) * real(w_.ofm.c) * whole;
    const double inputs = real(block.ifm_h * block.ifm_w) * real(w_.ifm.c) * repeats * areas *
                          real(divide_up(w_.ofm.c, block.c));
    return (weights + inputs) / real(w_.ofm.h * w_.ofm.w) * real(w_.ofm.c);
  }

  void consider(const EthosBlock& block) {
    // Single precision, as there: which costs are equal decides.
    double cost = static_cast<float>(cost_of(block));
    if (w_.ifm.h * w_.ifm.w * w_.ifm.c < 2 * block.ifm_h * block.ifm_w * block.ifm_c) cost /= 2;
    if (cost > best_cost_) return;
    if (cost == best_cost_) {
      const double coverage = real(w_.ifm.h * w_.ifm.w) / real(std::min(w_.ifm.h, block.ifm_h) *
                                                               std::min(w_.ifm.w, block.ifm_w));
      if (block.h > 4 || block.w > 4 || coverage > best_coverage_) return;
      best_coverage_ = coverage;
    } else {
      best_coverage_ = kNone;
    }
    best_cost_ = cost;
    best_ = block;
  }

  EthosBlock largest_area() {
    const int64_t most =
        std::min(std::max<int64_t>(512, kSums / (unit_.h * unit_.w * kUnitC)), max_c_);
    const bool deep = w_.extent_h == 1 && w_.extent_w == 1;
    const int64_t whole_h = round_up(w_.ofm.h, unit_.h), whole_w = round_up(w_.ofm.w, unit_.w);
    const double area = real(whole_w) * real(deep ? round_up(w_.ofm.c, kUnitC) : whole_h);
    EthosBlock best = with_inputs(unit_.h, unit_.w, kUnitC);
    double best_metric = kNone;
    for (int64_t c = kUnitC; c <= most; c += kUnitC) {
      const EthosBlock block = fit_area(c);
      if (block.h == 0) break;
      const double cover = 1 + std::abs(1 - area / real(block.w * (deep ? c : block.h)));
      const double metric = cover * (1 + std::abs(1 - real(max_c_) / real(c)) / 10);
      if (metric >= best_metric) continue;
      best_metric = metric;
      best = block;
      if (c >= w_.ofm.c && block.w >= whole_w && block.h >= whole_h)
        return with_inputs(whole_h, whole_w, round_up(w_.ofm.c, kUnitC));
    }
    return best;
  }

  // The widest regular tiling of rows of about the output's aspect; height 0 if none fits.
  EthosBlock fit_area(int64_t c) const {
    const int64_t whole_h = round_up(w_.ofm.h, unit_.h), whole_w = round_up(w_.ofm.w, unit_.w);
    const double aspect = real(whole_h) / real(whole_w);
    const int64_t least = unit_.h * unit_.w * kUnitC;
    int64_t sums = kSums;
    while (sums >= least) {
      double w = std::sqrt(real(sums / c) / aspect), h = w * aspect;
      if (h < 1) {
        w *= h, h = 1;
      } else if (w < 1) {
        h *= w, w = 1;
      }
      int64_t width = std::min(down(static_cast<int64_t>(w), unit_.w), max_w_);
      int64_t height = std::min(down(static_cast<int64_t>(h), unit_.h), max_h_);
      const int64_t both = width * height;
      if (width < whole_w) width = regular_tile(whole_w, width);
      height = down(both / width, unit_.h);
      const EthosBlock block = with_inputs(height, width, c);
      const double volume =
          real(w_.ifm.h * w_.ifm.w) * real(round_up(w_.ifm.c, kUnitC)) * real(w_.ifm_bits / 8);
      const double inputs = real(kInputBytes) / std::min(real(input_bytes(block)), volume);
      const double outputs = real(kSums) / real(width * height * c);
      if (inputs >= 1 && outputs >= 1) return block;
      if (inputs < 1 && outputs > 1) sums = std::min(sums, width * height * c);
      const double ratio = std::min(inputs * inputs, outputs);
      const auto next = static_cast<int64_t>(real(sums / least) * std::min(ratio, 1.0)) * least;
      sums = next >= sums ? sums - least : next;
    }
    EthosBlock none;
    none.h = 0;
    return none;
  }

  static int64_t down(int64_t value, int64_t unit) {
    return std::max(value / unit, int64_t{1}) * unit;
  }

  // The width up to `tile` whose last tile is fullest.
  int64_t regular_tile(int64_t range, int64_t tile) const {
    if (range % tile == 0) return tile;
    const int64_t even = std::max(round_up(range / (range / tile + 1), unit_.w), unit_.w);
    const int64_t first = std::max(std::max(even - 2 * unit_.w, (even + 1) / 2), unit_.w);
    int64_t best = tile, best_rest = range % tile;
    for (int64_t t = tile; t >= first; t -= unit_.w) {
      const int64_t rest = range % t == 0 ? t : range % t;
      if (rest > best_rest) best = t, best_rest = rest;
    }
    return best;
  }

  // More than one block: the next row's inputs are fetched during the one before.
  bool leaves_room_for_a_row(const EthosBlock& block) const {
    if (block.w >= w_.ofm.w && block.h >= w_.ofm.h && block.c >= w_.ofm.c) return true;
    const EthosBlock row = with_inputs(unit_.h, block.w, block.c);
    return kInputBytes - input_bytes(block) >= input_bytes(row);
  }

  bool shrink(EthosBlock& block) const {
    int64_t h = block.h, w = block.w, c = block.c;
    if (h < round_up(w_.ofm.h, unit_.h) && h > unit_.h)
      h -= unit_.h;
    else if (c > w && c > kUnitC)
      c -= kUnitC;
    else if (w < round_up(w_.ofm.w, unit_.w) && w > unit_.w)
      w -= unit_.w;
    else if (h > unit_.h)
      h -= unit_.h;
    else if (c > kUnitC)
      c -= kUnitC;
    else if (w > unit_.w)
      w -= unit_.w;
    else
      return false;
    block = with_inputs(h, w, c);
    return true;
  }

  const U85Work& w_;
  Unit unit_;
  int64_t taps_ = 1, pass_c_ = 0, max_h_ = 1, max_w_ = 1, max_c_ = 1;
  EthosBlock best_;
  double best_cost_ = kNone, best_coverage_ = kNone;
};

// Multiplier cycles of one block.
double array_cycles(const U85Work& work, const EthosBlock& block, int64_t units, int64_t deep) {
  constexpr int64_t kDecode = 32;  // of the weights of one step
  const int64_t passed = std::min(block.ifm_c, work.ifm.c),
                bytes = std::max<int64_t>(work.ifm_bits / 8, 1);
  int64_t cycles = 0;
  for (int64_t y = 0; y < work.kernel_h; y += kLargestKernelSide)
    for (int64_t x = 0; x < work.kernel_w; x += kLargestKernelSide) {
      const int64_t taps = std::min(work.kernel_h - y, kLargestKernelSide) *
                           std::min(work.kernel_w - x, kLargestKernelSide);
      int64_t steps = taps, groups = 1;
      if (work.kernel == EthosKernel::kPooling) {
        steps = 1;
        cycles += std::max<int64_t>(taps, 4) * units * deep * 4 * bytes;
      } else if (work.kernel == EthosKernel::kDepthwise) {
        steps = divide_up(taps, 4);
        cycles += std::max(kDecode, 4 * units * bytes) * steps * deep;
      } else if (block.part_kernel) {
        steps = divide_up(taps, bytes == 2 ? 2 : 4);
        groups = divide_up(passed, 8);
        cycles += std::max(kDecode, 4 * units) * steps * deep * groups;
      } else {
        cycles += std::max(kDecode, passed / 8 * units) * steps * deep * bytes;
      }
      if (units == 1) cycles += 2 * groups * (deep == 1 ? steps : (steps - 1) * deep);
    }
  // Two weights of four are zeros: half the multiplications.
  const bool sparse = work.kernel == EthosKernel::kDense && work.ifm.c <= 2;
  if (sparse) cycles /= 2;
  const bool passes = work.kernel == EthosKernel::kDense || work.kernel == EthosKernel::kVector;
  return real(cycles) * (passes ? real(divide_up(work.ifm.c, passed)) : 1.0);
}

struct Channel {
  double bytes, rate;
};

double slowest(std::initializer_list<Channel> channels, double memory_rate) {
  double all = 0, cycles = 0;
  for (const Channel& c : channels) {
    all += c.bytes;
    cycles = std::max(cycles, c.bytes / c.rate);
  }
  return std::max(cycles, all / memory_rate);
}

}  // namespace

EthosBlock choose_u85_block(const U85Work& work) {
  Search search(work);
  const bool dense = work.kernel == EthosKernel::kDense || work.kernel == EthosKernel::kVector;
  return dense ? search.dense() : search.by_area();
}

double u85_array_cycles(const U85Work& work, const EthosBlock& block) {
  const int64_t units = divide_up(std::min(block.h, work.ofm.h), block.unit_h) *
                        divide_up(std::min(block.w, work.ofm.w), block.unit_w);
  return array_cycles(work, block, units, divide_up(std::min(block.c, work.ofm.c), kUnitC));
}

double u85_compute_cycles(const U85Work& work, const EthosBlock& block, double scale_latency) {
  constexpr double kOutput = 0.125, kLatency = 32, kSramBytes = 32;
  const int64_t h = std::min(block.h, work.ofm.h), w = std::min(block.w, work.ofm.w),
                c = std::min(block.c, work.ofm.c);
  const int64_t units = divide_up(h, block.unit_h) * divide_up(w, block.unit_w);
  const int64_t deep = divide_up(c, kUnitC);
  const double blocks = real(divide_up(work.ofm.h, block.unit_h)) *
                        real(divide_up(work.ofm.w, block.unit_w)) *
                        real(divide_up(work.ofm.c, kUnitC)) / real(units * deep);
  const double multiply = array_cycles(work, block, units, deep);
  const double outputs = real(h * w * c);
  const double output = std::max(std::ceil(kOutput * outputs), 10 * real(c) * scale_latency / 256);
  const double inputs = real(std::min(block.ifm_h, work.ifm.h) * std::min(block.ifm_w, work.ifm.w) *
                             std::min(block.ifm_c, work.ifm.c));
  const double memory = 2 * kLatency + (inputs + outputs) / kSramBytes;
  const double command = (memory + multiply + output) / 4;
  const double array = std::max(multiply, command), stage = std::max(output, command);
  return std::max(array, stage) * blocks + std::min(array, stage);
}

double u85_read_burst(const EthosBlock& block, int64_t channels, double width, bool linear) {
  if (!linear) return 16 * width * real(block.ifm_w);
  const double pixel = real(channels) * width;
  return (pixel == real(block.ifm_c) ? real(block.ifm_w) : 1.0) * real(block.ifm_c) * width;
}

double u85_write_burst(const EthosBlock& block, int64_t channels, double width, bool linear) {
  if (!linear) return 16 * width * real(block.w);
  if (block.c <= 16 && real(channels) * width == real(block.c))
    return width * real(block.w * block.c);
  return std::min(16 * width, real(block.c) * width);
}

// What a channel can have under way, at the latency of the memory (Vela's SYS_DRAM_Mid).
double u85_dram_cycles(const U85Transfers& b) {
  return slowest({{b.read, 3.2768},
                  {b.streamed, 3.2768},
                  {b.written, 10.48576},
                  {b.copied, 3.2768},
                  {b.weights, 6.5536},
                  {b.scales, 0.4096}},
                 12);
}

double u85_sram_cycles(const U85Transfers& b) {
  constexpr double kRate = 20.48;
  return slowest({{b.read, kRate},
                  {b.streamed, kRate},
                  {b.written, kRate},
                  {b.copied, kRate},
                  {b.weights, kRate},
                  {b.scales, 6.4}},
                 32);
}

}  // namespace edgesage
