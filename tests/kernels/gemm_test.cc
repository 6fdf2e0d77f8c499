#include "src/kernels/gemm.h"

#include "tests/kernels/kernel_test.h"

namespace edgesage::kernels {
namespace {

struct Sum {
  double value = 0;
  double magnitude = 0;
  void add(double term) {
    value += term;
    magnitude += std::abs(term);
  }
};

std::string where(int64_t i, int64_t j) {
  return "row " + std::to_string(i) + " column " + std::to_string(j);
}

TEST(Gemm, EqualsSumsInDouble) {
  for_each_target_and_seed([](Rng& rng) {
    const int64_t m = random_size(rng, 40), k = random_size(rng, 150), n = random_size(rng, 100);
    TestMatrix a(rng, m, k), b(rng, k, n), c(rng, m, n);
    std::vector<float> bias = random_floats(rng, n);
    GemmOptions options{.bias = rng.chance(0.5) ? bias.data() : nullptr, .relu = rng.chance(0.5)};
    PackedMatrix packed;
    packed.pack(b.view());
    gemm(a.view(), packed, options, c.view());
    EXPECT_TRUE(c.gaps_untouched());
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        Sum sum;
        for (int64_t l = 0; l < k; ++l) sum.add(double{a.at(i, l)} * double{b.at(l, j)});
        if (options.bias != nullptr) sum.add(bias[static_cast<size_t>(j)]);
        const double expected = options.relu ? std::max(0.0, sum.value) : sum.value;
        expect_close(c.at(i, j), expected, sum.magnitude, where(i, j));
      }
    }
  });
}

TEST(Gemm, TwoBlocksOfColumnsEqualTheirConcatenationBitForBit) {
  for_each_target_and_seed([](Rng& rng) {
    const int64_t m = random_size(rng, 40), n = random_size(rng, 70);
    const int64_t k = random_size(rng, 90), first = rng.integer(0, k);
    TestMatrix a(rng, m, k), b(rng, k, n), c(m, n, 0, 0.0f), expected = c;
    PackedMatrix packed;
    packed.pack(b.view());
    gemm(a.view(), packed, {.relu = true}, expected.view());
    gemm(a.view().columns(0, first), a.view().columns(first, k - first), packed, {.relu = true},
         c.view());
    EXPECT_EQ(c.values, expected.values);
  });
}

TEST(Gemm, TransposedPackingMultipliesByTheTranspose) {
  for_each_target_and_seed([](Rng& rng) {
    const int64_t m = random_size(rng, 20), k = random_size(rng, 70), n = random_size(rng, 70);
    TestMatrix a(rng, m, k), b(rng, n, k), transposed(k, n, 0, 0.0f);
    TestMatrix c(m, n, 3, 1.0f), expected(m, n, 0, 2.0f);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < k; ++j) transposed.at(j, i) = b.at(i, j);
    PackedMatrix packed;
    packed.pack_transposed(b.view());
    gemm(a.view(), packed, {}, c.view());
    packed.pack(transposed.view());
    gemm(a.view(), packed, {}, expected.view());
    EXPECT_TRUE(c.gaps_untouched());
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) EXPECT_EQ(c.at(i, j), expected.at(i, j)) << where(i, j);
  });
}

TEST(Gemm, WeightGradientEqualsSumsInDouble) {
  for_each_target_and_seed([](Rng& rng) {
    const int64_t m = random_size(rng, 300), k = random_size(rng, 40), n = random_size(rng, 70);
    TestMatrix x(rng, m, k), dy(rng, m, n), dw(rng, k, n);
    TestMatrix before = dw;
    PackedMatrix packed;
    packed.pack(dy.view());
    gemm_transposed_accumulate(x.view(), packed, dw.view());
    EXPECT_TRUE(dw.gaps_untouched());
    for (int64_t i = 0; i < k; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        Sum sum;
        sum.add(before.at(i, j));
        for (int64_t r = 0; r < m; ++r) sum.add(double{x.at(r, i)} * double{dy.at(r, j)});
        expect_close(dw.at(i, j), sum.value, sum.magnitude, where(i, j));
      }
    }
  });
}

TEST(Gemm, ResultOfARowDoesNotDependOnOtherRows) {
  for_each_target_and_seed([](Rng& rng) {
    const int64_t m = random_size(rng, 30), k = random_size(rng, 60), n = random_size(rng, 60);
    TestMatrix a(rng, m, k), b(rng, k, n), c(m, n, 0, 0.0f), alone(1, n, 0, 0.0f);
    PackedMatrix packed;
    packed.pack(b.view());
    gemm(a.view(), packed, {}, c.view());
    const int64_t row = rng.integer(0, m - 1);
    gemm({a.view().row(row), 1, k, a.stride}, packed, {}, alone.view());
    for (int64_t j = 0; j < n; ++j) EXPECT_EQ(alone.at(0, j), c.at(row, j)) << where(row, j);
  });
}

TEST(Gemm, NoRowsWritesNothing) {
  Rng rng(1);
  TestMatrix b(rng, 7, 5);
  PackedMatrix packed;
  packed.pack(b.view());
  gemm({nullptr, 0, 7, 7}, packed, {}, {nullptr, 0, 5, 5});
  TestMatrix dw(7, 5, 0, 2.0f);
  packed.pack({nullptr, 0, 5, 5});
  gemm_transposed_accumulate({nullptr, 0, 7, 7}, packed, dw.view());
  EXPECT_EQ(dw.at(3, 3), 2.0f);
}

}  // namespace
}  // namespace edgesage::kernels
