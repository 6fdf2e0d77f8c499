// Block choices, remembered: searches and data sets price thousands of networks whose layers are
// mostly alike, and a choice takes up to thirty times as long as looking it up.
//
//   EthosBlockMemo memo;  // one a thread, as long as there are networks to price
//   EthosBlock block = memo.choose(array, kernel, ifm, ofm, ...);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "src/analysis/ethos_blocks.h"
#include "src/analysis/ethos_u85.h"

namespace edgesage {

// A function's values by its arguments, so that no answer depends on what was kept. Any targets may
// share one. Bounded: some 3 MB at most. Not synchronised.
class EthosBlockMemo {
 public:
  // choose_ethos_block of the same.
  [[nodiscard]] EthosBlock choose(const EthosArray& array, EthosKernel kernel, const Shape4& ifm,
                                  const Shape4& ofm, int64_t kernel_h, int64_t kernel_w,
                                  int64_t stride_h, int64_t stride_w, int64_t ifm_bits);
  // choose_u85_block of the same.
  [[nodiscard]] EthosBlock choose_u85(const U85Work& work);

  [[nodiscard]] size_t size() const { return known_.size(); }

 private:
  using Key = std::array<uint64_t, 5>;
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  template <class Choose>
  EthosBlock look_up(const Key& key, const Choose& choose_anew);

  std::unordered_map<Key, EthosBlock, KeyHash> known_;
};

}  // namespace edgesage
