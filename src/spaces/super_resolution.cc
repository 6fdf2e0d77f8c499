#include "src/spaces/super_resolution.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "src/base/rng.h"
#include "src/graph/builder.h"
#include "src/spaces/fitting.h"
#include "src/spaces/mobile_blocks.h"

namespace edgesage {
namespace {

using Id = GraphBuilder::Id;

constexpr Parameter kMacs = log_uniform("macs", "multiply-accumulates aimed at", 5e6, 4e9);
constexpr Parameter kSide = one_of("side", "height of the small image, pixels; 0: side_odd",
                                   {{32, 10},
                                    {48, 10},
                                    {64, 12},
                                    {80, 6},
                                    {90, 5},
                                    {96, 8},
                                    {120, 9},
                                    {128, 9},
                                    {160, 6},
                                    {180, 6},
                                    {240, 4},
                                    {320, 3},
                                    {0, 12}});
constexpr Parameter kSideOdd = integers("side_odd", "any other height", 32, 320);
constexpr Parameter kAspect =
    one_of("aspect", "width by height",
           {{1, 52}, {1.333, 16}, {1.778, 18}, {1.5, 5}, {0.75, 5}, {0.5625, 4}});
constexpr Parameter kColours = one_of("colours", "channels of the image", {{3, 58}, {1, 42}});
constexpr Parameter kScale = one_of("scale", "enlargement", {{2, 46}, {3, 19}, {4, 35}});
constexpr Parameter kFamily = one_of(
    "family",
    "0 plain convolutions (ESPCN), 1 shrink, map, expand (FSRCNN), 2 residual blocks (EDSR), "
    "3 separable blocks, 4 dense blocks (RDN), 5 convolutions on the enlarged image (SRCNN)",
    {{0, 24}, {1, 20}, {2, 26}, {3, 12}, {4, 10}, {5, 8}});
constexpr Parameter kChannels =
    uniform("channels", "of the body, before the width multiplier", 12, 64);
constexpr Parameter kDepth = integers("depth", "blocks of the body", 1, 10);
constexpr Parameter kFirstKernel =
    one_of("first_kernel", "window of the first convolution", {{3, 55}, {5, 38}, {9, 7}});
constexpr Parameter kKernel = one_of("kernel", "window of the body", {{3, 90}, {5, 8}, {7, 2}});
constexpr Parameter kShrink = one_of("shrink", "channels inside FSRCNN by those outside",
                                     {{0.25, 50}, {0.5, 35}, {0.125, 15}});
constexpr Parameter kNonlinearity =
    one_of("nonlinearity", "0 ReLU, 1 ReLU6, 2 PReLU, 3 leaky ReLU, 4 hard-swish",
           {{0, 58}, {1, 10}, {2, 17}, {3, 12}, {4, 3}});
constexpr Parameter kBodySkip =
    chance("body_skip", "bodies of blocks that end with a convolution and add their input", 0.6);
constexpr Parameter kResidualScale =
    chance("residual_scale", "EDSRs that multiply residuals by 0.1", 0.12);
constexpr Parameter kAttention =
    chance("attention", "EDSRs with squeeze and excitation in their blocks (RCAN)", 0.1);
constexpr Parameter kExpansion = one_of(
    "expansion", "of separable blocks; 1: depthwise and 1x1 alone", {{1, 50}, {2, 25}, {4, 25}});
constexpr Parameter kDenseLayers = integers("dense_layers", "layers of a dense block", 2, 6);
constexpr Parameter kUpsampler = one_of(
    "upsampler",
    "0 depth to space, 1 transposed convolution, 2 nearest and a convolution, 3 bilinear and "
    "a convolution",
    {{0, 52}, {1, 28}, {2, 11}, {3, 9}});
constexpr Parameter kInSteps = chance("in_steps", "fourfold enlargement by two steps of two", 0.4);
constexpr Parameter kLastConv =
    chance("last_conv", "networks with a convolution on the enlarged image", 0.3);
constexpr Parameter kTransposeKernel =
    one_of("transpose_kernel", "window of a transposed convolution by its stride; 0: 9",
           {{1, 34}, {2, 40}, {1.5, 10}, {0, 16}});
constexpr Parameter kGlobalSkip = one_of(
    "global_skip",
    "adds the small image: 0 no, 1 bilinear, 2 nearest, 3 its channels repeated before depth "
    "to space",
    {{0, 58}, {1, 18}, {2, 10}, {3, 14}});
constexpr Parameter kCorners = one_of("corners", "of bilinear: 0 plain, 1 aligned, 2 half pixels",
                                      {{0, 15}, {1, 15}, {2, 70}});
constexpr Parameter kMultiple =
    one_of("multiple", "channels are multiples of it", {{8, 42}, {16, 20}, {4, 22}, {1, 16}});

constexpr std::array kParameters{
    &kMacs,         &kSide,     &kSideOdd,       &kAspect,          &kColours,    &kScale,
    &kFamily,       &kChannels, &kDepth,         &kFirstKernel,     &kKernel,     &kShrink,
    &kNonlinearity, &kBodySkip, &kResidualScale, &kAttention,       &kExpansion,  &kDenseLayers,
    &kUpsampler,    &kInSteps,  &kLastConv,      &kTransposeKernel, &kGlobalSkip, &kCorners,
    &kMultiple};

constexpr NetworkLimits kLimits{.macs_low = 4e6,
                                .macs_high = 5e9,
                                .weights_low = 500,
                                .weights_high = 3'000'000,
                                .elements_high = 8'000'000};
constexpr int64_t kMostChannels = 256;

enum class Family : uint8_t { kPlain, kShrunk, kResidual, kSeparable, kDense, kEnlarged };
enum class Upsampler : uint8_t { kDepthToSpace, kTransposed, kNearest, kBilinear };
enum class GlobalSkip : uint8_t { kNone, kBilinear, kNearest, kRepeated };

// Everything about a network but its width.
struct Plan {
  Shape input;
  int64_t scale = 2;
  Family family = Family::kPlain;
  double channels = 32;
  int64_t depth = 3, first_kernel = 3, kernel = 3, dense_layers = 3;
  double shrink = 0.25, expansion = 1;
  Nonlinearity nonlinearity = Nonlinearity::kRelu;
  bool body_skip = false, residual_scale = false, attention = false;
  Upsampler upsampler = Upsampler::kDepthToSpace;
  bool in_steps = false, last_conv = false;
  double transpose_kernel = 2;
  GlobalSkip global_skip = GlobalSkip::kNone;
  Corners corners = Corners::kHalfPixel;
  int64_t multiple = 8;
};

Plan draw_plan(Rng& rng) {
  constexpr std::array kNonlinearities{Nonlinearity::kRelu, Nonlinearity::kRelu6,
                                       Nonlinearity::kPrelu, Nonlinearity::kLeakyRelu,
                                       Nonlinearity::kHardSwish};
  Plan plan;
  int64_t height = kSide.draw_integer(rng);
  const int64_t any_height = kSideOdd.draw_integer(rng);
  if (height == 0) height = any_height;
  const double aspect = kAspect.draw(rng);
  const auto width = std::clamp<int64_t>(
      static_cast<int64_t>(std::floor(static_cast<double>(height) * aspect + 0.5)), 32, 320);
  plan.input = {1, height, width, kColours.draw_integer(rng)};
  plan.scale = kScale.draw_integer(rng);
  plan.family = static_cast<Family>(kFamily.draw_integer(rng));
  plan.channels = kChannels.draw(rng);
  plan.depth = kDepth.draw_integer(rng);
  plan.first_kernel = kFirstKernel.draw_integer(rng);
  plan.kernel = kKernel.draw_integer(rng);
  plan.dense_layers = kDenseLayers.draw_integer(rng);
  plan.shrink = kShrink.draw(rng);
  plan.expansion = kExpansion.draw(rng);
  plan.nonlinearity = kNonlinearities[static_cast<size_t>(kNonlinearity.draw_integer(rng))];
  plan.body_skip = kBodySkip.draw_chance(rng);
  plan.residual_scale = kResidualScale.draw_chance(rng);
  plan.attention = kAttention.draw_chance(rng);
  plan.upsampler = static_cast<Upsampler>(kUpsampler.draw_integer(rng));
  plan.in_steps = kInSteps.draw_chance(rng) && plan.scale == 4;
  plan.last_conv = kLastConv.draw_chance(rng);
  plan.transpose_kernel = kTransposeKernel.draw(rng);
  plan.global_skip = static_cast<GlobalSkip>(kGlobalSkip.draw_integer(rng));
  plan.corners = static_cast<Corners>(kCorners.draw_integer(rng));
  plan.multiple = kMultiple.draw_integer(rng);
  return plan;
}

// A plan at work on one network.
class Emitter {
 public:
  Emitter(const Plan& plan, GraphBuilder& net, double width)
      : plan_(plan), net_(net), channels_(scaled(plan.channels, width)), width_(width) {}

