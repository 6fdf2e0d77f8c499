#include "src/analysis/weight_stats.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "src/base/rng.h"
#include "tests/lower/oracle.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

struct Weights {
  Graph graph;
  Tensor tensor;
};

Weights weights_of(const std::vector<int8_t>& values) {
  Weights weights;
  weights.graph.buffers.push_back(make_buffer(std::as_bytes(std::span(values))));
  weights.tensor.type = DataType::kInt8;
  weights.tensor.shape = {static_cast<int64_t>(values.size())};
  weights.tensor.buffer = 0;
  return weights;
}

WeightStats stats_of(const std::vector<int8_t>& values) {
  const Weights weights = weights_of(values);
  return weight_stats(weights.graph, weights.tensor);
}

int8_t rounded(double value) {
  return static_cast<int8_t>(std::clamp(std::round(value), -127.0, 127.0));
}

TEST(WeightStats, SmallTensorsAreCountedExactly) {
  const WeightStats stats = stats_of({0, 0, 3, -3});
  EXPECT_DOUBLE_EQ(stats.zero_fraction, 0.5);
  EXPECT_DOUBLE_EQ(stats.distinct, 3);
  EXPECT_DOUBLE_EQ(stats.entropy_bits, 1.5);
  EXPECT_DOUBLE_EQ(stats.mean_abs, 1.5);
}

TEST(WeightStats, ZeroMeansTheZeroPoint) {
  Weights weights = weights_of({5, 5, 5, 6});
  weights.tensor.quantization.zero_point = {5};
  EXPECT_DOUBLE_EQ(weight_stats(weights.graph, weights.tensor).zero_fraction, 0.75);
}

TEST(WeightStats, WhatIsNoConstantOfBytesHasNone) {
  Weights weights = weights_of({1, 2, 3});
  weights.tensor.type = DataType::kInt32;
  EXPECT_EQ(weight_stats(weights.graph, weights.tensor).distinct, 0);
  weights.tensor.type = DataType::kInt8;
  weights.tensor.buffer = 7;  // not there
  EXPECT_EQ(weight_stats(weights.graph, weights.tensor).distinct, 0);
  EXPECT_EQ(stats_of({}).encoded_bits_estimate, 0);
}

TEST(WeightStats, TheSampleIsSpreadOverTheWholeTensor) {
  std::vector<int8_t> values(1 << 20, 0);
  std::fill(values.begin() + (1 << 19), values.end(), int8_t{1});
  EXPECT_NEAR(stats_of(values).zero_fraction, 0.5, 0.001);
}

struct Distribution {
  std::string name;
  std::function<double(Rng&)> draw;
};

std::vector<Distribution> distributions() {
  std::vector<Distribution> all;
  for (const double s : {1.0, 3.0, 8.0, 16.0, 30.0, 45.0})
    all.push_back({fmt::format("normal {}", s), [s](Rng& rng) { return s * rng.normal(); }});
  for (const double s : {2.0, 8.0, 20.0})
    all.push_back({fmt::format("heavy tails {}", s), [s](Rng& rng) {
                     return s * rng.normal() / std::max(std::abs(rng.normal()), 0.3);
                   }});
  for (const double zeros : {0.3, 0.6, 0.9})
    all.push_back({fmt::format("pruned {}", zeros),
                   [zeros](Rng& rng) { return rng.chance(zeros) ? 0.0 : 25 * rng.normal(); }});
  for (const int clusters : {2, 4, 16})
    all.push_back({fmt::format("{} clusters", clusters), [clusters](Rng& rng) {
                     return 120.0 / clusters * static_cast<double>(rng.integer(0, clusters - 1));
                   }});
  return all;
}

TEST(WeightStats, EncodedBitsAgreeWithTheCodecOnManyDistributions) {
  EDGESAGE_REQUIRE(test::venv_python(), "ethos-u-vela is not installed (./dev setup)");
  const test::TempDir work;
  std::vector<std::string> files;
  std::vector<double> ours;
  Rng rng(5);
  for (const Distribution& distribution : distributions()) {
    std::vector<int8_t> values(16384);
    for (int8_t& value : values) value = rounded(distribution.draw(rng));
    ours.push_back(stats_of(values).encoded_bits_estimate);
    files.push_back((work.path() / fmt::format("{}.bin", files.size())).string());
    std::ofstream(files.back(), std::ios::binary)
        .write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size()));
  }
  const Json bits = test::run_oracle("analysis/encoded_bits.py", files);
  ASSERT_TRUE(bits.is_array());
  std::vector<double> errors;
  for (size_t i = 0; i < ours.size(); ++i) {
    errors.push_back(std::abs(ours[i] / bits[i].get<double>() - 1));
    fmt::print("{:16} codec {:.2f} estimate {:.2f} bits\n", distributions()[i].name,
               bits[i].get<double>(), ours[i]);
    EXPECT_LT(errors.back(), 0.2) << distributions()[i].name;
  }
  std::ranges::sort(errors);
  EXPECT_LT(errors[errors.size() / 2], 0.07);
}

}  // namespace
}  // namespace edgesage
