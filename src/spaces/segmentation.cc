#include "src/spaces/segmentation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "src/base/rng.h"
#include "src/graph/builder.h"
#include "src/spaces/fitting.h"
#include "src/spaces/mobile_blocks.h"

namespace edgesage {
namespace {

using Id = GraphBuilder::Id;

constexpr Parameter kMacs = log_uniform("macs", "multiply-accumulates aimed at", 1e7, 3e9);
constexpr Parameter kSide = one_of("side", "height of the image, pixels; 0: side_odd",
                                   {{64, 12},
                                    {80, 5},
                                    {96, 12},
                                    {112, 7},
                                    {128, 20},
                                    {160, 12},
                                    {192, 10},
                                    {224, 8},
                                    {256, 9},
                                    {0, 5}});
constexpr Parameter kSideOdd = integers("side_odd", "any other height", 64, 256);
constexpr Parameter kAspect =
    one_of("aspect", "width by height", {{1, 76}, {1.333, 9}, {1.5, 4}, {2, 5}, {0.75, 6}});
constexpr Parameter kWholeMaps =
    chance("whole_maps", "images whose sides can be halved as often as the network does", 0.8);
constexpr Parameter kColours = one_of("colours", "input channels", {{3, 80}, {1, 20}});
constexpr Parameter kFamily = one_of(
    "family",
    "0 encoder and decoder (U-Net), 1 parallel windows on the smallest map (DeepLab), 2 dilated "
    "windows one after the other (context network)",
    {{0, 62}, {1, 26}, {2, 12}});
constexpr Parameter kBlock =
    one_of("block", "0 separable, 1 inverted bottleneck, 2 residual, 3 plain",
           {{0, 24}, {1, 26}, {2, 15}, {3, 35}});
constexpr Parameter kDecoderBlock = one_of(
    "decoder_block", "0 separable, 1 as in the encoder, 3 plain", {{0, 22}, {1, 48}, {3, 30}});
constexpr Parameter kStem = one_of("stem", "first convolution: 1 none, 2 stride 2, 3 stride 1",
                                   {{1, 30}, {2, 45}, {3, 25}});
constexpr Parameter kChannels =
    uniform("channels", "of the first level, before the width multiplier", 8, 48);
constexpr Parameter kLevels = integers("levels", "halvings of the map behind the stem", 2, 6);
constexpr Parameter kDepth = one_of("depth", "blocks a level", {{1, 32}, {2, 46}, {3, 16}, {4, 6}});
constexpr Parameter kDecoderDepth =
    one_of("decoder_depth", "blocks a level of the decoder", {{1, 60}, {2, 36}, {0, 4}});
constexpr Parameter kGrowth = one_of("growth", "channels from one level to the next",
                                     {{2, 50}, {1.5, 30}, {1.25, 12}, {1, 8}});
constexpr Parameter kKernel = one_of("kernel", "window of a level", {{3, 85}, {5, 12}, {7, 3}});
constexpr Parameter kPoolDown = chance("pool_down", "residual and plain encoders that pool", 0.65);
constexpr Parameter kExpansion =
    one_of("expansion", "of inverted bottlenecks", {{2, 20}, {3, 20}, {4, 28}, {6, 32}});
constexpr Parameter kNonlinearity =
    one_of("nonlinearity", "0 ReLU, 1 ReLU6, 2 hard-swish, 3 leaky ReLU",
           {{0, 62}, {1, 28}, {2, 4}, {3, 6}});
constexpr Parameter kUp =
    one_of("up", "enlargement in a decoder: 0 transposed convolution, 1 bilinear, 2 nearest",
           {{0, 38}, {1, 34}, {2, 28}});
constexpr Parameter kTransposeKernel =
    one_of("transpose_kernel", "window of a transposed convolution", {{2, 50}, {3, 25}, {4, 25}});
constexpr Parameter kSkip =
    one_of("skip", "from encoder to decoder: 0 none, 1 concatenation, 2 addition",
           {{0, 8}, {1, 66}, {2, 26}});
constexpr Parameter kWindows =
    integers("windows", "dilated windows side by side or one after the other", 1, 5);
constexpr Parameter kFirstRate = one_of("first_rate", "dilation of the first window",
                                        {{1, 20}, {2, 35}, {3, 15}, {4, 15}, {6, 15}});
constexpr Parameter kRateGrowth = one_of(
    "rate_growth", "dilation from window to window: 0 one more, 1 twofold", {{0, 40}, {1, 60}});
constexpr Parameter kSeparableWindows =
    chance("separable_windows", "dilated windows that are depthwise", 0.4);
constexpr Parameter kImagePool =
    chance("image_pool", "DeepLabs with a branch of the mean, enlarged again", 0.55);
constexpr Parameter kLowSkip =
    chance("low_skip", "DeepLabs that concatenate an early map (version 3+)", 0.5);
constexpr Parameter kDilatedLast =
    chance("dilated_last", "U-Nets with dilated windows on the smallest map", 0.1);
constexpr Parameter kCorners = one_of("corners", "of bilinear: 0 plain, 1 aligned, 2 half pixels",
                                      {{0, 15}, {1, 20}, {2, 65}});
constexpr Parameter kMultiple =
    one_of("multiple", "channels are multiples of it", {{8, 52}, {16, 22}, {4, 12}, {1, 14}});
constexpr Parameter kClasses =
    one_of("classes", "of a pixel",
           {{1, 22}, {2, 18}, {3, 12}, {4, 8}, {8, 8}, {12, 8}, {19, 10}, {21, 14}});
constexpr Parameter kFullSize =
    chance("full_size", "networks that enlarge to the image's size at the end", 0.85);
constexpr Parameter kHead =
    one_of("head", "0 nothing, 1 logistic or softmax, 2 ARG_MAX (of two classes and more)",
           {{0, 38}, {1, 34}, {2, 28}});
constexpr Parameter kWideIndex = chance("wide_index", "ARG_MAX that gives int64, not int32", 0.5);

constexpr std::array kParameters{&kMacs,
                                 &kSide,
                                 &kSideOdd,
                                 &kAspect,
                                 &kWholeMaps,
                                 &kColours,
                                 &kFamily,
                                 &kBlock,
                                 &kDecoderBlock,
                                 &kStem,
                                 &kChannels,
                                 &kLevels,
                                 &kDepth,
                                 &kDecoderDepth,
                                 &kGrowth,
                                 &kKernel,
                                 &kPoolDown,
                                 &kExpansion,
                                 &kNonlinearity,
                                 &kUp,
                                 &kTransposeKernel,
                                 &kSkip,
                                 &kWindows,
                                 &kFirstRate,
                                 &kRateGrowth,
                                 &kSeparableWindows,
                                 &kImagePool,
                                 &kLowSkip,
                                 &kDilatedLast,
                                 &kCorners,
                                 &kMultiple,
                                 &kClasses,
                                 &kFullSize,
                                 &kHead,
                                 &kWideIndex};

constexpr NetworkLimits kLimits{.macs_low = 8e6,
                                .macs_high = 3.6e9,
                                .weights_low = 2'000,
                                .weights_high = 4'500'000,
                                .elements_high = 6'000'000};
constexpr int64_t kMostChannels = 768;

enum class Family : uint8_t { kUNet, kDeepLab, kContext };
enum class Up : uint8_t { kTransposed, kBilinear, kNearest };
enum class Skip : uint8_t { kNone, kConcatenation, kAddition };
enum class Head : uint8_t { kNone, kProbability, kArgMax };

struct Level {
  double channels = 16;  // before the width multiplier
  int64_t depth = 1, decoder_depth = 1, kernel = 3;
};

// Everything about a network but its width.
struct Plan {
  Shape input;
  Family family = Family::kUNet;
  BlockStyle style, decoder_style;
  int64_t stem_stride = 0;  // 0: no stem
  std::vector<Level> levels;
  Up up = Up::kBilinear;
  int64_t transpose_kernel = 2;
  Skip skip = Skip::kConcatenation;
  std::vector<int64_t> rates;  // of dilated windows
  bool separable_windows = false, image_pool = false, low_skip = false, dilated_last = false;
  Corners corners = Corners::kHalfPixel;
  int64_t multiple = 8, classes = 2;
  bool full_size = true;
  Head head = Head::kNone;
  DataType index = DataType::kInt32;
};

Shape draw_input(Rng& rng) {
  int64_t height = kSide.draw_integer(rng);
  const int64_t any_height = kSideOdd.draw_integer(rng);
  if (height == 0) height = any_height;
  const double aspect = kAspect.draw(rng);
  const auto width = std::clamp<int64_t>(
      static_cast<int64_t>(std::floor(static_cast<double>(height) * aspect + 0.5)), 64, 320);
  return {1, height, width, kColours.draw_integer(rng)};
}

void draw_blocks(Rng& rng, Plan& plan) {
  constexpr std::array kNonlinearities{Nonlinearity::kRelu, Nonlinearity::kRelu6,
                                       Nonlinearity::kHardSwish, Nonlinearity::kLeakyRelu};
  constexpr int64_t kAsInEncoder = 1;
  plan.style.kind = static_cast<BlockKind>(kBlock.draw_integer(rng));
  plan.style.nonlinearity = kNonlinearities[static_cast<size_t>(kNonlinearity.draw_integer(rng))];
  plan.style.expansion = kExpansion.draw(rng);
  plan.style.pool_down = kPoolDown.draw_chance(rng);
  plan.decoder_style = plan.style;
  const int64_t decoder = kDecoderBlock.draw_integer(rng);
  if (decoder != kAsInEncoder) plan.decoder_style.kind = static_cast<BlockKind>(decoder);
}

void draw_windows(Rng& rng, Plan& plan) {
  const int64_t count = kWindows.draw_integer(rng);
  int64_t rate = kFirstRate.draw_integer(rng);
  const bool doubles = kRateGrowth.draw_integer(rng) == 1;
  for (int64_t i = 0; i < count; ++i) {
    plan.rates.push_back(std::min<int64_t>(rate, 24));
    rate = doubles ? 2 * rate : rate + 1;
  }
  plan.separable_windows = kSeparableWindows.draw_chance(rng);
  plan.image_pool = kImagePool.draw_chance(rng);
  plan.low_skip = kLowSkip.draw_chance(rng);
  plan.dilated_last = kDilatedLast.draw_chance(rng);
}

// The nearest size that can be halved to the end.
void make_whole(Shape& input, int64_t stride) {
  for (const size_t side : {size_t{1}, size_t{2}})
    input[side] = std::max<int64_t>(1, (input[side] + stride / 2) / stride) * stride;
}

Plan draw_plan(Rng& rng) {
  Plan plan;
  plan.input = draw_input(rng);
  plan.family = static_cast<Family>(kFamily.draw_integer(rng));
  draw_blocks(rng, plan);
  const int64_t stem = kStem.draw_integer(rng);
  plan.stem_stride = stem == 1 ? 0 : stem == 2 ? 2 : 1;
  double channels = kChannels.draw(rng);
  const double growth = kGrowth.draw(rng);
  int64_t levels = kLevels.draw_integer(rng);
  // Context networks and DeepLabs keep a map of an eighth or a sixteenth.
  if (plan.family != Family::kUNet) levels = std::min<int64_t>(levels, 4);
  if (kWholeMaps.draw_chance(rng))
    make_whole(plan.input, std::max<int64_t>(1, plan.stem_stride) << levels);
  for (int64_t i = 0; i <= levels; ++i) {
    const int64_t depth = kDepth.draw_integer(rng);
    const int64_t decoder_depth = kDecoderDepth.draw_integer(rng);
    plan.levels.push_back({channels, depth, decoder_depth, kKernel.draw_integer(rng)});
    channels *= growth;
  }
  plan.up = static_cast<Up>(kUp.draw_integer(rng));
  plan.transpose_kernel = kTransposeKernel.draw_integer(rng);
  plan.skip = static_cast<Skip>(kSkip.draw_integer(rng));
  draw_windows(rng, plan);
  plan.corners = static_cast<Corners>(kCorners.draw_integer(rng));
  plan.multiple = kMultiple.draw_integer(rng);
  plan.classes = kClasses.draw_integer(rng);
  plan.full_size = kFullSize.draw_chance(rng);
  plan.head = static_cast<Head>(kHead.draw_integer(rng));
  plan.index = kWideIndex.draw_chance(rng) ? DataType::kInt64 : DataType::kInt32;
  return plan;
}

// A plan at work on one network.
class Emitter {
 public:
  Emitter(const Plan& plan, GraphBuilder& net, double width)
      : plan_(plan), net_(net), width_(width) {}

