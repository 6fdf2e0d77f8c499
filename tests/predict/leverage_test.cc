#include "src/predict/leverage.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "src/lower/rows.h"
#include "src/predict/predictor_file.h"
#include "src/predict/range.h"
#include "tests/predict/random_tensors.h"
#include "tests/predict/sample_predictor.h"

namespace edgesage {
namespace {

GraphTensors tensors_of(Rng& rng) { return test::random_tensors(20, rng); }

// All rows of the network are of one kind.
GraphTensors all_of_kind(Rng& rng, int32_t kind) {
  GraphTensors tensors = tensors_of(rng);
  tensors.kind.assign(tensors.kind.size(), kind);
  return tensors;
}

TEST(Leverage, OrdinaryNetworksAreWithinTheLimitAndOthersAreNot) {
  Rng rng(7);
  LeverageBuilder builder;
  for (int i = 0; i < 150; ++i) builder.add(all_of_kind(rng, i % 2), true);
  for (int i = 0; i < 300; ++i) builder.add(all_of_kind(rng, i % 2), false);
  const Leverage leverage = builder.finish();
  int outside = 0;
  for (int i = 0; i < 200; ++i) outside += leverage.of(all_of_kind(rng, i % 2)) > 1 ? 1 : 0;
  EXPECT_LE(outside, 10);  // 5 %
  for (int i = 0; i < 20; ++i) EXPECT_GT(leverage.of(all_of_kind(rng, 4)), 1.5);
}

TEST(Leverage, AMeasuredNetworkOfItsKindLowersIt) {
  Rng rng(9);
  LeverageBuilder few, more;
  for (int i = 0; i < 60; ++i) {
    const GraphTensors tensors = all_of_kind(rng, 0);
    few.add(tensors, true);
    more.add(tensors, true);
  }
  for (int i = 0; i < 10; ++i) more.add(all_of_kind(rng, 4), true);
  const GraphTensors odd = all_of_kind(rng, 4);
  const Leverage before = few.finish(), after = more.finish();
  EXPECT_LT(after.of(odd) * static_cast<double>(after.limit),
            0.7 * before.of(odd) * static_cast<double>(before.limit));
}

TEST(Leverage, WhatCostsNothingDoesNotCount) {
  Rng rng(11);
  LeverageBuilder builder;
  for (int i = 0; i < 100; ++i) builder.add(all_of_kind(rng, 0), true);
  const Leverage leverage = builder.finish();
  GraphTensors tensors = all_of_kind(rng, 0);
  const double before = leverage.of(tensors);
  // A row of an unmeasured kind, but without a price.
  tensors.kind[3] = 4;
  const auto quantities = static_cast<size_t>(tensors.quantities);
  tensors.log_prior[3 * quantities] = -std::numeric_limits<float>::infinity();
  EXPECT_LT(leverage.of(tensors), 1.5 * before);
}

TEST(Leverage, WithoutMeasuredNetworksThereIsNone) {
  Rng rng(1);
  LeverageBuilder builder;
  builder.add(tensors_of(rng), false);
  const Leverage leverage = builder.finish();
  EXPECT_TRUE(leverage.empty());
  EXPECT_EQ(leverage.of(tensors_of(rng)), 0);
}

TEST(Leverage, AnUnknownOperatorIsAlwaysFlaggedAndScoresHighest) {
  Rng rng(3);
  RangeBuilder builder;
  const std::vector<std::string> known(20, "CONV_2D int8");
  for (int i = 0; i < 40; ++i) builder.add(known, tensors_of(rng));
  const TrainingRange range = std::move(builder).finish();
  std::vector<std::string> signatures = known;
  GraphTensors tensors = tensors_of(rng);
  tensors.operators = 20;
  signatures[5] = "CUSTOM:Mystery int8";
  const RangeVerdict verdict = judge_range(range, signatures, tensors, {});
  EXPECT_FALSE(verdict.in_range);
  EXPECT_TRUE(std::isinf(verdict.score));
  EXPECT_TRUE(verdict.unknown_operator[5]);
}

TEST(Leverage, TheFileKeepsItAndRefusesOneThatDoesNotFit) {
  Rng rng(5);
  PredictorData data = test::sample_predictor(1);
  LeverageBuilder builder;
  for (int i = 0; i < 30; ++i) builder.add(tensors_of(rng), i % 2 == 0);
  data.range.leverage = builder.finish();
  const auto after = decode_predictor(encode_predictor(data), "file");
  ASSERT_TRUE(after) << after.error().to_string();
  const GraphTensors tensors = tensors_of(rng);
  EXPECT_EQ(after->range.leverage.of(tensors), data.range.leverage.of(tensors));
  PredictorData damaged = data;
  damaged.range.leverage.inverse.pop_back();
  EXPECT_EQ(decode_predictor(encode_predictor(damaged), "file").error().code, ErrorCode::kBadStore);
  damaged = data;
  damaged.range.leverage.limit = 0;
  EXPECT_FALSE(decode_predictor(encode_predictor(damaged), "file"));
}

}  // namespace
}  // namespace edgesage