  Id emit() {
    const Id image = net_.input("image", plan_.input);
    if (plan_.family == Family::kEnlarged) return enlarged(image);
    Id x = conv(image, channels_, plan_.first_kernel, plan_.nonlinearity);
    x = body(x);
    x = upsample(x, image);
    return global_skip(image, x);
  }

 private:
  [[nodiscard]] int64_t scaled(double channels, double width) const {
    return scale_channels(channels, width, plan_.multiple, kMostChannels);
  }
  Id conv(Id x, int64_t channels, int64_t kernel, Nonlinearity nonlinearity) {
    return conv_with(net_, x, {.channels = channels, .kernel_h = kernel, .kernel_w = kernel},
                     nonlinearity, false);
  }
  Id linear(Id x, int64_t channels, int64_t kernel) {
    return conv(x, channels, kernel, Nonlinearity::kNone);
  }

  Id residual_block(Id x) {
    const Id entry = x;
    x = conv(x, channels_, plan_.kernel, plan_.nonlinearity);
    x = linear(x, channels_, plan_.kernel);
    constexpr double kResidualFactor = 0.1;
    if (plan_.attention) x = squeeze_excite(net_, x, {.squeeze_ratio = 8}, 4);
    if (plan_.residual_scale) x = net_.mul_scalar(x, kResidualFactor);
    return net_.add(entry, x);
  }
  Id separable_block(Id x) {
    const Id entry = x;
    const Nonlinearity used = plan_.nonlinearity;
    const int64_t inner = scale_channels(static_cast<double>(channels_), plan_.expansion, 1, 1024);
    if (plan_.expansion > 1) x = conv(x, inner, 1, used);
    x = depthwise_with(net_, x, {.kernel_h = plan_.kernel, .kernel_w = plan_.kernel},
                       plan_.expansion > 1 ? used : Nonlinearity::kNone, false);
    if (plan_.expansion > 1) return net_.add(entry, linear(x, channels_, 1));
    return conv(x, channels_, 1, used);
  }
  Id dense_block(Id x) {
    const Id entry = x;
    const int64_t growth = scaled(plan_.channels / 2, width_);
    for (int64_t i = 0; i < plan_.dense_layers; ++i)
      x = net_.concatenation(std::array{x, conv(x, growth, plan_.kernel, plan_.nonlinearity)}, 3);
    return net_.add(entry, linear(x, channels_, 1));
  }
  Id shrunk(Id x) {
    const int64_t inner = scaled(plan_.channels * plan_.shrink, width_);
    x = conv(x, inner, 1, plan_.nonlinearity);
    for (int64_t i = 0; i < plan_.depth; ++i) x = conv(x, inner, plan_.kernel, plan_.nonlinearity);
    return conv(x, channels_, 1, plan_.nonlinearity);
  }
  Id body(Id x) {
    if (plan_.family == Family::kShrunk) return shrunk(x);
    const Id entry = x;
    for (int64_t i = 0; i < plan_.depth; ++i) {
      if (plan_.family == Family::kResidual)
        x = residual_block(x);
      else if (plan_.family == Family::kSeparable)
        x = separable_block(x);
      else if (plan_.family == Family::kDense)
        x = dense_block(x);
      else
        x = conv(x, channels_, plan_.kernel, plan_.nonlinearity);
    }
    const bool blocks = plan_.family != Family::kPlain;
    return plan_.body_skip && blocks ? net_.add(entry, linear(x, channels_, plan_.kernel)) : x;
  }

