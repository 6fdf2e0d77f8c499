#include "src/spaces/branched_blocks.h"

#include <algorithm>
#include <array>
#include <vector>

#include "src/spaces/fitting.h"

namespace edgesage {
namespace {

using Id = GraphBuilder::Id;

constexpr int64_t kMostChannels = 2048;

Conv2D window(int64_t channels, int64_t height, int64_t width, int64_t stride = 1) {
  return {.channels = channels,
          .kernel_h = height,
          .kernel_w = width,
          .stride_h = stride,
          .stride_w = stride};
}

Id halve(GraphBuilder& net, Id x, bool average) {
  const Pool2D pool{
      .kernel_h = 2, .kernel_w = 2, .stride_h = 2, .stride_w = 2, .padding = Padding::kSame};
  return average ? net.average_pool(x, pool) : net.max_pool(x, pool);
}

// Group by group where the converter knows no grouped convolution.
Id grouped(GraphBuilder& net, Id x, Conv2D options, const BranchedStyle& style,
           Nonlinearity nonlinearity) {
  int64_t groups = style.groups;
  while (net.shape(x).back() % groups != 0 || options.channels % groups != 0) groups /= 2;
  if (groups == 1 || !style.split_groups) {
    options.groups = groups;
    return conv_with(net, x, options, nonlinearity, style.explicit_pad);
  }
  options.channels /= groups;
  options.activation = fused_activation(nonlinearity);
  std::vector<Id> parts = net.split(x, groups);
  for (Id& part : parts) part = net.conv_2d(part, options);
  return activated(net, net.concatenation(parts, 3), nonlinearity);
}

// Normalisation and activation ahead of a convolution: no convolution before can take them up.
Id normalised(GraphBuilder& net, Id x, const BranchedStyle& style) {
  x = net.scale_and_shift(x, fused_activation(style.nonlinearity));
  return activated(net, x, style.nonlinearity);
}

Id shortcut_of(GraphBuilder& net, Id x, const BranchedStyle& style, int64_t channels,
               int64_t stride) {
  const Shape in = net.shape(x);
  if (in.size() != 4) return x;
  if (style.shortcut == Shortcut::kPadded && channels >= in[3]) {
    if (stride > 1) x = halve(net, x, false);
    if (channels > in[3]) x = net.pad(x, {0, 0, 0, 0, 0, 0, 0, channels - in[3]});
    return x;
  }
  if (style.shortcut == Shortcut::kPooled && stride > 1) {
    x = halve(net, x, true);
    stride = 1;
  }
  return net.conv_2d(x, window(channels, 1, 1, stride));
}

Id residual(GraphBuilder& net, Id x, const BranchedStyle& style, int64_t channels, int64_t stride,
            int64_t multiple) {
  const Id entry = x;
  const Nonlinearity used = style.nonlinearity;
  if (style.before) x = normalised(net, x, style);
  const Id source = style.before ? x : entry;
  if (style.kind == BranchedKind::kBasic) {
    x = conv_with(net, x, window(channels, style.kernel, style.kernel, stride), used,
                  style.explicit_pad);
    x = net.conv_2d(x, window(channels, style.kernel, style.kernel));
  } else {
    const int64_t inner =
        scale_channels(static_cast<double>(channels), style.inner_share, multiple);
    x = conv_with(net, x, window(inner, 1, 1, style.stride_first ? stride : 1), used, false);
    x = grouped(net, x, window(inner, style.kernel, style.kernel, style.stride_first ? 1 : stride),
                style, used);
    x = net.conv_2d(x, window(channels, 1, 1));
  }
  if (style.squeeze_ratio > 0)
    x = squeeze_excite(net, x, {.squeeze_ratio = style.squeeze_ratio}, multiple);
  if (net.shape(x).empty()) return x;
  const bool same = net.shape(x) == net.shape(entry);
  const Id left = same ? entry : shortcut_of(net, source, style, channels, stride);
  if (style.before) return net.add(left, x);
  return activated(net, net.add(left, x, fused_activation(used)), used);
}

Id dense_stage(GraphBuilder& net, Id x, const BranchedStage& stage, double width,
               int64_t multiple) {
  const BranchedStyle& style = stage.style;
  const int64_t growth = scale_channels(style.growth, width, multiple, 256);
  std::vector<Id> layers{x};
  for (int64_t i = 0; i < stage.blocks; ++i) {
    Id y = x;
    if (style.before) y = normalised(net, y, style);
    if (style.dense_inner)
      y = conv_with(net, y, window(4 * growth, 1, 1), style.nonlinearity, false);
    y = conv_with(net, y, window(growth, style.kernel, style.kernel),
                  style.before ? Nonlinearity::kNone : style.nonlinearity, false);
    if (style.dense_list)
      layers.push_back(y);
    else
      layers = {x, y};
    x = net.concatenation(layers, 3);
  }
  if (stage.stride < 2 || net.shape(x).empty()) return x;
  if (style.before) x = normalised(net, x, style);
  const int64_t channels = scale_channels(static_cast<double>(net.shape(x).back()),
                                          style.compression, multiple, kMostChannels);
  x = conv_with(net, x, window(channels, 1, 1),
                style.before ? Nonlinearity::kNone : style.nonlinearity, false);
  return halve(net, x, true);
}

Id pool_window(GraphBuilder& net, Id x, int64_t stride, bool average) {
  const Pool2D pool{.kernel_h = 3,
                    .kernel_w = 3,
                    .stride_h = stride,
                    .stride_w = stride,
                    .padding = Padding::kSame};
  return average ? net.average_pool(x, pool) : net.max_pool(x, pool);
}

Id wide_branch(GraphBuilder& net, Id x, const BranchedStyle& style, int64_t inner, int64_t channels,
               int64_t stride) {
  const Nonlinearity used = style.nonlinearity;
  x = conv_with(net, x, window(inner, 1, 1), used, false);
  switch (style.wide) {
    case WideWindow::kSquare:
      return conv_with(net, x, window(channels, 5, 5, stride), used, false);
    case WideWindow::kTwice:
      x = conv_with(net, x, window(channels, 3, 3), used, false);
      return conv_with(net, x, window(channels, 3, 3, stride), used, false);
    case WideWindow::kFactorised:
      x = conv_with(net, x, window(inner, 1, style.factor), used, false);
      x = conv_with(net, x, window(channels, style.factor, 1), used, false);
      return stride > 1 ? conv_with(net, x, window(channels, 3, 3, stride), used, false) : x;
  }
  return x;
}

Id inception(GraphBuilder& net, Id x, const BranchedStyle& style, int64_t channels, int64_t stride,
             int64_t multiple) {
  const Nonlinearity used = style.nonlinearity;
  const auto share = [&](double of) {
    return scale_channels(static_cast<double>(channels), of, multiple);
  };
  const int64_t middle = share(style.window_share);
  const int64_t wide = share(style.wide_share);
  std::vector<Id> branches;
  if (stride == 1)
    branches.push_back(conv_with(net, x, window(share(style.point_share), 1, 1), used, false));
  Id y = conv_with(net, x, window(share(0.6 * style.window_share), 1, 1), used, false);
  branches.push_back(conv_with(net, y, window(middle, 3, 3, stride), used, false));
  branches.push_back(wide_branch(net, x, style, share(0.5 * style.wide_share), wide, stride));
  const double rest = 1 - style.point_share - style.window_share - style.wide_share;
  // Where the map shrinks, the pool passes on what came.
  y = pool_window(net, x, stride, stride == 1 && style.average_branch);
  if (stride == 1) y = conv_with(net, y, window(share(std::max(0.05, rest)), 1, 1), used, false);
  branches.push_back(y);
  return net.concatenation(branches, 3);
}

}  // namespace

Id emit_stage(GraphBuilder& net, Id x, const BranchedStage& stage, double width, int64_t multiple) {
  const BranchedStyle& style = stage.style;
  if (style.kind == BranchedKind::kDense) return dense_stage(net, x, stage, width, multiple);
  const int64_t channels = scale_channels(stage.channels, width, multiple, kMostChannels);
  const bool pools = style.kind == BranchedKind::kPlain && style.pool_down;
  for (int64_t i = 0; i < stage.blocks; ++i) {
    const int64_t stride = i == 0 && !pools ? stage.stride : 1;
    switch (style.kind) {
      case BranchedKind::kBasic:
      case BranchedKind::kBottleneck:
        x = residual(net, x, style, channels, stride, multiple);
        break;
      case BranchedKind::kInception:
        x = inception(net, x, style, channels, stride, multiple);
        break;
      default:
        x = conv_with(net, x, window(channels, style.kernel, style.kernel, stride),
                      style.nonlinearity, style.explicit_pad);
    }
  }
  return pools && stage.stride > 1 ? halve(net, x, false) : x;
}

}  // namespace edgesage
