#include "src/spaces/mobile_blocks.h"

#include <algorithm>
#include <array>

#include "src/spaces/fitting.h"

namespace edgesage {
namespace {

using Id = GraphBuilder::Id;

// Pads as Keras does for a stride of 2 and makes the window VALID, where that was asked for.
template <class Window>
Id pad_for(GraphBuilder& net, Id x, Window& window, bool explicit_pad) {
  if (!explicit_pad || window.stride_h < 2 || window.kernel_h < 3) return x;
  window.padding = Padding::kValid;
  const int64_t total = window.kernel_h - 1;
  const int64_t before = (total - 1) / 2;
  return net.pad(x, {0, 0, before, total - before, before, total - before, 0, 0});
}

Conv2D conv_of(int64_t channels, int64_t kernel, int64_t stride) {
  return {.channels = channels,
          .kernel_h = kernel,
          .kernel_w = kernel,
          .stride_h = stride,
          .stride_w = stride};
}

Id halve(GraphBuilder& net, Id x) {
  return net.max_pool(
      x, {.kernel_h = 2, .kernel_w = 2, .stride_h = 2, .stride_w = 2, .padding = Padding::kSame});
}

Id separable(GraphBuilder& net, Id x, const BlockStyle& style, const BlockShape& shape,
             int64_t channels) {
  x = depthwise_with(net, x,
                     {.kernel_h = shape.kernel,
                      .kernel_w = shape.kernel,
                      .stride_h = shape.stride,
                      .stride_w = shape.stride},
                     style.nonlinearity, style.explicit_pad);
  return conv_with(net, x, {.channels = channels}, style.nonlinearity, false);
}

Id inverted(GraphBuilder& net, Id x, const BlockStyle& style, const BlockShape& shape,
            int64_t channels, int64_t multiple) {
  const Id entry = x;
  const int64_t inner =
      scale_channels(static_cast<double>(net.shape(x).back()), style.expansion, multiple);
  if (style.kind == BlockKind::kFused) {
    x = conv_with(net, x, conv_of(inner, shape.kernel, shape.stride), style.nonlinearity,
                  style.explicit_pad);
  } else {
    if (style.expansion > 1) x = conv_with(net, x, {.channels = inner}, style.nonlinearity, false);
    x = depthwise_with(net, x,
                       {.kernel_h = shape.kernel,
                        .kernel_w = shape.kernel,
                        .stride_h = shape.stride,
                        .stride_w = shape.stride},
                       style.nonlinearity, style.explicit_pad);
    if (style.squeeze_ratio > 0) x = squeeze_excite(net, x, style, multiple);
  }
  x = net.conv_2d(x, {.channels = channels});
  return style.residual && net.shape(x) == net.shape(entry) ? net.add(entry, x) : x;
}

Id residual(GraphBuilder& net, Id x, const BlockStyle& style, const BlockShape& shape,
            int64_t channels) {
  int64_t stride = shape.stride;
  if (stride > 1 && style.pool_down) {
    x = halve(net, x);
    stride = 1;
  }
  const Id entry = x;
  x = conv_with(net, x, conv_of(channels, shape.kernel, stride), style.nonlinearity,
                style.explicit_pad);
  x = net.conv_2d(x, conv_of(channels, shape.kernel, 1));
  const bool same = net.shape(x) == net.shape(entry);
  const Id shortcut = same ? entry : net.conv_2d(entry, conv_of(channels, 1, stride));
  x = net.add(shortcut, x, fused_activation(style.nonlinearity));
  return activated(net, x, style.nonlinearity);
}

Id plain(GraphBuilder& net, Id x, const BlockStyle& style, const BlockShape& shape,
         int64_t channels) {
  const bool pools = shape.stride > 1 && style.pool_down;
  x = conv_with(net, x, conv_of(channels, shape.kernel, pools ? 1 : shape.stride),
                style.nonlinearity, style.explicit_pad);
  return pools ? halve(net, x) : x;
}

Id fire(GraphBuilder& net, Id x, const BlockStyle& style, const BlockShape& shape, int64_t channels,
        int64_t multiple) {
  if (shape.stride > 1) x = halve(net, x);
  const int64_t inner = scale_channels(static_cast<double>(channels), 0.25, multiple);
  const int64_t half = std::max<int64_t>(1, channels / 2);
  x = conv_with(net, x, {.channels = inner}, style.nonlinearity, false);
  const std::array branches{
      net.conv_2d(x, {.channels = half, .activation = fused_activation(style.nonlinearity)}),
      net.conv_2d(x, {.channels = half,
                      .kernel_h = shape.kernel,
                      .kernel_w = shape.kernel,
                      .activation = fused_activation(style.nonlinearity)})};
  return net.concatenation(branches, 3);
}

}  // namespace

Activation fused_activation(Nonlinearity nonlinearity) {
  switch (nonlinearity) {
    case Nonlinearity::kRelu:
      return Activation::kRelu;
    case Nonlinearity::kRelu6:
      return Activation::kRelu6;
    default:
      return Activation::kNone;
  }
}

Id activated(GraphBuilder& net, Id x, Nonlinearity nonlinearity) {
  constexpr double kLeakySlope = 0.1;
  switch (nonlinearity) {
    case Nonlinearity::kHardSwish:
      return net.hard_swish(x);
    case Nonlinearity::kSwish:
      return net.mul(x, net.logistic(x));
    case Nonlinearity::kLeakyRelu:
      return net.leaky_relu(x, kLeakySlope);
    case Nonlinearity::kPrelu:
      return net.prelu(x);
    default:
      return x;
  }
}

Id squeeze_excite(GraphBuilder& net, Id x, const BlockStyle& style, int64_t multiple) {
  const int64_t channels = net.shape(x).back();
  const int64_t inner =
      scale_channels(static_cast<double>(channels), 1.0 / static_cast<double>(style.squeeze_ratio),
                     std::min<int64_t>(multiple, 8));
  Id gate = net.mean(x, {1, 2}, !style.squeeze_dense);
  if (style.squeeze_dense) {
    gate = net.fully_connected(gate, {.units = inner, .activation = Activation::kRelu});
    gate = net.fully_connected(gate, {.units = channels});
  } else {
    gate = net.conv_2d(gate, {.channels = inner, .activation = Activation::kRelu});
    gate = net.conv_2d(gate, {.channels = channels});
  }
  if (style.hard_gate)
    gate = net.mul_scalar(net.add_scalar(gate, 3, Activation::kRelu6), 1.0 / 6);
  else
    gate = net.logistic(gate);
  if (style.squeeze_dense) gate = net.reshape(gate, {1, 1, 1, channels});
  return net.mul(x, gate);
}

Id conv_with(GraphBuilder& net, Id x, Conv2D options, Nonlinearity nonlinearity,
             bool explicit_pad) {
  x = pad_for(net, x, options, explicit_pad);
  options.activation = fused_activation(nonlinearity);
  return activated(net, net.conv_2d(x, options), nonlinearity);
}

Id depthwise_with(GraphBuilder& net, Id x, DepthwiseConv2D options, Nonlinearity nonlinearity,
                  bool explicit_pad) {
  x = pad_for(net, x, options, explicit_pad);
  options.activation = fused_activation(nonlinearity);
  return activated(net, net.depthwise_conv_2d(x, options), nonlinearity);
}

Id emit_block(GraphBuilder& net, Id x, const BlockStyle& style, const BlockShape& shape,
              int64_t channels, int64_t multiple) {
  switch (style.kind) {
    case BlockKind::kSeparable:
      return separable(net, x, style, shape, channels);
    case BlockKind::kInverted:
    case BlockKind::kFused:
      return inverted(net, x, style, shape, channels, multiple);
    case BlockKind::kResidual:
      return residual(net, x, style, shape, channels);
    case BlockKind::kPlain:
      return plain(net, x, style, shape, channels);
    case BlockKind::kFire:
      return fire(net, x, style, shape, channels, multiple);
  }
  return x;
}

}  // namespace edgesage