  [[nodiscard]] int64_t transpose_kernel(int64_t stride) const {
    if (plan_.transpose_kernel == 0) return 9;
    return static_cast<int64_t>(std::floor(plan_.transpose_kernel * static_cast<double>(stride)));
  }
  // One step of enlargement to `channels`.
  Id step(Id x, int64_t scale, int64_t channels, Id image, Nonlinearity used) {
    const Shape map = net_.shape(x);
    if (map.size() != 4) return x;
    switch (plan_.upsampler) {
      case Upsampler::kDepthToSpace:
        x = linear(x, channels * scale * scale, 3);
        if (plan_.global_skip == GlobalSkip::kRepeated && scale == plan_.scale && !plan_.last_conv)
          x = net_.add(
              x, net_.concatenation(std::vector<Id>(static_cast<size_t>(scale * scale), image), 3));
        return apart(net_.depth_to_space(x, scale), used);
      case Upsampler::kTransposed:
        x = net_.transpose_conv(x, {.channels = channels,
                                    .kernel = transpose_kernel(scale),
                                    .stride = scale,
                                    .activation = fused_activation(used)});
        return activated(net_, x, used);
      case Upsampler::kNearest:
        x = net_.resize_nearest(x, map[1] * scale, map[2] * scale, Corners::kHalfPixel);
        break;
      case Upsampler::kBilinear:
        x = net_.resize_bilinear(x, map[1] * scale, map[2] * scale, plan_.corners);
    }
    return conv(x, channels, 3, used);
  }
  // A nonlinearity that nothing can take up.
  Id apart(Id x, Nonlinearity used) {
    if (used == Nonlinearity::kRelu) return net_.relu(x);
    if (used == Nonlinearity::kRelu6) return net_.relu6(x);
    return activated(net_, x, used);
  }
  Id upsample(Id x, Id image) {
    const int64_t colours = plan_.input[3];
    // What follows the enlargement works on fewer channels.
    const int64_t after = std::max<int64_t>(colours, channels_ / 2);
    if (plan_.in_steps) x = step(x, 2, after, image, plan_.nonlinearity);
    const int64_t rest = plan_.in_steps ? 2 : plan_.scale;
    if (!plan_.last_conv) return step(x, rest, colours, image, Nonlinearity::kNone);
    return linear(step(x, rest, after, image, plan_.nonlinearity), colours, 3);
  }
  Id resized(Id image, bool bilinear) {
    const int64_t height = plan_.input[1] * plan_.scale;
    const int64_t width = plan_.input[2] * plan_.scale;
    return bilinear ? net_.resize_bilinear(image, height, width, plan_.corners)
                    : net_.resize_nearest(image, height, width, Corners::kHalfPixel);
  }
  Id global_skip(Id image, Id x) {
    const GlobalSkip skip = plan_.global_skip;
    if (skip != GlobalSkip::kBilinear && skip != GlobalSkip::kNearest) return x;
    return net_.add(resized(image, skip == GlobalSkip::kBilinear), x);
  }
  Id enlarged(Id image) {
    const Id large = resized(image, plan_.upsampler != Upsampler::kNearest);
    Id x = conv(large, channels_, plan_.first_kernel, plan_.nonlinearity);
    for (int64_t i = 0; i < plan_.depth; ++i)
      x = conv(x, channels_, plan_.kernel, plan_.nonlinearity);
    x = linear(x, plan_.input[3], 3);
    return plan_.global_skip == GlobalSkip::kNone ? x : net_.add(large, x);
  }

  const Plan& plan_;
  GraphBuilder& net_;
  int64_t channels_;
  double width_;
};

}  // namespace

std::span<const Parameter* const> super_resolution_parameters() { return kParameters; }

Result<Graph> build_super_resolution(uint64_t seed) {
  Rng rng(seed, "super-resolution/1");
  const double macs = kMacs.draw(rng);
  return sample_network(rng, "super-resolution", macs, kLimits, [](Rng& draws) -> EmitOutputs {
    return [plan = draw_plan(draws)](GraphBuilder& net, double width) {
      return std::vector<Id>{Emitter(plan, net, width).emit()};
    };
  });
}

}  // namespace edgesage
