// How well the values of a weight tensor compress, from a sample.
//
// NPU compilers store weights entropy-coded, so encoded size (and with it flash traffic and
// latency) depends on values, not only on shapes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/graph/graph.h"
#include "src/lower/rows.h"

namespace edgesage {

struct WeightStats {
  double zero_fraction = 0;  // of values equal to the zero point
  double distinct = 0;       // distinct values in the sample
  double entropy_bits = 0;   // of the sample's histogram, bits a value
  double mean_abs = 0;       // distance from the zero point, in steps
  // Bits a value that Ethos-U's weight codec needs, without scales, biases and padding.
  double encoded_bits_estimate = 0;
};

// Of a constant int8 or uint8 tensor, on at most 4,096 elements spread evenly over it (always the
// same ones). All zeros for other tensors and empty
// ones. Where the bytes are not at hand (an empty buffer), the statistics are those of typical
// trained weights. Cost: some microseconds, whatever the
// size; no allocation.
[[nodiscard]] WeightStats weight_stats(const Graph& graph, const Tensor& tensor);

// Elements that the statistics look at, of a tensor of `size`: all, or kWeightSample of them.
inline constexpr size_t kWeightSample = 4096;
[[nodiscard]] constexpr size_t weight_sample_index(size_t i, size_t size) {
  return size <= kWeightSample ? i : i * size / kWeightSample;
}
// The same statistics for a caller who has looked at those elements himself.
[[nodiscard]] WeightStats weight_stats_of_sample(std::span<const std::byte> sample, bool is_signed,
                                                 int64_t zero_point);

// Of each row's weights; a tensor that several rows share is looked at once. All zeros for rows
// without weights.
[[nodiscard]] std::vector<WeightStats> row_weight_stats(const Graph& graph,
                                                        const Lowering& lowering);

}  // namespace edgesage
