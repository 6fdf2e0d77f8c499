// How long a row of a U65 or U85 runs, and how its reads and writes use memories: what Vela's
// scheduler reckons with, by where the row's maps and scales are.
//
// Facts of Vela 5's compiler core, regor (Arm, Apache-2.0: ethosu/regor/architecture).
#pragma once

#include <cstdint>

#include "src/analysis/ethos_machine.h"
#include "src/lower/rows.h"

namespace edgesage {

// One memory; times in cycles of the core's clock, rates in bytes a cycle.
struct EthosMemory {
  double rate = 16, read_latency = 32, write_latency = 32;
  double burst = 32;  // bytes that are moved at once, wanted or not
  // What the channels of a U85 can have under way; else the memory's rate.
  double map_rate = 16, weight_rate = 16, copy_rate = 16;
};

struct EthosMemories {
  EthosMemory fast, slow;
  [[nodiscard]] const EthosMemory& of(bool is_fast) const { return is_fast ? fast : slow; }
};

// Of a machine with DRAM.
[[nodiscard]] EthosMemories ethos_memories(const EthosMachine& machine);

// Where a row's operands are, and what part of it runs.
struct EthosRun {
  bool ifm_fast = false, ofm_fast = false;
  bool ifm_linear = false, ofm_linear = false;  // stored pixel after pixel, not in bricks
  bool scales_fast = false;
  int64_t depth = 0;          // output channels; 0: all
  int64_t lines = 0;          // output lines; 0: all
  bool starts = true;         // the first block's inputs are waited for
  bool ends = true;           // the last block's outputs are waited for
  double chained_cycles = 0;  // an element, of rows that are done in this one
};

// `tiling` of the whole row. Constant cost.
[[nodiscard]] double ethos_run_cycles(const EthosMachine& machine, const Row& row,
                                      const EthosTiling& tiling, const EthosRun& run);

// Bytes moved for each byte wanted when a row's input or output is moved block by block.
[[nodiscard]] double ethos_read_waste(const Row& row, const EthosBlock& block,
                                      const EthosMemory& memory, bool linear);
[[nodiscard]] double ethos_write_waste(const EthosMachine& machine, const Row& row,
                                       const EthosBlock& block, const EthosMemory& memory,
                                       bool linear);

// Cycles of `bytes` from one memory to another, and of reading them.
[[nodiscard]] double ethos_copy_cycles(const EthosMemories& memories, double bytes);
[[nodiscard]] inline double ethos_weight_read_cycles(const EthosMemory& memory, double bytes) {
  return bytes / memory.weight_rate + memory.read_latency;
}
[[nodiscard]] inline double ethos_map_read_cycles(const EthosMemory& memory, double bytes) {
  return bytes / memory.map_rate + memory.read_latency;
}

}  // namespace edgesage
