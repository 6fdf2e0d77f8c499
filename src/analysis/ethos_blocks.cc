#include "src/analysis/ethos_blocks.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace edgesage {
namespace {

constexpr int64_t kLargestKernelSide = 8;  // larger kernels run in parts
constexpr int64_t kSplitDepth = 16;
constexpr int64_t kMaxH = 32, kMaxW = 64, kMaxC = 128;
constexpr int64_t kBankBytes = 1024;
constexpr int64_t kReservedBanks = 4;  // output and tables

int64_t divide_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }
int64_t round_up(int64_t value, int64_t unit) { return divide_up(value, unit) * unit; }

// Whether four taps of eight channels use the multipliers as well as 32 channels of one tap.
bool prefers_part_kernel(int64_t channels, int64_t taps, int64_t ifm_bits) {
  if (channels <= 8) return true;
  const int64_t depth_unit = ifm_bits == 8 ? 32 : 16, tap_unit = ifm_bits == 8 ? 4 : 2;
  return taps * round_up(channels, depth_unit) >= round_up(taps, tap_unit) * round_up(channels, 8);
}

class BlockSearch {
 public:
  BlockSearch(const EthosArray& array, EthosKernel kernel, const Shape4& ifm, const Shape4& ofm,
              int64_t kernel_h, int64_t kernel_w, int64_t stride_h, int64_t stride_w,
              int64_t ifm_bits)
      : array_(array),
        kernel_(kernel),
        ifm_(ifm),
        ofm_(ofm),
        kernel_h_(kernel_h),
        kernel_w_(kernel_w),
        stride_h_(stride_h),
        stride_w_(stride_w),
        ifm_bytes_(std::max<int64_t>(ifm_bits / 8, 1)),
        flat_(ofm.h == 1 && kernel_h == 1 && array.unit_h == 2 &&
              kernel != EthosKernel::kElementwise && kernel != EthosKernel::kSum &&
              kernel != EthosKernel::kMatrix) {
    const bool has_taps = kernel == EthosKernel::kDense || kernel == EthosKernel::kDepthwise;
    best_.part_kernel =
        kernel == EthosKernel::kDense && prefers_part_kernel(ifm.c, kernel_h * kernel_w, ifm_bits);
    taps_ = has_taps ? kernel_h * kernel_w : 0;
    repeats_ = divide_up(kernel_h, kLargestKernelSide) * divide_up(kernel_w, kLargestKernelSide);
    const int64_t widest = ifm_bits == 16 ? 16 : best_.part_kernel ? 16 : 32;
    pass_c_ = round_up(std::min(ifm.c, widest), ifm_bits == 16 ? 4 : 8);
  }

  EthosBlock run() {
    const int64_t max_c = round_up(std::min(ofm_.c, kMaxC), array_.unit_c);
    int64_t c = std::max<int64_t>(array_.unit_c, std::min(max_c, kSplitDepth));
    for (c = legal_depth(c); c <= max_c; c = legal_depth(c + array_.unit_c)) try_depth(c);
    return best_;
  }

 private:
  // Depths that split the output must be multiples of 16.
  int64_t legal_depth(int64_t c) const { return c < ofm_.c ? round_up(c, kSplitDepth) : c; }

  bool keeps_depth() const {
    return kernel_ == EthosKernel::kDepthwise || kernel_ == EthosKernel::kPooling ||
           kernel_ == EthosKernel::kElementwise;
  }

  void try_depth(int64_t c) {
    const int64_t max_h = round_up(std::min(ofm_.h, kMaxH), array_.unit_h);
    const int64_t max_w = round_up(std::min(ofm_.w, kMaxW), array_.unit_w);
    for (int64_t h = array_.unit_h; h <= max_h; h += array_.unit_h)
      for (int64_t w = array_.unit_w; w <= max_w; w += array_.unit_w) {
        EthosBlock block = best_;
        block.h = h, block.w = w, block.c = c;
        block.ifm_h = side(h, stride_h_, kernel_h_, array_.unit_h);
        block.ifm_w = side(w, stride_w_, kernel_w_, array_.unit_w);
        block.ifm_c = keeps_depth() ? c : pass_c_;
        if (!fits(block)) break;  // wider ones do not fit either
        consider(block);
      }
  }

  static int64_t side(int64_t outputs, int64_t stride, int64_t kernel, int64_t unit) {
    return round_up((outputs - 1) * stride + std::min(kernel, kLargestKernelSide), unit);
  }

  bool fits(const EthosBlock& block) const {
    const int64_t available = array_.banks - kReservedBanks;
    const int64_t bytes = block.ifm_h * block.ifm_w * round_up(block.ifm_c * ifm_bytes_, 8);
    const int64_t ifm_banks = round_up(divide_up(bytes, kBankBytes) * 2, array_.ifm_granule);
    if (kernel_ == EthosKernel::kElementwise) return 2 * ifm_banks <= available;
    const int64_t height = flat_ ? 1 : block.h;
    const int64_t sums = height * block.w * round_up(block.c, 8) * 4;
    return ifm_banks + round_up(divide_up(sums, kBankBytes) * 2, array_.sum_granule) <= available;
  }

