// Bytes of a row's weights and scales as an Ethos-U's compiler stores them.
#pragma once

#include "src/graph/graph.h"
#include "src/lower/rows.h"

namespace edgesage {

struct EthosWeightBytes {
  double values = 0;  // encoded
  double scales = 0;  // ten bytes a channel
  [[nodiscard]] double all() const { return values + scales; }
};

// `bits`: of a value, estimated (weight_stats.h). `part_kernel`: four taps of eight channels are
// stored side by side. All zero for rows without weights.
[[nodiscard]] EthosWeightBytes ethos_weight_bytes(const Graph& graph, const Row& row, double bits,
                                                  bool part_kernel);

// The row with no side beyond what any device holds: products must not overflow.
[[nodiscard]] Row ethos_within_reason(const Row& row);

}  // namespace edgesage
