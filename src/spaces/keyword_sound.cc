#include "src/spaces/keyword_sound.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "src/base/rng.h"
#include "src/graph/builder.h"
#include "src/spaces/fitting.h"

namespace edgesage {
namespace {

using Id = GraphBuilder::Id;

constexpr Parameter kFamily =
    one_of("family",
           "0 DS-CNN, 1 one-dimensional stack, 2 dense autoencoder, 3 one convolution and a "
           "dense layer",
           {{0, 40}, {1, 28}, {2, 24}, {3, 8}});

// Spectrograms: frames by features.
constexpr Parameter kFrames = integers("frames", "time steps of a spectrogram", 20, 100);
constexpr Parameter kUsualFrames =
    one_of("usual_frames", "0: drawn from frames",
           {{0, 45}, {49, 25}, {98, 10}, {61, 5}, {32, 5}, {30, 5}, {25, 5}});
constexpr Parameter kBands =
    one_of("bands", "features a time step; 0: any_bands",
           {{10, 30}, {40, 22}, {13, 8}, {20, 6}, {32, 8}, {64, 6}, {0, 20}});
constexpr Parameter kAnyBands = integers("any_bands", "any other number of features", 8, 64);
constexpr Parameter kMultiple =
    one_of("multiple", "channels are multiples of it", {{8, 42}, {16, 16}, {4, 20}, {1, 22}});
constexpr Parameter kRelu6 = chance("relu6", "networks with ReLU6 in place of ReLU", 0.2);
constexpr Parameter kClasses = one_of("classes", "outputs of the network",
                                      {{12, 30},
                                       {2, 15},
                                       {3, 5},
                                       {10, 8},
                                       {11, 5},
                                       {35, 12},
                                       {4, 5},
                                       {6, 5},
                                       {20, 5},
                                       {30, 5},
                                       {50, 5}});
constexpr Parameter kSoftmax = chance("softmax", "classifiers that end with it", 0.75);
constexpr Parameter kMeanHead = chance("mean_head", "MEAN in place of AVERAGE_POOL_2D", 0.25);

constexpr Parameter kDsMacs =
    log_uniform("ds_macs", "multiply-accumulates aimed at, DS-CNN", 0.12e6, 48e6);
constexpr Parameter kFirstHeight =
    one_of("first_height", "window of the first convolution over time",
           {{10, 40}, {3, 22}, {5, 14}, {4, 10}, {8, 8}, {20, 6}});
constexpr Parameter kFirstWidth = one_of("first_width", "and over features",
                                         {{4, 40}, {3, 22}, {2, 8}, {10, 14}, {5, 8}, {8, 8}});
constexpr Parameter kFirstStrideTime =
    one_of("first_stride_time", "stride of the first convolution over time", {{1, 20}, {2, 80}});
constexpr Parameter kFirstStrideBands =
    one_of("first_stride_bands", "and over features", {{1, 40}, {2, 60}});
constexpr Parameter kDsDepth = integers("ds_depth", "depthwise-separable blocks", 3, 12);
constexpr Parameter kDsStride = chance("ds_stride", "blocks with stride 2", 0.12);
constexpr Parameter kDsKernel =
    one_of("ds_kernel", "depthwise window; 35 is 3x5", {{3, 82}, {5, 10}, {35, 8}});
constexpr Parameter kDsGrowth =
    uniform("ds_growth", "channels from block to block, in a quarter of the networks", 0.8, 1.4);
constexpr Parameter kGrows =
    chance("grows", "DS-CNNs whose channels change from block to block", 0.25);

constexpr Parameter kLineMacs =
    log_uniform("line_macs", "multiply-accumulates aimed at, one-dimensional", 0.06e6, 30e6);
constexpr Parameter kLineBlock = one_of(
    "line_block", "0 residual (TC-ResNet), 1 separable, 2 plain", {{0, 40}, {1, 42}, {2, 18}});
constexpr Parameter kLineAlongWidth =
    chance("line_along_width", "time along the width, not the height", 0.4);
constexpr Parameter kLineKernel = one_of("line_kernel", "window over time",
                                         {{3, 20},
                                          {4, 4},
                                          {5, 16},
                                          {6, 3},
                                          {7, 13},
                                          {8, 4},
                                          {9, 24},
                                          {10, 4},
                                          {11, 8},
                                          {13, 2},
                                          {15, 2}});
constexpr Parameter kLineBlocks =
    integers("line_blocks", "blocks of a one-dimensional network", 2, 10);
constexpr Parameter kLineStride = chance("line_stride", "blocks with stride 2", 0.4);
constexpr Parameter kLineGrowth = uniform("line_growth", "channels from block to block", 0.95, 1.6);
constexpr Parameter kLineResidual =
    chance("line_residual", "separable blocks that add their input", 0.4);
constexpr Parameter kLineAlike = chance("line_alike", "networks with one window throughout", 0.6);
constexpr Parameter kLineValid =
    chance("line_valid", "VALID windows where they fit, in networks that add nothing", 0.4);
constexpr Parameter kLineStem = chance("line_stem", "networks that begin with a convolution", 0.75);
constexpr Parameter kLineClose = chance(
    "line_close", "VALID separable networks whose last window covers the rest of the time", 0.5);
constexpr Parameter kLineDilation =
    chance("line_dilation", "plain networks that dilate by 2 in every other block", 0.25);

constexpr Parameter kDenseMacs =
    log_uniform("dense_macs", "multiply-accumulates aimed at, autoencoder", 5e3, 2.5e6);
constexpr Parameter kDenseInputs = one_of(
    "dense_inputs", "0: any_dense_inputs",
    {{640, 25}, {128, 8}, {256, 10}, {320, 8}, {512, 8}, {64, 8}, {784, 5}, {1024, 5}, {0, 23}});
constexpr Parameter kAnyDenseInputs =
    log_uniform("any_dense_inputs", "any other number of inputs", 64, 1024);
constexpr Parameter kDenseLayers =
    integers("dense_layers", "layers on each side of the bottleneck", 1, 6);
constexpr Parameter kDenseShrink =
    uniform("dense_shrink", "units from layer to layer towards the bottleneck", 0.5, 1);
constexpr Parameter kDenseFlat =
    chance("dense_flat", "autoencoders whose hidden layers are all alike", 0.5);
constexpr Parameter kBottleneck = log_uniform("bottleneck", "units", 2, 32);
constexpr Parameter kDenseClassifier =
    chance("dense_classifier", "half of an autoencoder with a classifier behind it", 0.15);

constexpr Parameter kSingleMacs =
    log_uniform("single_macs", "multiply-accumulates aimed at, one convolution", 0.03e6, 6e6);
constexpr Parameter kSingleDepthwise =
    chance("single_depthwise", "a depthwise convolution with a multiplier", 0.5);

constexpr std::array kParameters{
    &kFamily,          &kFrames,      &kUsualFrames,    &kBands,           &kAnyBands,
    &kMultiple,        &kRelu6,       &kClasses,        &kSoftmax,         &kMeanHead,
    &kDsMacs,          &kFirstHeight, &kFirstWidth,     &kFirstStrideTime, &kFirstStrideBands,
    &kDsDepth,         &kDsStride,    &kDsKernel,       &kDsGrowth,        &kGrows,
    &kLineMacs,        &kLineBlock,   &kLineAlongWidth, &kLineKernel,      &kLineBlocks,
    &kLineStride,      &kLineGrowth,  &kLineResidual,   &kLineDilation,    &kLineAlike,
    &kLineValid,       &kLineStem,    &kLineClose,      &kDenseMacs,       &kDenseInputs,
    &kAnyDenseInputs,  &kDenseLayers, &kDenseShrink,    &kDenseFlat,       &kBottleneck,
    &kDenseClassifier, &kSingleMacs,  &kSingleDepthwise};

constexpr NetworkLimits kLimits{
    .macs_low = 5e3, .macs_high = 5e7, .weights_low = 2'000, .weights_high = 4'200'000};

// What the families have in common.
struct Common {
  int64_t frames = 49, bands = 10;
  int64_t multiple = 8;
  Activation activation = Activation::kRelu;
  int64_t classes = 12;
  bool softmax = true, mean_head = false;
};

Common draw_common(Rng& rng) {
  Common common;
  common.frames = kUsualFrames.draw_integer(rng);
  if (common.frames == 0) common.frames = kFrames.draw_integer(rng);
  common.bands = kBands.draw_integer(rng);
  if (common.bands == 0) common.bands = kAnyBands.draw_integer(rng);
  common.multiple = kMultiple.draw_integer(rng);
  common.activation = kRelu6.draw_chance(rng) ? Activation::kRelu6 : Activation::kRelu;
  common.classes = kClasses.draw_integer(rng);
  common.softmax = kSoftmax.draw_chance(rng);
  common.mean_head = kMeanHead.draw_chance(rng);
  return common;
}

// Average over the whole map, dense layer, softmax.
Id emit_head(const Common& common, GraphBuilder& net, Id x) {
  const Shape map = net.shape(x);
  if (map.size() != 4) return x;
  if (common.mean_head) {
    x = net.mean(x, {1, 2}, false);
  } else {
    if (map[1] * map[2] > 1)
      x = net.average_pool(
          x, {.kernel_h = map[1], .kernel_w = map[2], .stride_h = map[1], .stride_w = map[2]});
    x = net.reshape(x, {1, map[3]});
  }
  x = net.fully_connected(x, {.units = common.classes});
  return common.softmax ? net.softmax(x) : x;
}

EmitNetwork draw_ds_cnn(Rng& rng, const Common& common) {
  struct Block {
    int64_t kernel_h = 3, kernel_w = 3, stride = 1;
    double channels = 64;
  };
  Conv2D first;
  first.kernel_h = kFirstHeight.draw_integer(rng);
  first.kernel_w = std::min(kFirstWidth.draw_integer(rng), common.bands);
  first.stride_h = kFirstStrideTime.draw_integer(rng);
  first.stride_w = kFirstStrideBands.draw_integer(rng);
  first.activation = common.activation;
  const bool grows = kGrows.draw_chance(rng);
  const int64_t kernel = kDsKernel.draw_integer(rng);
  std::vector<Block> blocks(static_cast<size_t>(kDsDepth.draw_integer(rng)));
  double channels = 64;
  for (Block& block : blocks) {
    const double growth = kDsGrowth.draw(rng);
    if (grows) channels *= growth;
    block = {.kernel_h = kernel == 35 ? 3 : kernel,
             .kernel_w = kernel == 35 ? 5 : kernel,
             .stride = kDsStride.draw_chance(rng) ? 2 : 1,
             .channels = channels};
  }
  return [=](GraphBuilder& net, double width) mutable {
    Id x = net.input("spectrogram", {1, common.frames, common.bands, 1});
    first.channels = scale_channels(64, width, common.multiple, 512);
    x = net.conv_2d(x, first);
    for (const Block& block : blocks) {
      x = net.depthwise_conv_2d(x, {.kernel_h = block.kernel_h,
                                    .kernel_w = block.kernel_w,
                                    .stride_h = block.stride,
                                    .stride_w = block.stride,
                                    .activation = common.activation});
      x = net.conv_2d(x, {.channels = scale_channels(block.channels, width, common.multiple, 512),
                          .activation = common.activation});
    }
    return emit_head(common, net, x);
  };
}

enum class LineKind : uint8_t { kResidual = 0, kSeparable = 1, kPlain = 2 };

struct LineBlock {
  int64_t kernel = 9, stride = 1, dilation = 1;
  double channels = 24;
};

// A stack of windows along time, which is the height or the width of the map; features are
// channels.
struct Line {
  LineKind kind = LineKind::kResidual;
  bool along_width = false, residual = false, valid = false, stem = true, closes = false;
  Activation activation = Activation::kRelu;
  int64_t multiple = 8;
  std::vector<LineBlock> blocks;

  [[nodiscard]] int64_t time_of(const Shape& map) const {
    return map.size() == 4 ? map[along_width ? 2 : 1] : 0;
  }
  template <class Window>
  void set(Window& window, const Shape& map, const LineBlock& block) const {
    (along_width ? window.kernel_w : window.kernel_h) = block.kernel;
    // Some compilers want equal strides; along a side of 1 they change nothing.
    window.stride_h = window.stride_w = block.stride;
    (along_width ? window.dilation_w : window.dilation_h) = block.dilation;
    const bool fits = (block.kernel - 1) * block.dilation < time_of(map);
    window.padding = valid && fits ? Padding::kValid : Padding::kSame;
  }
  Id conv(GraphBuilder& net, Id x, int64_t channels, const LineBlock& block,
          Activation used) const {
    Conv2D options{.channels = channels, .activation = used};
    set(options, net.shape(x), block);
    return net.conv_2d(x, options);
  }
  Id depthwise(GraphBuilder& net, Id x, const LineBlock& block) const {
    DepthwiseConv2D options;
    set(options, net.shape(x), block);
    return net.depthwise_conv_2d(x, options);
  }

  Id emit_block(GraphBuilder& net, Id x, const LineBlock& block, int64_t channels) const {
    const Id entry = x;
    if (kind == LineKind::kPlain) return conv(net, x, channels, block, activation);
    if (kind == LineKind::kSeparable) {
      x = depthwise(net, x, block);
      x = net.conv_2d(x, {.channels = channels, .activation = activation});
      return residual && net.shape(x) == net.shape(entry) ? net.add(entry, x) : x;
    }
    x = conv(net, x, channels, block, activation);
    x = conv(net, x, channels, {.kernel = block.kernel}, Activation::kNone);
    const bool same = net.shape(x) == net.shape(entry);
    const LineBlock point{.kernel = 1, .stride = block.stride};
    return net.add(same ? entry : conv(net, entry, channels, point, activation), x, activation);
  }

  Id emit(GraphBuilder& net, Id x, double width) const {
    if (stem) x = conv(net, x, scale_channels(16, width, multiple, 256), {.kernel = 3}, activation);
    for (const LineBlock& block : blocks)
      x = emit_block(net, x, block, scale_channels(block.channels, width, multiple, 512));
    if (!closes) return x;
    const Shape map = net.shape(x);
    return map.empty() ? x : emit_block(net, x, {.kernel = time_of(map)}, map.back());
  }
};

EmitNetwork draw_line(Rng& rng, const Common& common) {
  Line line;
  line.activation = common.activation;
  line.multiple = common.multiple;
  line.along_width = kLineAlongWidth.draw_chance(rng);
  line.kind = static_cast<LineKind>(kLineBlock.draw_integer(rng));
  line.residual = kLineResidual.draw_chance(rng);
  const bool adds = line.residual || line.kind == LineKind::kResidual;
  line.valid = kLineValid.draw_chance(rng) && !adds;
  line.stem = kLineStem.draw_chance(rng);
  line.closes = kLineClose.draw_chance(rng) && line.valid && line.kind == LineKind::kSeparable;
  const bool dilates = kLineDilation.draw_chance(rng) && line.kind == LineKind::kPlain;
  const int64_t usual_kernel = kLineKernel.draw_integer(rng);
  const bool alike = kLineAlike.draw_chance(rng);
  line.blocks.resize(static_cast<size_t>(kLineBlocks.draw_integer(rng)));
  double channels = 24;
  for (size_t i = 0; i < line.blocks.size(); ++i) {
    channels *= kLineGrowth.draw(rng);
    const int64_t kernel = kLineKernel.draw_integer(rng);
    LineBlock& block = line.blocks[i];
    block = {.kernel = alike ? usual_kernel : kernel,
             .stride = kLineStride.draw_chance(rng) ? 2 : 1,
             .dilation = 1,
             .channels = channels};
    if (dilates && i % 2 == 1 && block.stride == 1) block.dilation = 2;
  }
  return [line, common](GraphBuilder& net, double width) {
    const Id x = net.input("frames", line.along_width ? Shape{1, 1, common.frames, common.bands}
                                                      : Shape{1, common.frames, 1, common.bands});
    return emit_head(common, net, line.emit(net, x, width));
  };
}

EmitNetwork draw_autoencoder(Rng& rng, const Common& common) {
  int64_t inputs = kDenseInputs.draw_integer(rng);
  if (inputs == 0) inputs = kAnyDenseInputs.draw_integer(rng);
  const int64_t bottleneck = kBottleneck.draw_integer(rng);
  const bool flat = kDenseFlat.draw_chance(rng);
  const bool classifies = kDenseClassifier.draw_chance(rng);
  std::vector<double> hidden(static_cast<size_t>(kDenseLayers.draw_integer(rng)));
  double units = 128;
  for (double& layer : hidden) {
    layer = units;
    const double shrink = kDenseShrink.draw(rng);
    if (!flat) units *= shrink;
  }
  return [=](GraphBuilder& net, double width) {
    const auto dense = [&](Id x, double size) {
      const int64_t scaled = scale_channels(size, width, common.multiple, 512);
      return net.fully_connected(
          x, {.units = std::max<int64_t>(8, scaled), .activation = common.activation});
    };
    Id x = net.input("features", {1, inputs});
    for (const double layer : hidden) x = dense(x, layer);
    x = net.fully_connected(x, {.units = bottleneck, .activation = common.activation});
    if (classifies) {
      x = net.fully_connected(x, {.units = common.classes});
      return common.softmax ? net.softmax(x) : x;
    }
    for (auto layer = hidden.rbegin(); layer != hidden.rend(); ++layer) x = dense(x, *layer);
    return net.fully_connected(x, {.units = inputs});
  };
}

EmitNetwork draw_single(Rng& rng, const Common& common) {
  // Ethos-U takes no dense layer of more inputs than this.
  constexpr int64_t kMostDenseInputs = 65'535;
  const bool depthwise = kSingleDepthwise.draw_chance(rng);
  Conv2D first;
  first.kernel_h = kFirstHeight.draw_integer(rng);
  first.kernel_w = std::min(kFirstWidth.draw_integer(rng), common.bands);
  first.stride_h = first.stride_w = kFirstStrideTime.draw_integer(rng);
  first.activation = common.activation;
  const int64_t positions = window_positions(common.frames, first.kernel_h, first.stride_h, 1, 0) *
                            window_positions(common.bands, first.kernel_w, first.stride_w, 1, 0);
  const int64_t most = std::min<int64_t>(256, kMostDenseInputs / positions);
  return [=](GraphBuilder& net, double width) mutable {
    Id x = net.input("spectrogram", {1, common.frames, common.bands, 1});
    first.channels = scale_channels(8, width, depthwise ? 1 : common.multiple, most);
    if (depthwise) {
      x = net.depthwise_conv_2d(x, {.multiplier = first.channels,
                                    .kernel_h = first.kernel_h,
                                    .kernel_w = first.kernel_w,
                                    .stride_h = first.stride_h,
                                    .stride_w = first.stride_w,
                                    .activation = first.activation});
    } else {
      x = net.conv_2d(x, first);
    }
    x = net.reshape(x, {1, positions * first.channels});
    x = net.fully_connected(x, {.units = common.classes});
    return common.softmax ? net.softmax(x) : x;
  };
}

struct Family {
  const Parameter* macs;
  EmitNetwork (*draw)(Rng& rng, const Common& common);
};
constexpr std::array<Family, 4> kFamilies{{{&kDsMacs, draw_ds_cnn},
                                           {&kLineMacs, draw_line},
                                           {&kDenseMacs, draw_autoencoder},
                                           {&kSingleMacs, draw_single}}};

}  // namespace

std::span<const Parameter* const> keyword_sound_parameters() { return kParameters; }

Result<Graph> build_keyword_sound(uint64_t seed) {
  Rng rng(seed, "keyword-sound/1");
  const Family& family = kFamilies[static_cast<size_t>(kFamily.draw_integer(rng))];
  const double macs = family.macs->draw(rng);
  double tolerance = 1.15;
  // Plans that no width brings to the drawn amount of work are drawn again.
  while (true) {
    const Common common = draw_common(rng);
    const EmitNetwork emit = family.draw(rng, common);
    const std::optional<double> width = fit_width(emit, macs, tolerance, kLimits);
    if (width) return make_network(emit, *width, "keyword-sound", rng.next());
    tolerance *= 1.02;
  }
}

}  // namespace edgesage
