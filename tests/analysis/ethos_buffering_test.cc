// Weights copied ahead on U65: against figures worked out by hand from its memories (DRAM of 12
// bytes a cycle and a latency of 500, SRAM of 16 and 32).
#include "src/analysis/ethos_buffering.h"

#include <gtest/gtest.h>

namespace edgesage {
namespace {

// A row of 128 channels whose weights take 24,000 bytes, read four times, and 10,000 cycles.
EthosBufferCase row() {
  EthosBufferCase c;
  c.memories = ethos_memories(ethos_machine(*target_from_name("ethos-u65-512")));
  c.bytes = 24000;
  c.depth = 128;
  c.block_depth = 32;
  c.refetches = 4;
  c.slack = 5000;
  c.slack_room = c.room = 384 * 1024;
  c.run = 10000;
  c.ifm_bytes = c.ifm_read = 4096;
  c.cycles = [](int64_t depth, bool, bool) { return 10000.0 * static_cast<double>(depth) / 128; };
  c.ifm_bytes_of = [](int64_t depth) { return 4096.0 * static_cast<double>(depth) / 128; };
  return c;
}

TEST(EthosBuffering, WeightsThatTheRowBeforeHidesAreCopiedWhole) {
  const EthosBuffering b = ethos_buffering(row());  // 24,000 / 12 + 500 < 5,000
  EXPECT_EQ(b.parts, 1);
  EXPECT_TRUE(b.early);
  EXPECT_EQ(b.part[0], 24000);
  EXPECT_EQ(b.slices, 1);
  EXPECT_EQ(b.copy_cycles, 2500);
}

TEST(EthosBuffering, ElseASliceComesEarlyAndTheRestWhileTheRowComputes) {
  EthosBufferCase c = row();
  c.slack = 1000;  // 1,000 of 2,500 cycles: 51 channels, in steps of 16
  c.run = 10500;   // more than reading the weights takes
  const EthosBuffering b = ethos_buffering(c);
  EXPECT_EQ(b.parts, 2);
  EXPECT_EQ(b.first, 48);
  EXPECT_EQ(b.slices, 2);
  EXPECT_EQ(b.last, 80);
  EXPECT_EQ(b.bytes(), 9008 + 15008);  // in steps of 16 bytes
}

TEST(EthosBuffering, WeightsThatAreReadOnceStayWhereTheCopyTakesLonger) {
  EthosBufferCase c = row();
  c.refetches = 1;
  c.run = 1000;
  c.cycles = [](int64_t depth, bool, bool) { return 1000.0 * static_cast<double>(depth) / 128; };
  EXPECT_EQ(ethos_buffering(c).parts, 0);
}

TEST(EthosBuffering, NeverTakesMoreThanThereIs) {
  for (double room : {0.0, 512.0, 3000.0, 7000.0, 20000.0, 50000.0}) {
    EthosBufferCase c = row();
    c.room = room;
    c.slack = 300;
    const EthosBuffering b = ethos_buffering(c);
    EXPECT_LE(b.bytes(), room);
    if (b.parts > 0) {
      EXPECT_EQ(b.first + (b.slices > 1 ? (b.slices - 2) * b.later + b.last : 0), 128) << room;
    }
  }
}

TEST(EthosBuffering, CascadesCopyWholeOrNotAtAll) {
  EthosBufferCase c = row();
  c.in_cascade = true;
  c.stripes = 16;
  c.cycles = [](int64_t depth, bool, bool) { return 625.0 * static_cast<double>(depth) / 128; };
  EXPECT_EQ(ethos_buffering(c).slices, 1);
  EXPECT_EQ(ethos_buffering(c).part[0], 24000);
  c.room = 20000;
  EXPECT_EQ(ethos_buffering(c).parts, 0);
}

TEST(EthosBuffering, ARowWithoutWeightsCopiesNone) {
  EthosBufferCase c = row();
  c.bytes = 0;
  EXPECT_EQ(ethos_buffering(c).parts, 0);
}

}  // namespace
}  // namespace edgesage
