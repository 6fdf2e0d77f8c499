// Ethos-U85: its blocks, cycles and memory channels (the array of 512 multiply-accumulates a cycle;
// other sizes are scaled from it).
//
// Vela 5's compiler core, regor (Arm, Apache-2.0: ethosu/regor/architecture/ethosu85), prices a row
// by the block that it chooses for it, so the order in which blocks are tried and how ties fall are
// facts of the device's figures; they are repeated here. tests/analysis/vela_cycles_test.cc
// compares.
#pragma once

#include <cstdint>

#include "src/analysis/ethos_blocks.h"
#include "src/lower/rows.h"

namespace edgesage {

// What is worked on, of one repeat: shapes inside a model's usual sizes (see choose_ethos_block).
struct U85Work {
  EthosKernel kernel = EthosKernel::kDense;
  Shape4 ifm, ofm;
  int64_t kernel_h = 1, kernel_w = 1;  // taps
  int64_t extent_h = 1, extent_w = 1;  // what they span, with the dilation of the machine itself
  int64_t stride_h = 1, stride_w = 1;
  int64_t ifm_bits = 8;
};

// Cost: a search over at most some ten thousand candidates.
[[nodiscard]] EthosBlock choose_u85_block(const U85Work& work);

// Cycles of the multipliers for one block.
[[nodiscard]] double u85_array_cycles(const U85Work& work, const EthosBlock& block);

// Cycles of multipliers and output stage. `scale_latency`: cycles until the memory of the scales
// answers; 0: the work has none.
[[nodiscard]] double u85_compute_cycles(const U85Work& work, const EthosBlock& block,
                                        double scale_latency);

// Bytes at once with which a block is read or written, of maps stored pixel after pixel (`linear`)
// or in bricks of 16 channels.
[[nodiscard]] double u85_read_burst(const EthosBlock& block, int64_t channels, double width,
                                    bool linear);
[[nodiscard]] double u85_write_burst(const EthosBlock& block, int64_t channels, double width,
                                     bool linear);

// Bytes that one memory moves for a row, by the channel that they take.
struct U85Transfers {
  double read = 0, written = 0, copied = 0, weights = 0, scales = 0;
  double streamed = 0;  // read by rows that are done in this one
};

[[nodiscard]] double u85_dram_cycles(const U85Transfers& bytes);
[[nodiscard]] double u85_sram_cycles(const U85Transfers& bytes);

constexpr double kU85DramBurst = 128, kU85SramBurst = 64;  // bytes

}  // namespace edgesage
