// The building blocks of image classifiers.
#pragma once

#include <cstdint>

#include "src/graph/builder.h"

namespace edgesage {

enum class BlockKind : uint8_t {
  kSeparable = 0,  // depthwise, 1x1 (MobileNetV1)
  kInverted = 1,   // 1x1 up, depthwise, 1x1 down, add (MobileNetV2, V3)
  kResidual = 2,   // two convolutions, add (ResNet)
  kPlain = 3,      // one convolution (VGG)
  kFire = 4,       // 1x1 down, then 1x1 and kxk side by side, concatenated (SqueezeNet)
  kFused = 5,      // kxk up, 1x1 down, add (EfficientNetV2)
};
enum class Nonlinearity : uint8_t {
  kNone,
  kRelu,
  kRelu6,
  kHardSwish,
  kSwish,      // LOGISTIC and MUL
  kLeakyRelu,  // slope 0.1
  kPrelu,
};

// What the blocks of a stage have in common.
struct BlockStyle {
  BlockKind kind = BlockKind::kSeparable;
  Nonlinearity nonlinearity = Nonlinearity::kRelu;
  double expansion = 1;        // inverted and fused
  bool residual = true;        // inverted and fused: add the input where shapes allow
  bool explicit_pad = false;   // PAD and VALID where the stride is 2
  bool pool_down = false;      // residual, plain, fire: 2x2 maximum pool in place of a stride
  int64_t squeeze_ratio = 0;   // inverted: squeeze and excitation; 0: none
  bool hard_gate = false;      // its gate is a hard-sigmoid, not a logistic
  bool squeeze_dense = false;  // its layers are fully connected, not 1x1 convolutions
};
struct BlockShape {
  int64_t kernel = 3;
  int64_t stride = 1;
};

// What TFLite fuses of a nonlinearity, and what has to follow as operators of its own.
[[nodiscard]] Activation fused_activation(Nonlinearity nonlinearity);
GraphBuilder::Id activated(GraphBuilder& net, GraphBuilder::Id x, Nonlinearity nonlinearity);

// A convolution with its nonlinearity, fused where TFLite can. `explicit_pad` matters for strides
// above 1.
GraphBuilder::Id conv_with(GraphBuilder& net, GraphBuilder::Id x, Conv2D options,
                           Nonlinearity nonlinearity, bool explicit_pad);
GraphBuilder::Id depthwise_with(GraphBuilder& net, GraphBuilder::Id x, DepthwiseConv2D options,
                                Nonlinearity nonlinearity, bool explicit_pad);

// Squeeze and excitation by the style's ratio, gate and layers.
GraphBuilder::Id squeeze_excite(GraphBuilder& net, GraphBuilder::Id x, const BlockStyle& style,
                                int64_t multiple);

// Appends one block with `channels` outputs; inner channels are multiples of `multiple`.
GraphBuilder::Id emit_block(GraphBuilder& net, GraphBuilder::Id x, const BlockStyle& style,
                            const BlockShape& shape, int64_t channels, int64_t multiple);

}  // namespace edgesage