  Id emit() {
    Id x = encode(net_.input("image", plan_.input));
    if (net_.shape(x).size() != 4) return x;
    switch (plan_.family) {
      case Family::kUNet:
        if (plan_.dilated_last) x = context(x);
        x = decode(x);
        break;
      case Family::kDeepLab:
        x = parallel_windows(x);
        if (plan_.low_skip) x = join_early(x);
        break;
      case Family::kContext:
        x = context(x);
        break;
    }
    return head(x);
  }

 private:
  [[nodiscard]] int64_t scaled(double channels) const {
    return scale_channels(channels, width_, plan_.multiple, kMostChannels);
  }
  Id conv(Id x, int64_t channels, int64_t kernel, int64_t stride = 1) {
    return conv_with(net_, x,
                     {.channels = channels,
                      .kernel_h = kernel,
                      .kernel_w = kernel,
                      .stride_h = stride,
                      .stride_w = stride},
                     plan_.style.nonlinearity, false);
  }

  Id encode(Id x) {
    if (plan_.stem_stride > 0) x = conv(x, scaled(plan_.levels[0].channels), 3, plan_.stem_stride);
    for (size_t i = 0; i < plan_.levels.size(); ++i) {
      const Level& level = plan_.levels[i];
      BlockStyle style = plan_.style;
      // The image itself has too few channels for a depthwise window.
      if (i == 0 && plan_.stem_stride == 0 && style.kind != BlockKind::kResidual)
        style.kind = BlockKind::kPlain;
      // The map before the pool is the one that the decoder gets.
      const bool pools = style.pool_down && i > 0 &&
                         (style.kind == BlockKind::kPlain || style.kind == BlockKind::kResidual);
      if (pools)
        x = net_.max_pool(x, {.kernel_h = 2,
                              .kernel_w = 2,
                              .stride_h = 2,
                              .stride_w = 2,
                              .padding = Padding::kSame});
      style.pool_down = false;
      for (int64_t block = 0; block < level.depth; ++block) {
        const int64_t stride = i > 0 && block == 0 && !pools ? 2 : 1;
        x = emit_block(net_, x, style, {.kernel = level.kernel, .stride = stride},
                       scaled(level.channels), plan_.multiple);
      }
      maps_.push_back(x);
    }
    return x;
  }

