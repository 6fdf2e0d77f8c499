#include "src/spaces/mobile_classifier.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "src/base/rng.h"
#include "src/graph/builder.h"
#include "src/spaces/fitting.h"
#include "src/spaces/mobile_blocks.h"

namespace edgesage {
namespace {

constexpr Parameter kMacs = log_uniform("macs", "multiply-accumulates aimed at", 0.3e6, 6e8);
constexpr Parameter kLarge = chance("large", "networks that draw large_macs", 0.08);
constexpr Parameter kLargeMacs =
    log_uniform("large_macs", "multiply-accumulates aimed at, large networks", 5e8, 1.6e9);
constexpr Parameter kSide = one_of("side", "height and width of the image, pixels; 0: side_odd",
                                   {{32, 14},
                                    {40, 4},
                                    {48, 8},
                                    {56, 3},
                                    {64, 9},
                                    {80, 5},
                                    {96, 13},
                                    {112, 4},
                                    {128, 9},
                                    {144, 3},
                                    {160, 6},
                                    {192, 5},
                                    {224, 5},
                                    {0, 12}});
constexpr Parameter kSideOdd = integers("side_odd", "any other side", 32, 224);
constexpr Parameter kOblong = chance("oblong", "images that are not square", 0.1);
constexpr Parameter kAspect = one_of("aspect", "width by height of an oblong image",
                                     {{0.5, 1}, {0.75, 2}, {1.25, 1}, {1.333, 2}, {2, 1}});
constexpr Parameter kColours = one_of("colours", "input channels", {{3, 72}, {1, 28}});
constexpr Parameter kFamily =
    one_of("family",
           "block of the network: 0 separable, 1 inverted bottleneck, 2 residual, 3 plain, "
           "4 fire, 5 another for each stage",
           {{0, 28}, {1, 38}, {2, 12}, {3, 9}, {4, 4}, {5, 9}});
constexpr Parameter kStageFamily =
    one_of("stage_family", "block of a stage where stages differ (as above; 6 fused bottleneck)",
           {{0, 25}, {1, 30}, {2, 12}, {3, 12}, {4, 6}, {6, 15}});
constexpr Parameter kStemKernel =
    one_of("stem_kernel", "window of the first convolution", {{3, 82}, {5, 13}, {7, 5}});
constexpr Parameter kStemChannels = integers("stem_channels", "before the width multiplier", 8, 32);
constexpr Parameter kStemStrideSmall =
    chance("stem_stride_small", "stride 2 in the stem, sides up to 64", 0.35);
constexpr Parameter kStemStrideLarge =
    chance("stem_stride_large", "stride 2 in the stem, larger sides", 0.93);
constexpr Parameter kStemPool =
    chance("stem_pool", "3x3 maximum pool behind the stem of a ResNet", 0.2);
constexpr Parameter kStages = integers("stages", "stages of blocks", 2, 6);
constexpr Parameter kDepth =
    one_of("depth", "blocks a stage", {{1, 32}, {2, 34}, {3, 20}, {4, 14}});
constexpr Parameter kGrowth = uniform("growth", "channels from one stage to the next", 1.1, 2.1);
constexpr Parameter kFirstStride = chance("first_stride", "stride 2 in the first stage", 0.3);
constexpr Parameter kStride = chance("stride", "stride 2 in a later stage", 0.82);
constexpr Parameter kKernel =
    one_of("kernel", "usual window of a network", {{3, 79}, {5, 16}, {7, 5}});
constexpr Parameter kMixedKernels =
    chance("mixed_kernels", "networks that draw a window for each block", 0.25);
constexpr Parameter kExpansion =
    one_of("expansion", "of a stage of inverted bottlenecks",
           {{1, 14}, {1.5, 6}, {2, 14}, {3, 18}, {4, 20}, {5, 6}, {6, 22}});
constexpr Parameter kResidual =
    chance("residual", "networks whose bottlenecks add their input", 0.85);
constexpr Parameter kMultiple =
    one_of("multiple", "channels are multiples of it", {{8, 52}, {16, 14}, {4, 12}, {1, 22}});
constexpr Parameter kNonlinearity =
    one_of("nonlinearity", "0 ReLU, 1 ReLU6, 2 hard-swish, 3 ReLU and in later stages hard-swish",
           {{0, 47}, {1, 39}, {2, 5}, {3, 9}});
constexpr Parameter kSqueeze =
    chance("squeeze", "networks of bottlenecks with squeeze and excitation", 0.2);
constexpr Parameter kSqueezeStage = chance("squeeze_stage", "stages of those that have it", 0.7);
constexpr Parameter kSqueezeRatio =
    one_of("squeeze_ratio", "channels squeezed", {{4, 6}, {8, 3}, {16, 1}});
constexpr Parameter kSqueezeGate = one_of("squeeze_gate", "0 logistic, 1 hard-sigmoid", {{0}, {1}});
constexpr Parameter kSqueezeDense =
    chance("squeeze_dense", "by fully connected layers, not 1x1 convolutions", 0.25);
constexpr Parameter kExplicitPad =
    chance("explicit_pad", "PAD and VALID in place of SAME where the stride is 2", 0.1);
constexpr Parameter kPoolDown =
    chance("pool_down", "plain, residual and fire networks that pool instead of striding", 0.45);
constexpr Parameter kLastConv = chance("last_conv", "1x1 convolution before the pool", 0.4);
constexpr Parameter kLastRatio = uniform("last_ratio", "its channels by those before", 1.5, 4);
constexpr Parameter kMeanHead = chance("mean_head", "MEAN in place of AVERAGE_POOL_2D", 0.45);
constexpr Parameter kKeepDims =
    chance("keep_dims", "MEAN that keeps dimensions, with a RESHAPE", 0.4);
constexpr Parameter kConvHead = chance("conv_head", "1x1 convolution as the last layer", 0.12);
constexpr Parameter kClasses = log_uniform("classes", "outputs of the network", 2, 1000);
constexpr Parameter kUsualClasses =
    one_of("usual_classes", "in half of the networks; 0: drawn from classes",
           {{0, 50}, {2, 14}, {10, 18}, {100, 8}, {1000, 10}});
constexpr Parameter kSoftmax = chance("softmax", "networks that end with it", 0.6);

constexpr std::array kParameters{&kMacs,
                                 &kLarge,
                                 &kLargeMacs,
                                 &kSide,
                                 &kSideOdd,
                                 &kOblong,
                                 &kAspect,
                                 &kColours,
                                 &kFamily,
                                 &kStageFamily,
                                 &kStemKernel,
                                 &kStemChannels,
                                 &kStemStrideSmall,
                                 &kStemStrideLarge,
                                 &kStemPool,
                                 &kStages,
                                 &kDepth,
                                 &kGrowth,
                                 &kFirstStride,
                                 &kStride,
                                 &kKernel,
                                 &kMixedKernels,
                                 &kExpansion,
                                 &kResidual,
                                 &kMultiple,
                                 &kNonlinearity,
                                 &kSqueeze,
                                 &kSqueezeStage,
                                 &kSqueezeRatio,
                                 &kSqueezeGate,
                                 &kSqueezeDense,
                                 &kExplicitPad,
                                 &kPoolDown,
                                 &kLastConv,
                                 &kLastRatio,
                                 &kMeanHead,
                                 &kKeepDims,
                                 &kConvHead,
                                 &kClasses,
                                 &kUsualClasses,
                                 &kSoftmax};

constexpr NetworkLimits kLimits{
    .macs_low = 0.2e6, .macs_high = 2e9, .weights_low = 5'000, .weights_high = 4'200'000};

struct Stage {
  BlockStyle style;
  double channels = 0;  // before the width multiplier
  std::vector<BlockShape> blocks;
};

// Everything about a network but its width.
struct Plan {
  Shape input;
  Conv2D stem;
  double stem_channels = 0;
  Nonlinearity stem_nonlinearity = Nonlinearity::kRelu;
  bool stem_pool = false;
  bool explicit_pad = false;
  int64_t multiple = 8;
  std::vector<Stage> stages;
  double last_ratio = 0;  // 0: no last convolution
  bool mean_head = false, keep_dims = false, conv_head = false, softmax = false;
  int64_t classes = 2;
};

Shape draw_input(Rng& rng) {
  int64_t height = kSide.draw_integer(rng);
  if (height == 0) height = kSideOdd.draw_integer(rng);
  int64_t width = height;
  if (kOblong.draw_chance(rng))
    width = std::clamp<int64_t>(
        static_cast<int64_t>(std::floor(static_cast<double>(height) * kAspect.draw(rng) + 0.5)), 24,
        256);
  return {1, height, width, kColours.draw_integer(rng)};
}

Nonlinearity stage_nonlinearity(int64_t drawn, size_t stage) {
  if (drawn == 0) return Nonlinearity::kRelu;
  if (drawn == 1) return Nonlinearity::kRelu6;
  return drawn == 2 || stage >= 2 ? Nonlinearity::kHardSwish : Nonlinearity::kRelu;
}

// What the stages of a network have in common.
struct Habits {
  int64_t family = 0;
  int64_t kernel = 3;
  int64_t nonlinearity = 0;
  int64_t squeeze_ratio = 4;
  bool mixed_kernels = false, residual = false, squeeze = false, pool_down = false;
  bool squeeze_dense = false, hard_gate = false;
};

Habits draw_habits(Rng& rng) {
  Habits habits;
  habits.family = kFamily.draw_integer(rng);
  habits.kernel = kKernel.draw_integer(rng);
  habits.mixed_kernels = kMixedKernels.draw_chance(rng);
  habits.residual = kResidual.draw_chance(rng);
  habits.nonlinearity = kNonlinearity.draw_integer(rng);
  habits.squeeze = kSqueeze.draw_chance(rng);
  habits.squeeze_ratio = kSqueezeRatio.draw_integer(rng);
  habits.hard_gate = kSqueezeGate.draw_integer(rng) == 1;
  habits.squeeze_dense = kSqueezeDense.draw_chance(rng);
  habits.pool_down = kPoolDown.draw_chance(rng);
  return habits;
}

Stage draw_stage(Rng& rng, const Habits& habits, size_t index, bool explicit_pad) {
  constexpr int64_t kOwnFamilyEachStage = 5;
  Stage stage;
  const int64_t family =
      habits.family == kOwnFamilyEachStage ? kStageFamily.draw_integer(rng) : habits.family;
  BlockStyle& style = stage.style;
  style.kind = static_cast<BlockKind>(family == 6 ? 5 : family);
  style.nonlinearity = stage_nonlinearity(habits.nonlinearity, index);
  style.expansion = kExpansion.draw(rng);
  style.residual = habits.residual;
  style.explicit_pad = explicit_pad;
  style.pool_down = habits.pool_down;
  const bool squeezes = kSqueezeStage.draw_chance(rng) && habits.squeeze;
  style.squeeze_ratio = squeezes ? habits.squeeze_ratio : 0;
  style.hard_gate = habits.hard_gate;
  style.squeeze_dense = habits.squeeze_dense;
  const int64_t depth = kDepth.draw_integer(rng);
  const bool strides = (index == 0 ? kFirstStride : kStride).draw_chance(rng);
  for (int64_t block = 0; block < depth; ++block) {
    const int64_t kernel = habits.mixed_kernels ? kKernel.draw_integer(rng) : habits.kernel;
    stage.blocks.push_back({.kernel = kernel, .stride = block == 0 && strides ? 2 : 1});
  }
  return stage;
}

void draw_head(Rng& rng, Plan& plan) {
  const double ratio = kLastRatio.draw(rng);
  plan.last_ratio = kLastConv.draw_chance(rng) ? ratio : 0;
  plan.mean_head = kMeanHead.draw_chance(rng);
  plan.keep_dims = kKeepDims.draw_chance(rng);
  plan.conv_head = kConvHead.draw_chance(rng);
  const int64_t any_classes = kClasses.draw_integer(rng);
  plan.classes = kUsualClasses.draw_integer(rng);
  if (plan.classes == 0) plan.classes = any_classes;
  plan.softmax = kSoftmax.draw_chance(rng);
}

Plan draw_plan(Rng& rng) {
  Plan plan;
  plan.input = draw_input(rng);
  const bool small = std::max(plan.input[1], plan.input[2]) <= 64;
  const int64_t kernel = kStemKernel.draw_integer(rng);
  const int64_t stride = (small ? kStemStrideSmall : kStemStrideLarge).draw_chance(rng) ? 2 : 1;
  plan.stem = {.kernel_h = kernel, .kernel_w = kernel, .stride_h = stride, .stride_w = stride};
  plan.stem_channels = kStemChannels.draw(rng);
  plan.multiple = kMultiple.draw_integer(rng);
  plan.explicit_pad = kExplicitPad.draw_chance(rng);
  const Habits habits = draw_habits(rng);
  plan.stem_nonlinearity =
      stage_nonlinearity(habits.nonlinearity == 3 ? 2 : habits.nonlinearity, 0);
  constexpr int64_t kResidualFamily = 2;
  plan.stem_pool = kStemPool.draw_chance(rng) && habits.family == kResidualFamily && !small;
  const auto stages = static_cast<size_t>(kStages.draw_integer(rng));
  double channels = plan.stem_channels;
  for (size_t i = 0; i < stages; ++i) {
    Stage stage = draw_stage(rng, habits, i, plan.explicit_pad);
    stage.channels = channels *= kGrowth.draw(rng);
    plan.stages.push_back(std::move(stage));
  }
  draw_head(rng, plan);
  return plan;
}

GraphBuilder::Id emit_head(const Plan& plan, GraphBuilder& net, GraphBuilder::Id x) {
  if (plan.last_ratio > 0) {
    const auto channels = static_cast<double>(net.shape(x).back());
    const Nonlinearity last = plan.stages.back().style.nonlinearity;
    x = conv_with(net, x, {.channels = scale_channels(channels, plan.last_ratio, plan.multiple)},
                  last, false);
  }
  const Shape map = net.shape(x);
  if (map.size() != 4) return x;
  const Shape flat{1, map[3]};
  if (plan.mean_head) {
    const bool keep = plan.keep_dims || plan.conv_head;
    x = net.mean(x, {1, 2}, keep);
    if (keep && !plan.conv_head) x = net.reshape(x, flat);
  } else {
    x = net.average_pool(
        x, {.kernel_h = map[1], .kernel_w = map[2], .stride_h = map[1], .stride_w = map[2]});
    if (!plan.conv_head) x = net.reshape(x, flat);
  }
  if (plan.conv_head) {
    x = net.conv_2d(x, {.channels = plan.classes});
    x = net.reshape(x, {1, plan.classes});
  } else {
    x = net.fully_connected(x, {.units = plan.classes});
  }
  return plan.softmax ? net.softmax(x) : x;
}

GraphBuilder::Id emit(const Plan& plan, GraphBuilder& net, double width) {
  GraphBuilder::Id x = net.input("image", plan.input);
  Conv2D stem = plan.stem;
  stem.channels = scale_channels(plan.stem_channels, width, plan.multiple, 128);
  x = conv_with(net, x, stem, plan.stem_nonlinearity, plan.explicit_pad);
  if (plan.stem_pool)
    x = net.max_pool(
        x, {.kernel_h = 3, .kernel_w = 3, .stride_h = 2, .stride_w = 2, .padding = Padding::kSame});
  for (const Stage& stage : plan.stages) {
    const int64_t channels = scale_channels(stage.channels, width, plan.multiple, 1024);
    for (const BlockShape& block : stage.blocks)
      x = emit_block(net, x, stage.style, block, channels, plan.multiple);
  }
  return emit_head(plan, net, x);
}

}  // namespace

std::span<const Parameter* const> mobile_classifier_parameters() { return kParameters; }

Result<Graph> build_mobile_classifier(uint64_t seed) {
  Rng rng(seed, "mobile-classifier/1");
  const double large_macs = kLargeMacs.draw(rng);
  const double usual_macs = kMacs.draw(rng);
  const double macs = kLarge.draw_chance(rng) ? large_macs : usual_macs;
  double tolerance = 1.15;
  // Plans that no width brings to the drawn amount of work are drawn again.
  while (true) {
    const Plan plan = draw_plan(rng);
    const auto emit_plan = [&plan](GraphBuilder& net, double width) {
      return emit(plan, net, width);
    };
    const std::optional<double> width = fit_width(emit_plan, macs, tolerance, kLimits);
    if (width) return make_network(emit_plan, *width, "mobile-classifier", rng.next());
    tolerance *= 1.02;
  }
}

}  // namespace edgesage
