#include "src/kernels/gemm_bf16.h"

#include <bit>

#include "tests/kernels/kernel_test.h"

namespace edgesage::kernels {
namespace {

// The nearest number with 8 bits of mantissa, ties to the even one: by trying both neighbours.
double rounded(float value) {
  const uint32_t below = std::bit_cast<uint32_t>(value) & 0xffff0000u;
  const double low = std::bit_cast<float>(below), high = std::bit_cast<float>(below + 0x10000u);
  const double to_low = std::abs(value - low), to_high = std::abs(high - value);
  if (to_low != to_high) return to_low < to_high ? low : high;
  return (below >> 16) % 2 == 0 ? low : high;
}

TEST(GemmBf16, EqualsSumsInDoubleOfRoundedFactors) {
  for_each_target_and_seed([](Rng& rng) {
    const int64_t m = random_size(rng, 30), k = random_size(rng, 150), n = random_size(rng, 100);
    const int64_t first = rng.integer(0, k);
    TestMatrix a(rng, m, k), b(rng, k, n), c(rng, m, n);
    std::vector<float> bias = random_floats(rng, n);
    const GemmOptions options{.bias = rng.chance(0.5) ? bias.data() : nullptr,
                              .relu = rng.chance(0.5)};
    PackedBf16 packed;
    packed.pack(b.view());
    AlignedPairs scratch(7, 0xffffffffu);
    gemm_bf16(a.view().columns(0, first), a.view().columns(first, k - first), packed, options,
              scratch, c.view());
    EXPECT_TRUE(c.gaps_untouched());
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = options.bias != nullptr ? bias[static_cast<size_t>(j)] : 0.0;
        double magnitude = std::abs(sum);
        for (int64_t l = 0; l < k; ++l) {
          const double term = rounded(a.at(i, l)) * rounded(b.at(l, j));
          sum += term;
          magnitude += std::abs(term);
        }
        expect_close(c.at(i, j), options.relu ? std::max(0.0, sum) : sum, magnitude,
                     "row " + std::to_string(i) + " column " + std::to_string(j));
      }
    }
  });
}

TEST(GemmBf16, ResultOfARowDoesNotDependOnOtherRows) {
  for_each_target_and_seed([](Rng& rng) {
    const int64_t m = random_size(rng, 30), k = random_size(rng, 60), n = random_size(rng, 60);
    TestMatrix a(rng, m, k), b(rng, k, n), c(m, n, 0, 0.0f), alone(1, n, 0, 0.0f);
    PackedBf16 packed;
    packed.pack(b.view());
    AlignedPairs scratch;
    gemm_bf16(a.view(), {}, packed, {}, scratch, c.view());
    const int64_t row = rng.integer(0, m - 1);
    gemm_bf16({a.view().row(row), 1, k, a.stride}, {}, packed, {}, scratch, alone.view());
    for (int64_t j = 0; j < n; ++j) EXPECT_EQ(alone.at(0, j), c.at(row, j));
  });
}

}  // namespace
}  // namespace edgesage::kernels
