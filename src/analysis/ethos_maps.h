// The feature maps between the rows of an Ethos-U: how large they are, and who writes and reads
// them. What the search for places in on-chip memory works on.
#pragma once

#include <cstdint>
#include <vector>

#include "src/graph/graph.h"
#include "src/lower/rows.h"

namespace edgesage {

struct EthosMap {
  int64_t bytes = 0;                      // as stored; at most 2^42
  int64_t linear_bytes = 0;               // if stored pixel after pixel
  int32_t first_row = -1, last_row = -1;  // that use it; -1: none
  int32_t writers = 0, readers = 0;       // rows
  // It must be in DRAM: a border of the model, or rows of the CPU use it.
  bool border = false;
  bool is_input = false, is_output = false;  // of the model
  // Stored pixel after pixel, not in bricks of 16 channels: borders, and concatenations whose parts
  // do not start at a multiple of 16 channels.
  bool linear = false;
};

struct EthosRowMaps {
  int32_t written = -1;        // index of a map; -1: none
  int32_t read[2] = {-1, -1};  // the first two activations
};

struct EthosMaps {
  std::vector<EthosMap> maps;
  std::vector<EthosRowMaps> rows;  // one a row
  std::vector<int32_t> leaders;  // one a row: the row it is done in on its way to memory, or itself
};

// Whether a row works on the pixels of few channels as on pixels of 16.
[[nodiscard]] bool ethos_flattens(const Row& row);

// `chained`, one a row: done in the row before, so that the map between them never exists.
// Cost: linear in rows, tensors and edges.
[[nodiscard]] EthosMaps ethos_maps(const Graph& graph, const Lowering& lowering,
                                   const std::vector<uint8_t>& chained);

}  // namespace edgesage