  // Bytes fetched for each output element.
  double cost_of(const EthosBlock& block) const {
    const auto height = static_cast<double>(flat_ ? 1 : block.h);
    const double outputs = static_cast<double>(ofm_.h * ofm_.w * ofm_.c);
    if (kernel_ == EthosKernel::kElementwise)
      return outputs / static_cast<double>(block.h * block.w * block.c);
    const auto whole_blocks =
        static_cast<double>(divide_up(ofm_.h, flat_ ? 1 : block.h) * divide_up(ofm_.w, block.w));
    const double blocks = static_cast<double>(ofm_.h) / height * static_cast<double>(ofm_.w) /
                          static_cast<double>(block.w);
    double weights = static_cast<double>(taps_ * ifm_.c) * whole_blocks;
    if (kernel_ != EthosKernel::kDepthwise) weights *= static_cast<double>(ofm_.c);
    double inputs = static_cast<double>(block.ifm_h * block.ifm_w * ifm_.c * repeats_) * blocks;
    if (!keeps_depth()) inputs *= static_cast<double>(divide_up(ofm_.c, block.c));
    return (weights + inputs) / outputs;
  }

  // Both buffers together hold the whole input. Of products of matrices they seem to count thrice,
  // and of wide and deep ones never (fitted).
  bool holds_input(const EthosBlock& block) const {
    const bool matrix = kernel_ == EthosKernel::kMatrix;
    if (matrix && ifm_.w > kMaxW && ifm_.c > block.ifm_c) return false;
    const int64_t buffers = matrix ? 6 : 2;
    return ifm_.h * ifm_.w * ifm_.c < block.ifm_h * block.ifm_w * block.ifm_c * buffers;
  }

  void consider(const EthosBlock& block) {
    double cost = cost_of(block);
    if (holds_input(block)) cost /= 2;
    if (cost > best_cost_) return;
    if (cost == best_cost_) {  // of equals, small ones that cover more of the input
      const double coverage =
          static_cast<double>(ifm_.h * ifm_.w) /
          static_cast<double>(std::min(ifm_.h, block.ifm_h) * std::min(ifm_.w, block.ifm_w));
      if (block.h > 4 || block.w > 4 || coverage > best_coverage_) return;
      best_coverage_ = coverage;
    } else {
      best_coverage_ = std::numeric_limits<double>::infinity();
    }
    best_cost_ = cost;
    best_ = block;
  }

  const EthosArray& array_;
  EthosKernel kernel_;
  const Shape4& ifm_;
  const Shape4& ofm_;
  int64_t kernel_h_, kernel_w_, stride_h_, stride_w_, ifm_bytes_;
  bool flat_;
  int64_t taps_ = 0, repeats_ = 1, pass_c_ = 8;
  EthosBlock best_;
  double best_cost_ = std::numeric_limits<double>::infinity();
  double best_coverage_ = std::numeric_limits<double>::infinity();
};

// Sizes beyond any device, which would only overflow.
Shape4 sane(const Shape4& shape) {
  const auto clamp = [](int64_t value) { return std::clamp<int64_t>(value, 1, 1 << 15); };
  return {clamp(shape.n), clamp(shape.h), clamp(shape.w), clamp(shape.c)};
}

}  // namespace

EthosArray ethos_array(const Target& target) {
  EthosArray array;
  if (target.kind == TargetKind::kEthosU65 && target.macs_per_cycle == 512) array.cores = 2;
  if (target.kind != TargetKind::kEthosU55 || target.macs_per_cycle == 256) return array;
  array.unit_w = 1;
  array.banks = target.macs_per_cycle == 128 ? 24 : 16;
  array.ifm_granule = target.macs_per_cycle == 128 ? 4 : 2;
  array.sum_granule = target.macs_per_cycle == 128 ? 8 : 4;
  if (target.macs_per_cycle <= 64) array.unit_h = 1;
  if (target.macs_per_cycle <= 32) array.unit_c = 4;
  return array;
}

EthosBlock choose_ethos_block(const EthosArray& array, EthosKernel kernel, const Shape4& ifm,
                              const Shape4& ofm, int64_t kernel_h, int64_t kernel_w,
                              int64_t stride_h, int64_t stride_w, int64_t ifm_bits) {
  const auto small = [](int64_t value) { return std::clamp<int64_t>(value, 1, 4096); };
  const Shape4 in = sane(ifm), out = sane(ofm);
  return BlockSearch(array, kernel, in, out, small(kernel_h), small(kernel_w), small(stride_h),
                     small(stride_w), ifm_bits)
      .run();
}

}  // namespace edgesage
