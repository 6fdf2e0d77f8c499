// The smoother on problems whose answer is known: linear ones, where the exact posterior is a
// closed form, and a nonlinear family with a true device in it.
#include "src/predict/ensemble_smoother.h"

#include <gtest/gtest.h>

#include <cmath>

#include "src/base/rng.h"

namespace edgesage {
namespace {

constexpr int32_t kParameters = 6;

// log cost = log sum_k exp(z_k / 2) * work_k, for networks with random shares of work.
struct Family {
  std::vector<std::vector<double>> work;

  explicit Family(uint64_t seed, size_t networks) {
    Rng rng(seed);
    for (size_t i = 0; i < networks; ++i) {
      work.emplace_back();
      for (int32_t k = 0; k < kParameters; ++k) work.back().push_back(rng.log_uniform(0.05, 5));
    }
  }
  [[nodiscard]] double price(size_t network, std::span<const float> z) const {
    double sum = 0;
    for (size_t k = 0; k < kParameters; ++k)
      sum += work[network][k] * std::exp(static_cast<double>(z[k]));
    return std::log(sum);
  }
  [[nodiscard]] std::vector<float> prices(std::span<const float> z) const {
    const size_t devices = z.size() / kParameters;
    std::vector<float> costs(work.size() * devices);
    for (size_t i = 0; i < work.size(); ++i)
      for (size_t d = 0; d < devices; ++d)
        costs[i * devices + d] =
            static_cast<float>(price(i, z.subspan(d * kParameters, kParameters)));
    return costs;
  }
};

std::vector<float> draw(uint64_t seed, size_t devices) {
  Rng rng(seed);
  std::vector<float> z(devices * kParameters);
  for (float& value : z) value = static_cast<float>(rng.normal());
  return z;
}

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

TEST(EnsembleSmoother, FindsTheDeviceThatMadeTheLabels) {
  const Family family(1, 40);
  const std::vector<float> truth = draw(99, 1);
  std::vector<double> labels;
  for (size_t i = 0; i < 40; ++i) labels.push_back(family.price(i, truth) + 7.5);  // another unit
  std::vector<float> z = draw(2, 300);
  const double before = mean_of(misfit(family.prices(z), 300, labels));
  smooth_devices(z, kParameters, labels, [&](auto some) { return family.prices(some); },
                 {.sigma = 0.02});
  const double after = mean_of(misfit(family.prices(z), 300, labels));
  EXPECT_LT(after, 0.1 * before);
  // Networks that the labels did not cover.
  const Family fresh(3, 50);
  double error = 0, first = 0;
  const std::vector<float> prior = draw(2, 300);
  const auto worst = [&](std::span<const float> devices) {
    std::vector<double> true_prices;
    for (size_t i = 0; i < 50; ++i) true_prices.push_back(fresh.price(i, truth));
    return mean_of(misfit(fresh.prices(devices), 300, true_prices));
  };
  error = worst(z);
  first = worst(prior);
  EXPECT_LT(error, 0.15 * first);
}

TEST(EnsembleSmoother, IsDeterministicAndKeepsToItsBounds) {
  const Family family(1, 20);
  std::vector<double> labels;
  for (size_t i = 0; i < 20; ++i) labels.push_back(static_cast<double>(i % 7) * 3);  // no device's
  std::vector<float> first = draw(2, 100), second = draw(2, 100);
  const DevicePrices prices = [&](auto some) { return family.prices(some); };
  smooth_devices(first, kParameters, labels, prices);
  smooth_devices(second, kParameters, labels, prices);
  EXPECT_EQ(first, second);
  for (const float value : first) {
    ASSERT_TRUE(std::isfinite(value));
    ASSERT_LE(std::abs(value), 4.0F);
  }
}

TEST(EnsembleSmoother, OneWildLabelDoesNotMoveTheRest) {
  const Family family(1, 40);
  const std::vector<float> truth = draw(99, 1);
  std::vector<double> labels;
  for (size_t i = 0; i < 40; ++i) labels.push_back(family.price(i, truth));
  std::vector<double> wild = labels;
  wild[11] += 5;
  std::vector<float> z = draw(2, 300);
  smooth_devices(z, kParameters, wild, [&](auto some) { return family.prices(some); },
                 {.sigma = 0.05});
  EXPECT_LT(mean_of(misfit(family.prices(z), 300, labels)), 0.12);
}

TEST(EnsembleSmoother, MisfitIsTheMeanAbsoluteDifferenceFromTheMedianOne) {
  // Two devices, three networks; the second device's differences are 1, 1, 4.
  const std::vector<float> costs{0, 1, 0, 1, 0, -2};
  const std::vector<double> labels{2, 2, 2};
  const std::vector<double> result = misfit(costs, 2, labels);
  EXPECT_NEAR(result[0], 0, 1e-6);
  EXPECT_NEAR(result[1], 1, 1e-6);
}

}  // namespace
}  // namespace edgesage
