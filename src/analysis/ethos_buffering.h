// Whether the compiler copies a row's weights from DRAM to SRAM ahead of it, on machines with both,
// and how it cuts them.
//
// They are copied where the row gets no slower by it: whole, or a first slice during the row before
// and the rest, by turns to two places, while the row computes. Inside a cascade they are copied
// whole. Facts of Vela 5's compiler core, regor (Arm, Apache-2.0: ethosu/regor/compiler).
#pragma once

#include <cstdint>
#include <functional>

#include "src/analysis/ethos_run_time.h"

namespace edgesage {

// A row before its weights are copied. Sizes in bytes, times in cycles.
struct EthosBufferCase {
  EthosMemories memories;
  double bytes = 0;         // encoded weights and scales
  int64_t depth = 1;        // output channels
  int64_t block_depth = 1;  // of a block
  double refetches = 1;     // how often all weights are read, lines of a cascade not counted
  double stripes = 1;       // of a cascade
  bool in_cascade = false, starts_cascade = false;
  bool splits = true;     // by output channels
  bool is_first = false;  // of the network
  bool after_npu = true;  // a row of the NPU comes before
  double slack = 0;       // cycles of the row before
  double slack_room = 0;  // of SRAM during the row before
  double room = 0;        // of SRAM
  double run = 0;         // from DRAM, uncut
  double ifm_bytes = 0;   // of the input
  double ifm_read = 0;    // bytes of input that are read, uncut
  bool ifm_moves = true;  // the input could be in SRAM instead
  // Of the first row that reads the output; 0 where it has no weights.
  double next_ifm_bytes = 0, next_ifm_cycles = 0, next_weight_cycles = 0, next_run = 0;
  // Cycles of so many output channels with the scales in SRAM, and bytes of input they read.
  std::function<double(int64_t depth, bool starts, bool ends)> cycles;
  std::function<double(int64_t depth)> ifm_bytes_of;
};

struct EthosBuffering {
  int parts = 0;                           // places in SRAM; 0: not copied
  double part[2] = {0, 0};                 // bytes
  bool early = false;                      // the first part is filled during the row before
  int64_t first = 0, later = 0, last = 0;  // output channels; later and last 0: one slice
  int64_t slices = 1;
  double last_cycles = 0;  // of the last slice
  double copy_cycles = 0;  // of all weights
  [[nodiscard]] double bytes() const { return part[0] + part[1]; }
};

// Cost: some calls of `cycles`.
[[nodiscard]] EthosBuffering ethos_buffering(const EthosBufferCase& row);

}  // namespace edgesage
