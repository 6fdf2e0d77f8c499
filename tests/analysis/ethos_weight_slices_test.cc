// Slices of weights against the schedules that Vela 5.2 prints for ethos-u55-256
// (`vela MODEL --accelerator-config ethos-u55-256 --verbose-schedule`, "Depth slices", "Weight
// buffer") of networks that `edgesage generate --space detection --seed 105` makes.
#include "src/analysis/ethos_weight_slices.h"

#include <gtest/gtest.h>

namespace edgesage {
namespace {

TEST(EthosWeightSlices, TheFirstIsWhatTheRowBeforeLeavesTimeFor) {
  // CONV_2D_16: [0, 48, 112, 176, 240, 304, 328], 307,920 bytes, two places of 64 channels.
  const auto cycles = [](int64_t depth) { return 262723.0 * static_cast<double>(depth) / 328; };
  const EthosWeightSlices slices = ethos_weight_slices(328, 64, 307920, 50000, cycles);
  EXPECT_EQ(slices.first, 48);
  EXPECT_EQ(slices.later, 64);
  EXPECT_EQ(slices.later_count, 5);
  EXPECT_EQ(slices.last, 24);
  EXPECT_EQ(slices.held, 128);  // 120,528 bytes of 307,920 there
}

TEST(EthosWeightSlices, LaterOnesAreWhatIsComputedMeanwhileInWholeBlocks) {
  // CONV_2D_14: [0, 128, 256, ... 1920, 1968].
  const auto cycles = [](int64_t depth) { return 273004.0 * static_cast<double>(depth) / 1968; };
  const EthosWeightSlices slices = ethos_weight_slices(1968, 64, 379552, 25000, cycles);
  EXPECT_EQ(slices.first, 128);
  EXPECT_EQ(slices.later, 128);
  EXPECT_EQ(slices.later_count, 15);
  EXPECT_EQ(slices.last, 48);
  EXPECT_EQ(slices.held, 256);
}

TEST(EthosWeightSlices, RowsThatComputeLongHaveTwo) {
  // CONV_2D_1: [0, 16, 80].
  const auto cycles = [](int64_t depth) { return 834783.0 * static_cast<double>(depth) / 80; };
  const EthosWeightSlices slices = ethos_weight_slices(80, 16, 9280, 0, cycles);
  EXPECT_EQ(slices.first, 16);
  EXPECT_EQ(slices.later_count, 1);
  EXPECT_EQ(slices.last, 64);
  EXPECT_EQ(slices.held, 80);
}

TEST(EthosWeightSlices, WhatIsFetchedInTimeIsWhole) {
  const auto cycles = [](int64_t) { return 1.0; };
  for (const int64_t depth : {1, 16, 4096}) {
    const EthosWeightSlices slices = ethos_weight_slices(depth, 16, 100, 100, cycles);
    EXPECT_EQ(slices.first, depth);
    EXPECT_EQ(slices.held, depth);
    EXPECT_EQ(slices.later_count, 0);
  }
  EXPECT_EQ(ethos_weight_slices(8, 8, 100, 0, cycles).first, 8);  // less than a step of 16
}

}  // namespace
}  // namespace edgesage