  Id resize(Id x, int64_t height, int64_t width, bool nearest) {
    const Shape map = net_.shape(x);
    if (map.size() != 4 || (map[1] == height && map[2] == width)) return x;
    return nearest ? net_.resize_nearest(x, height, width, Corners::kHalfPixel)
                   : net_.resize_bilinear(x, height, width, plan_.corners);
  }
  // To the size of `like` (a transposed convolution can only double).
  Id enlarge(Id x, int64_t channels, const Shape& like) {
    const Shape map = net_.shape(x);
    if (map.size() != 4 || like.size() != 4) return x;
    if (plan_.up == Up::kTransposed && 2 * map[1] == like[1] && 2 * map[2] == like[2])
      return activated(net_,
                       net_.transpose_conv(
                           x, {.channels = channels,
                               .kernel = plan_.transpose_kernel,
                               .activation = fused_activation(plan_.decoder_style.nonlinearity)}),
                       plan_.decoder_style.nonlinearity);
    return resize(x, like[1], like[2], plan_.up == Up::kNearest);
  }
  Id decode(Id x) {
    for (size_t i = plan_.levels.size() - 1; i-- > 0;) {
      const Level& level = plan_.levels[i];
      const int64_t channels = scaled(level.channels);
      const Id side = maps_[i];
      x = enlarge(x, channels, net_.shape(side));
      if (net_.shape(x).size() != 4) return x;
      if (plan_.skip == Skip::kConcatenation) {
        x = net_.concatenation(std::array{side, x}, 3);
      } else if (plan_.skip == Skip::kAddition) {
        if (net_.shape(x) != net_.shape(side)) x = conv(x, net_.shape(side).back(), 1);
        x = net_.add(side, x);
      }
      for (int64_t block = 0; block < level.decoder_depth; ++block)
        x = emit_block(net_, x, plan_.decoder_style, {.kernel = level.kernel}, channels,
                       plan_.multiple);
    }
    return x;
  }

