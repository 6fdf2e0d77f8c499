#include "src/analysis/ethos_block_memo.h"

#include <gtest/gtest.h>

#include "src/base/rng.h"

namespace edgesage {
namespace {

bool equal(const EthosBlock& a, const EthosBlock& b) {
  return a.h == b.h && a.w == b.w && a.c == b.c && a.ifm_h == b.ifm_h && a.ifm_w == b.ifm_w &&
         a.ifm_c == b.ifm_c && a.part_kernel == b.part_kernel && a.unit_h == b.unit_h &&
         a.unit_w == b.unit_w;
}

struct Asked {
  EthosArray array;
  U85Work work;
};

// Few values of each, so that the same is asked again and what differs in one of them as well.
Asked draw(Rng& rng) {
  const auto one_of = [&](std::initializer_list<int64_t> values) {
    return values.begin()[rng.integer(0, static_cast<int64_t>(values.size()) - 1)];
  };
  Asked asked;
  Target target{.kind = TargetKind::kEthosU55,
                .macs_per_cycle = static_cast<int32_t>(one_of({32, 64, 128, 256})),
                .name = {}};
  if (rng.chance(0.3)) target = {TargetKind::kEthosU65, 512, {}};
  asked.array = ethos_array(target);
  asked.work.kernel = static_cast<EthosKernel>(rng.integer(0, 4));
  asked.work.ifm = {1, one_of({1, 8, 15}), one_of({1, 8, 16}), one_of({3, 16, 40})};
  asked.work.ofm = {1, one_of({1, 8, 15}), one_of({1, 8, 16}), one_of({3, 16, 40})};
  asked.work.kernel_h = asked.work.extent_h = one_of({1, 3});
  asked.work.kernel_w = asked.work.extent_w = one_of({1, 3, 9});
  asked.work.stride_h = asked.work.stride_w = one_of({1, 2});
  asked.work.ifm_bits = one_of({8, 16});
  return asked;
}

TEST(EthosBlockMemo, SaysWhatTheSearchSays) {
  Rng rng(1);
  EthosBlockMemo memo;
  for (int i = 0; i < 4000; ++i) {
    const auto [array, w] = draw(rng);
    EXPECT_TRUE(equal(memo.choose(array, w.kernel, w.ifm, w.ofm, w.kernel_h, w.kernel_w, w.stride_h,
                                  w.stride_w, w.ifm_bits),
                      choose_ethos_block(array, w.kernel, w.ifm, w.ofm, w.kernel_h, w.kernel_w,
                                         w.stride_h, w.stride_w, w.ifm_bits)));
    if (i % 4 == 0) {
      EXPECT_TRUE(equal(memo.choose_u85(w), choose_u85_block(w)));
    }
  }
  EXPECT_GT(memo.size(), 100U);
}

TEST(EthosBlockMemo, RemembersALayerOnceAndNothingBeyondItsKeys) {
  EthosBlockMemo memo;
  const EthosArray array;
  const Shape4 shape{1, 8, 8, 32}, vast{1, int64_t{1} << 40, 8, 32}, negative{1, -4, 8, 32};
  for (int i = 0; i < 3; ++i) {
    (void)memo.choose(array, EthosKernel::kDense, shape, shape, 3, 3, 1, 1, 8);
    (void)memo.choose_u85({.ifm = shape, .ofm = shape});
  }
  EXPECT_EQ(memo.size(), 2U);
  for (const Shape4& strange : {vast, negative}) {
    EXPECT_TRUE(
        equal(memo.choose(array, EthosKernel::kDense, strange, shape, 3, 3, 1, 1, 8),
              choose_ethos_block(array, EthosKernel::kDense, strange, shape, 3, 3, 1, 1, 8)));
  }
  EXPECT_EQ(memo.size(), 2U);
}

TEST(EthosBlockMemo, IsBounded) {
  EthosBlockMemo memo;
  const EthosArray array;
  for (int64_t c = 1; c <= 20'000; ++c)
    (void)memo.choose(array, EthosKernel::kElementwise, {1, 1, 1, c}, {1, 1, 1, c}, 1, 1, 1, 1, 8);
  EXPECT_LE(memo.size(), 16'384U);
}

}  // namespace
}  // namespace edgesage
