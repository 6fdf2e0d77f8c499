#include "src/spaces/inverted_bottleneck.h"

namespace edgesage {
namespace {

using Id = GraphBuilder::Id;

// Channel c of g groups goes to place (c mod size) * g + c / size (ShuffleNet; Zhang et al., 2018).
// With height and width as one dimension, so that four are enough.
Id shuffle_channels(GraphBuilder& net, Id x, int64_t groups) {
  const Shape shape = net.shape(x);
  if (shape.size() != 4) return x;
  const int64_t size = shape[3] / groups;
  x = net.reshape(x, {shape[0], shape[1] * shape[2], groups, size});
  x = net.transpose(x, {0, 1, 3, 2});
  return net.reshape(x, shape);
}

Id squeeze_excite(GraphBuilder& net, Id x, int64_t squeezed, Gate kind) {
  const int64_t channels = net.shape(x).empty() ? 1 : net.shape(x).back();
  Id gate = net.mean(x, {1, 2}, true);
  gate = net.conv_2d(gate, {.channels = squeezed, .activation = Activation::kRelu});
  gate = net.conv_2d(gate, {.channels = channels});
  if (kind == Gate::kHardSigmoid)
    gate = net.mul_scalar(net.add_scalar(gate, 3, Activation::kRelu6), 1.0 / 6);
  else
    gate = net.logistic(gate);
  return net.mul(x, gate);
}

Activation fused(bool hard_swish) { return hard_swish ? Activation::kNone : Activation::kRelu; }

}  // namespace

Id conv_activated(GraphBuilder& net, Id x, Conv2D options, bool hard_swish) {
  options.activation = fused(hard_swish);
  x = net.conv_2d(x, options);
  return hard_swish ? net.hard_swish(x) : x;
}

Id emit_inverted_bottleneck(GraphBuilder& net, Id x, const InvertedBottleneck& block) {
  const Id entry = x;
  if (block.expand) {
    x = conv_activated(net, x, {.channels = block.inner, .groups = block.groups}, block.hard_swish);
    if (block.groups > 1) x = shuffle_channels(net, x, block.groups);
  }
  x = net.depthwise_conv_2d(x, {.kernel_h = block.kernel,
                                .kernel_w = block.kernel,
                                .stride_h = block.stride,
                                .stride_w = block.stride,
                                .activation = fused(block.hard_swish)});
  if (block.hard_swish) x = net.hard_swish(x);
  if (block.squeezed > 0) x = squeeze_excite(net, x, block.squeezed, block.gate);
  x = net.conv_2d(x, {.channels = block.channels, .groups = block.groups});
  return net.shape(x) == net.shape(entry) ? net.add(entry, x) : x;
}

}  // namespace edgesage
