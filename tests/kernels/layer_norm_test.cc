#include "src/kernels/layer_norm.h"

#include <algorithm>

#include "tests/kernels/kernel_test.h"

namespace edgesage::kernels {
namespace {

// One row in double: y, and the loss sum(weight * y) differentiated by finite differences.
std::vector<double> reference(const std::vector<double>& z, const std::vector<double>& gain,
                              const std::vector<double>& bias) {
  const auto n = static_cast<double>(z.size());
  double mean = 0, variance = 0;
  for (const double v : z) mean += v / n;
  for (const double v : z) variance += (v - mean) * (v - mean) / n;
  std::vector<double> y(z.size());
  for (size_t j = 0; j < z.size(); ++j)
    y[j] = std::max(
        0.0, (z[j] - mean) / std::sqrt(variance + double{kLayerNormEpsilon}) * gain[j] + bias[j]);
  return y;
}

std::vector<double> widen(const float* values, int64_t count) { return {values, values + count}; }

double weighted(const std::vector<double>& y, const float* weight) {
  double sum = 0;
  for (size_t j = 0; j < y.size(); ++j) sum += y[j] * double{weight[j]};
  return sum;
}

double slope(std::vector<double>& values, size_t j, const std::function<double()>& loss) {
  const double step = 1e-6, kept = values[j];
  values[j] = kept + step;
  const double above = loss();
  values[j] = kept - step;
  const double below = loss();
  values[j] = kept;
  return (above - below) / (2 * step);
}

TEST(LayerNormRelu, EqualsFormulaInDouble) {
  for_each_target_and_seed([](Rng& rng) {
    const int64_t rows = random_size(rng, 9), width = random_size(rng, 140);
    TestMatrix z(rng, rows, width, 3.0), normal(rows, width, 1, 0.0f), y(rows, width, 2, 0.0f);
    const auto gain = random_floats(rng, width), bias = random_floats(rng, width);
    std::vector<float> deviation(static_cast<size_t>(rows));
    layer_norm_relu(z.view(), gain.data(), bias.data(), {normal.view(), deviation.data()}, {},
                    y.view());
    EXPECT_TRUE(y.gaps_untouched() && normal.gaps_untouched());
    for (int64_t i = 0; i < rows; ++i) {
      const auto expected = reference(widen(z.view().row(i), width), widen(gain.data(), width),
                                      widen(bias.data(), width));
      for (int64_t j = 0; j < width; ++j)
        expect_close(y.at(i, j), expected[static_cast<size_t>(j)], 10,
                     "column " + std::to_string(j));
    }
  });
}

TEST(LayerNormRelu, WhatFollowsInTheSamePassEqualsItDoneAfterwards) {
  for_each_target_and_seed([](Rng& rng) {
    const int64_t rows = random_size(rng, 40), width = random_size(rng, 140);
    TestMatrix z(rng, rows, width), factor(rng, rows, width), residual(rng, rows, width);
    TestMatrix plain(rows, width, 1, 0.0f), normal = plain, y(rows, width, 2, 0.0f);
    const auto gain = random_floats(rng, width), bias = random_floats(rng, width);
    std::vector<float> deviation(static_cast<size_t>(rows));
    layer_norm_relu(z.view(), gain.data(), bias.data(), {normal.view(), deviation.data()}, {},
                    plain.view());
    const bool scaled = rng.chance(0.5), added = rng.chance(0.5);
    layer_norm_relu(z.view(), gain.data(), bias.data(), {},
                    {.factor = scaled ? factor.view() : Matrix{},
                     .residual = added ? residual.view() : Matrix{}},
                    y.view());
    EXPECT_TRUE(y.gaps_untouched());
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < width; ++j) {
        const float product = scaled ? plain.at(i, j) * factor.at(i, j) : plain.at(i, j);
        EXPECT_EQ(y.at(i, j), added ? product + residual.at(i, j) : product);
      }
  });
}

TEST(LayerNormRelu, BackwardAgreesWithFiniteDifferences) {
  for_each_target_and_seed([](Rng& rng) {
    const int64_t rows = random_size(rng, 5), width = random_size(rng, 50);
    TestMatrix z(rng, rows, width), normal(rows, width, 0, 0.0f), y(rows, width, 0, 0.0f);
    TestMatrix dy(rng, rows, width), dz(rows, width, 1, 0.0f);
    const auto gain = random_floats(rng, width), bias = random_floats(rng, width);
    std::vector<float> deviation(static_cast<size_t>(rows)), dgain(gain.size()), dbias(gain.size());
    const LayerNormState state{normal.view(), deviation.data()};
    layer_norm_relu(z.view(), gain.data(), bias.data(), state, {}, y.view());
    layer_norm_relu_backward(dy.view(), state, gain.data(), bias.data(), dz.view(), dgain.data(),
                             dbias.data());
    EXPECT_TRUE(dz.gaps_untouched());
    std::vector<double> wide_gain = widen(gain.data(), width),
                        wide_bias = widen(bias.data(), width);
    std::vector<std::vector<double>> wide_z;
    for (int64_t i = 0; i < rows; ++i) wide_z.push_back(widen(z.view().row(i), width));
    const auto loss = [&] {
      double sum = 0;
      for (int64_t i = 0; i < rows; ++i)
        sum += weighted(reference(wide_z[static_cast<size_t>(i)], wide_gain, wide_bias),
                        dy.view().row(i));
      return sum;
    };
    for (int64_t j = 0; j < width; ++j) {
      const auto at = static_cast<size_t>(j);
      expect_close(dgain[at], slope(wide_gain, at, loss), 5, "gain", 1e-4);
      expect_close(dbias[at], slope(wide_bias, at, loss), 5, "bias", 1e-4);
      // With one column z has no effect at all, and nearly constant rows amplify rounding.
      for (int64_t i = 0; i < rows; ++i)
        expect_close(dz.at(i, j), slope(wide_z[static_cast<size_t>(i)], at, loss),
                     5 + double{deviation[static_cast<size_t>(i)]}, "z", 1e-4);
    }
  });
}

TEST(LayerNormRelu, ConstantRowGivesTheBias) {
  for_each_target_and_seed([](Rng&) {
    TestMatrix z(2, 19, 0, 4.0f), normal(2, 19, 0, 1.0f), y(2, 19, 0, 1.0f);
    const std::vector<float> gain(19, 2.0f), bias(19, 0.5f);
    float deviation[2];
    layer_norm_relu(z.view(), gain.data(), bias.data(), {normal.view(), deviation}, {}, y.view());
    for (int64_t j = 0; j < 19; ++j) EXPECT_NEAR(y.at(1, j), 0.5, 1e-3);
  });
}

}  // namespace
}  // namespace edgesage::kernels
