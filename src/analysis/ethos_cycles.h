// Closed-form cycles of Ethos-U rows: a prior that learning corrects, not the compiler's model.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/analysis/ethos_block_memo.h"
#include "src/analysis/weight_stats.h"
#include "src/graph/graph.h"
#include "src/lower/rows.h"

namespace edgesage {

// Cycles at the core's clock that each part of the machine is busy with a row; they overlap, so a
// row takes the largest of them.
struct RowCycles {
  double npu = 0;    // multiply-accumulate array and output stage
  double sram = 0;   // on-chip accesses
  double dram = 0;   // off-chip accesses of feature maps and weights (U65, U85)
  double flash = 0;  // weights from flash (U55)
  // On-chip memory for weights that are fetched ahead of the row, in bytes; part of what is in use
  // while it runs.
  double weight_buffer_bytes = 0;
  // What the compiler counts as read and written in each memory: without what short bursts waste,
  // with what is copied between memories on both sides.
  double sram_bytes = 0, dram_bytes = 0, flash_bytes = 0;
  // Feature maps in use while the row runs, and constants of its own that the compiler stores.
  double sram_live_bytes = 0, dram_live_bytes = 0, constant_bytes = 0;
};

// One a row, for the compiler's usual system of each device: U55 High_End_Embedded with Shared_Sram
// (500 MHz, flash of one byte a cycle), U65 Client_Server and U85
// SYS_DRAM_Mid with Dedicated_Sram_384KB (ethos_staging.h tells which maps stay out of DRAM there).
// All zero for rows that do not run on the NPU and for other targets.
[[nodiscard]] std::vector<RowCycles> ethos_row_cycles(const Graph& graph, const Lowering& lowering);

// The same for a caller who has row_weight_stats, and prices many networks with one memo. Cost:
// linear in rows and edges, U65 and U85 n log n.
[[nodiscard]] std::vector<RowCycles> ethos_row_cycles(const Graph& graph, const Lowering& lowering,
                                                      std::span<const WeightStats> weights,
                                                      EthosBlockMemo& memo);

}  // namespace edgesage
