// The block that the published mobile spaces share: 1x1 up, depthwise, squeeze and excitation,
// 1x1 down, and the input added where shapes allow.
#pragma once

#include <cstdint>

#include "src/graph/builder.h"

namespace edgesage {

enum class Gate : uint8_t { kLogistic, kHardSigmoid };

struct InvertedBottleneck {
  int64_t inner = 1;     // channels of the depthwise convolution
  int64_t channels = 1;  // outputs
  int64_t kernel = 3, stride = 1;
  bool expand = true;       // false: no 1x1 in front, `inner` is the input's channels
  int64_t groups = 1;       // of both 1x1 convolutions; above 1 channels are shuffled between
  bool hard_swish = false;  // else ReLU
  int64_t squeezed = 0;     // channels of squeeze and excitation; 0: none
  Gate gate = Gate::kLogistic;
};

// Appends the block; returns its output, which has no activation.
GraphBuilder::Id emit_inverted_bottleneck(GraphBuilder& net, GraphBuilder::Id x,
                                          const InvertedBottleneck& block);

// A convolution with ReLU or hard-swish.
GraphBuilder::Id conv_activated(GraphBuilder& net, GraphBuilder::Id x, Conv2D options,
                                bool hard_swish);

}  // namespace edgesage
