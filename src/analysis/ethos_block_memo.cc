#include "src/analysis/ethos_block_memo.h"

#include <algorithm>
#include <initializer_list>

namespace edgesage {
namespace {

constexpr size_t kMostKnown = 16'384;
constexpr uint64_t kU85 = ~uint64_t{0};  // in place of an array's fields, which are seven bytes

// Fields side by side in one word. Whether each is small enough for its place is the caller's.
template <int kBits>
uint64_t packed(std::initializer_list<int64_t> fields) {
  uint64_t word = 0;
  for (const int64_t field : fields) word = word << kBits | static_cast<uint64_t>(field);
  return word;
}

uint64_t packed(const Shape4& shape) { return packed<21>({shape.h, shape.w, shape.c}); }

bool fits(std::initializer_list<int64_t> fields, int64_t end) {
  return std::ranges::all_of(fields, [&](int64_t field) { return field >= 0 && field < end; });
}

bool fits(const Shape4& shape) { return fits({shape.h, shape.w, shape.c}, 1 << 21); }

}  // namespace

size_t EthosBlockMemo::KeyHash::operator()(const Key& key) const {
  uint64_t hash = 0;
  for (const uint64_t part : key) {
    hash = (hash ^ part) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return hash;
}

template <class Choose>
EthosBlock EthosBlockMemo::look_up(const Key& key, const Choose& choose_anew) {
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  if (known_.size() >= kMostKnown) known_.clear();
  return known_.emplace(key, choose_anew()).first->second;
}

EthosBlock EthosBlockMemo::choose(const EthosArray& array, EthosKernel kernel, const Shape4& ifm,
                                  const Shape4& ofm, int64_t kernel_h, int64_t kernel_w,
                                  int64_t stride_h, int64_t stride_w, int64_t ifm_bits) {
  const auto choose_anew = [&] {
    return choose_ethos_block(array, kernel, ifm, ofm, kernel_h, kernel_w, stride_h, stride_w,
                              ifm_bits);
  };
  if (!fits(ifm) || !fits(ofm) ||
      !fits({kernel_h, kernel_w, stride_h, stride_w, ifm_bits}, 1 << 16))
    return choose_anew();
  const Key key{packed(ifm), packed(ofm), packed<16>({kernel_h, kernel_w, stride_h, stride_w}),
                packed<16>({ifm_bits, static_cast<int64_t>(kernel)}),
                packed<8>({array.unit_h, array.unit_w, array.unit_c, array.cores, array.banks,
                           array.ifm_granule, array.sum_granule})};
  return look_up(key, choose_anew);
}

EthosBlock EthosBlockMemo::choose_u85(const U85Work& work) {
  const auto choose_anew = [&] { return choose_u85_block(work); };
  if (!fits(work.ifm) || !fits(work.ofm) || work.ifm.n != 1 || work.ofm.n != 1 ||
      !fits({work.kernel_h, work.kernel_w, work.extent_h, work.extent_w, work.stride_h,
             work.stride_w, work.ifm_bits},
            1 << 16))
    return choose_anew();
  const Key key{
      packed(work.ifm), packed(work.ofm),
      packed<16>({work.kernel_h, work.kernel_w, work.stride_h, work.stride_w}),
      packed<16>({work.ifm_bits, static_cast<int64_t>(work.kernel), work.extent_h, work.extent_w}),
      kU85};
  return look_up(key, choose_anew);
}

}  // namespace edgesage
