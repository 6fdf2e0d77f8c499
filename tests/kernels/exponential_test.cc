#include "src/kernels/exponential.h"

#include <limits>

#include "tests/kernels/kernel_test.h"

namespace edgesage::kernels {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Exponential, EqualsTheLibraryOfTheSystem) {
  for_each_target_and_seed([](Rng& rng) {
    const auto count = static_cast<size_t>(random_size(rng, 70));
    std::vector<double> x(count), y(count + 1, 7.0);
    for (double& value : x) value = rng.uniform(-700, 700);
    exponentials(static_cast<int64_t>(count), x.data(), y.data());
    EXPECT_EQ(y[count], 7.0);
    for (size_t i = 0; i < count; ++i) EXPECT_NEAR(y[i] / std::exp(x[i]), 1.0, 1e-15) << x[i];
    exponentials(static_cast<int64_t>(count), x.data(), x.data());
    y.pop_back();
    EXPECT_EQ(x, y);
  });
}

TEST(Exponential, EndsOfTheRange) {
  for_each_target_and_seed([](Rng&) {
    const std::vector<double> x{-kInfinity, -1e300, -800, 0, 1e-300, -0.0, 2, -kInfinity, 1};
    std::vector<double> y(x.size());
    exponentials(static_cast<int64_t>(x.size()), x.data(), y.data());
    for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(y[i], std::exp(x[i]), 1e-15 * y[i]) << x[i];
    EXPECT_EQ(y[0], 0.0);
  });
}

TEST(Exponential, WhatIsNoNumberStaysSo) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr float kFloatNan = std::numeric_limits<float>::quiet_NaN();
  for_each_target_and_seed([](Rng&) {
    const std::vector<double> x{kNan, 1e300, kInfinity, 1, -kNan};
    std::vector<double> y(x.size());
    exponentials(static_cast<int64_t>(x.size()), x.data(), y.data());
    EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[4]));
    EXPECT_EQ(y[1], kInfinity);
    EXPECT_EQ(y[2], kInfinity);
    EXPECT_NEAR(y[3], std::exp(1), 1e-15);
    const std::vector<float> values{kFloatNan, 3e38F, -3e38F, 0, 1}, base(5, 0.0F);
    add_bounded(5, values.data(), 6.0, base.data(), y.data());
    EXPECT_TRUE(std::isnan(y[0]));
    EXPECT_EQ(y[1], 6.0);
    EXPECT_EQ(y[2], -6.0);
  });
}

TEST(Exponential, BoundedNumbersEqualTheFormula) {
  for_each_target_and_seed([](Rng& rng) {
    const int64_t count = random_size(rng, 70);
    std::vector<float> x = random_floats(rng, count, 8), base = random_floats(rng, count);
    x[0] = rng.chance(0.5) ? 0.0f : 1e-30f;
    base.back() = -std::numeric_limits<float>::infinity();
    std::vector<double> y(x.size() + 1, 7.0);
    add_bounded(count, x.data(), 6.0, base.data(), y.data());
    EXPECT_EQ(y.back(), 7.0);
    EXPECT_EQ(y[x.size() - 1], -kInfinity);
    for (size_t i = 0; i + 1 < x.size(); ++i) {
      const double expected = double{base[i]} + 6.0 * std::tanh(double{x[i]} / 6.0);
      EXPECT_NEAR(y[i], expected, 1e-14 * (1 + std::abs(expected)));
    }
  });
}

}  // namespace
}  // namespace edgesage::kernels
