// What the estimates know of an Ethos-U: rates of its parts, and how a row runs on them.
#pragma once

#include <cstdint>

#include "src/analysis/ethos_block_memo.h"
#include "src/analysis/ethos_blocks.h"
#include "src/lower/rows.h"

namespace edgesage {

// Output stage, cycles an element. Published figures of each size of U55 and U65.
struct EthosOutputRates {
  double convolution = 0.25, mul = 0.375, add = 0.75, int32 = 1.125, count = 0.625, table = 1.0;
};

// One device in its usual system; times in cycles of the core's clock.
struct EthosMachine {
  EthosArray array;
  bool is_u85 = false;
  double speed = 1;  // of the array against 256 multiply-accumulates a cycle
  EthosOutputRates rates;
  double sram_bytes = 8, dram_bytes = 0, flash_bytes = 0;  // a cycle
  double block_latency = 32;
  double fetch = 0.25;  // cycles a byte of a block's own reads and writes
  double dma_latency = 64;
  double fast_memory = 0;  // bytes of SRAM for feature maps; 0: they are always there
};

[[nodiscard]] EthosMachine ethos_machine(const Target& target);

// A row as blocks.
struct EthosTiling {
  EthosBlock block;
  int64_t h = 1, w = 1, c = 1;  // of a block, inside the output
  double blocks = 1;            // may be a fraction
  int64_t blocks_hw = 1;        // whole blocks over height and width
  int64_t blocks_c = 1;
  int64_t kernel_h = 1, kernel_w = 1;  // with dilation
  double repeats = 1;                  // batches, groups, or positions that run one after the other
  bool is_split = false;               // a repeat is a position
  Shape4 ifm, ofm;                     // of one repeat
  // Channels as stored: bricks of 16, but plainly below eight and at the model's border.
  int64_t stored_ifm_c = 16, stored_ofm_c = 16;
};

[[nodiscard]] EthosKernel ethos_kernel(const Row& row);
// `lines`: output lines at a time, of a row in a cascade; 0: all.
[[nodiscard]] EthosTiling ethos_tiling(const EthosMachine& machine, const Row& row, int64_t lines,
                                       EthosBlockMemo& memo);

[[nodiscard]] int64_t ethos_stored_channels(int64_t channels);
// Of what a row that is not the last of its operator writes.
[[nodiscard]] int64_t ethos_stored_between(const Row& row, int64_t channels);

// Cycles of multipliers and output stage for the whole row. `slow_bias`: scales are read from the
// slow memory, not from a buffer. Shapes must be positive and below 2^20 a side.
[[nodiscard]] double ethos_compute_cycles(const EthosMachine& machine, const Row& row,
                                          const EthosTiling& tiling, bool slow_bias);

// Whether a fused activation is a table.
[[nodiscard]] bool ethos_looks_up(const Row& row);

// The parts of it: multipliers, of one block; the output stage, an element.
[[nodiscard]] double ethos_array_cycles(const EthosMachine& machine, const Row& row,
                                        const EthosTiling& tiling);
[[nodiscard]] double ethos_output_rate(const EthosMachine& machine, const Row& row);

}  // namespace edgesage