  Id dilated(Id x, int64_t channels, int64_t rate) {
    const Nonlinearity used = plan_.style.nonlinearity;
    if (plan_.separable_windows) {
      x = depthwise_with(net_, x,
                         {.kernel_h = 3, .kernel_w = 3, .dilation_h = rate, .dilation_w = rate},
                         used, false);
      return conv_with(net_, x, {.channels = channels}, used, false);
    }
    return conv_with(net_, x,
                     {.channels = channels,
                      .kernel_h = 3,
                      .kernel_w = 3,
                      .dilation_h = rate,
                      .dilation_w = rate},
                     used, false);
  }
  Id context(Id x) {
    const int64_t channels = net_.shape(x).empty() ? 1 : net_.shape(x).back();
    for (const int64_t rate : plan_.rates) x = dilated(x, channels, rate);
    return x;
  }
  Id parallel_windows(Id x) {
    const Shape map = net_.shape(x);
    const int64_t channels = scaled(plan_.levels.back().channels / 2);
    std::vector<Id> branches{conv(x, channels, 1)};
    for (const int64_t rate : plan_.rates) branches.push_back(dilated(x, channels, rate));
    if (plan_.image_pool) {
      const Id pooled = conv(net_.mean(x, {1, 2}, true), channels, 1);
      branches.push_back(resize(pooled, map[1], map[2], false));
    }
    return conv(net_.concatenation(branches, 3), channels, 1);
  }
  // DeepLab 3+: enlarges fourfold and joins an early map with few channels.
  Id join_early(Id x) {
    const Id early = maps_[std::min<size_t>(1, maps_.size() - 1)];
    const Shape map = net_.shape(early);
    if (map.size() != 4) return x;
    const int64_t channels = scaled(plan_.levels.back().channels / 2);
    x = resize(x, map[1], map[2], false);
    const Id side = conv(early, scaled(plan_.levels.front().channels), 1);
    x = net_.concatenation(std::array{x, side}, 3);
    return emit_block(net_, x, plan_.decoder_style, {}, channels, plan_.multiple);
  }

