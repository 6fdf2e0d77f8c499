// How an Ethos-U55 or U65 cuts a row into blocks, from the public facts of the machine: the shape
// that its multipliers work on at once, and shared memory for double-buffered inputs and sums.
#pragma once

#include <cstdint>

#include "src/lower/rows.h"

namespace edgesage {

struct EthosArray {
  int32_t unit_h = 2, unit_w = 2, unit_c = 8;  // outputs that are worked on at once
  int32_t cores = 1;                           // that share the output channels
  int32_t banks = 48;                          // of shared memory, 1 KiB each
  int32_t ifm_granule = 8, sum_granule = 16;   // banks are handed out in these steps
};

// The array of a U55 or U65, by its multiply-accumulates a cycle.
[[nodiscard]] EthosArray ethos_array(const Target& target);

enum class EthosKernel : uint8_t {
  kDense,
  kDepthwise,
  kPooling,
  kVector,
  kSum,     // over the channels
  kMatrix,  // both operands are activations
  kElementwise
};

struct EthosBlock {
  int64_t h = 1, w = 1, c = 1;              // outputs of one block
  int64_t ifm_h = 1, ifm_w = 1, ifm_c = 1;  // inputs it needs, of one pass over input channels
  bool part_kernel = false;                 // four taps of eight channels instead of 32 channels
  int64_t unit_h = 2, unit_w = 2;           // U85: outputs that are worked on at once
};

// The block that moves least data. `kernel_h` and `kernel_w` include dilation. Cost: a search over
// at most some thousand candidates, 1 to 30 us (ethos_block_memo.h remembers).
[[nodiscard]] EthosBlock choose_ethos_block(const EthosArray& array, EthosKernel kernel,
                                            const Shape4& ifm, const Shape4& ofm, int64_t kernel_h,
                                            int64_t kernel_w, int64_t stride_h, int64_t stride_w,
                                            int64_t ifm_bits);

}  // namespace edgesage
