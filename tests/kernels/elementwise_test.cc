#include "src/kernels/elementwise.h"

#include "tests/kernels/kernel_test.h"

namespace edgesage::kernels {
namespace {

TEST(Elementwise, AddMultiplyAndReluBackward) {
  for_each_target_and_seed([](Rng& rng) {
    const int64_t rows = random_size(rng, 12), cols = random_size(rng, 70);
    TestMatrix from(rng, rows, cols), to(rng, rows, cols);
    TestMatrix sum = to, product = to, clipped = to;
    add(from.view(), sum.view());
    multiply(from.view(), product.view());
    relu_backward(from.view(), clipped.view());
    EXPECT_TRUE(sum.gaps_untouched() && product.gaps_untouched() && clipped.gaps_untouched());
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < cols; ++j) {
        EXPECT_EQ(sum.at(i, j), to.at(i, j) + from.at(i, j));
        EXPECT_EQ(product.at(i, j), to.at(i, j) * from.at(i, j));
        EXPECT_EQ(clipped.at(i, j), from.at(i, j) > 0 ? to.at(i, j) : 0.0f);
      }
  });
}

TEST(Elementwise, ColumnSums) {
  for_each_target_and_seed([](Rng& rng) {
    const int64_t rows = random_size(rng, 40), cols = random_size(rng, 70);
    TestMatrix values(rng, rows, cols);
    std::vector<float> sums = random_floats(rng, cols);
    const std::vector<float> before = sums;
    add_column_sums(values.view(), sums.data());
    for (int64_t j = 0; j < cols; ++j) {
      const auto at = static_cast<size_t>(j);
      double sum = before[at], magnitude = std::abs(sum);
      for (int64_t i = 0; i < rows; ++i) {
        sum += values.at(i, j);
        magnitude += std::abs(values.at(i, j));
      }
      expect_close(sums[at], sum, magnitude, "column " + std::to_string(j));
    }
  });
}

TEST(Elementwise, MovingAverage) {
  for_each_target_and_seed([](Rng& rng) {
    const int64_t count = random_size(rng, 100);
    const auto values = random_floats(rng, count);
    auto average = random_floats(rng, count);
    const auto before = average;
    move_average(count, values.data(), 0.25f, average.data());
    for (size_t i = 0; i < values.size(); ++i)
      expect_close(average[i], 0.75 * double{before[i]} + 0.25 * double{values[i]}, 4, "average");
  });
}

}  // namespace
}  // namespace edgesage::kernels