  Id head(Id x) {
    x = net_.conv_2d(x, {.channels = plan_.classes});
    if (plan_.full_size) {
      const Shape map = net_.shape(x);
      const bool doubles = map.size() == 4 && plan_.up == Up::kTransposed &&
                           2 * map[1] == plan_.input[1] && 2 * map[2] == plan_.input[2];
      x = doubles ? net_.transpose_conv(
                        x, {.channels = plan_.classes, .kernel = plan_.transpose_kernel})
                  : resize(x, plan_.input[1], plan_.input[2], false);
    }
    if (plan_.head == Head::kArgMax && plan_.classes > 1) return net_.arg_max(x, plan_.index);
    if (plan_.head == Head::kProbability)
      return plan_.classes > 1 ? net_.softmax(x) : net_.logistic(x);
    return x;
  }

  const Plan& plan_;
  GraphBuilder& net_;
  double width_;
  std::vector<Id> maps_;  // of the encoder, by level
};

}  // namespace

std::span<const Parameter* const> segmentation_parameters() { return kParameters; }

Result<Graph> build_segmentation(uint64_t seed) {
  Rng rng(seed, "segmentation/1");
  const double macs = kMacs.draw(rng);
  return sample_network(rng, "segmentation", macs, kLimits, [](Rng& draws) -> EmitOutputs {
    return [plan = draw_plan(draws)](GraphBuilder& net, double width) {
      return std::vector<Id>{Emitter(plan, net, width).emit()};
    };
  });
}

}  // namespace edgesage
