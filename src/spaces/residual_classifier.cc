#include "src/spaces/residual_classifier.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "src/base/rng.h"
#include "src/graph/builder.h"
#include "src/spaces/branched_blocks.h"
#include "src/spaces/fitting.h"

namespace edgesage {
namespace {

using Id = GraphBuilder::Id;

constexpr Parameter kMacs = log_uniform("macs", "multiply-accumulates aimed at", 5e7, 3e9);
constexpr Parameter kSide = one_of("side", "height and width of the image, pixels; 0: side_odd",
                                   {{32, 13},
                                    {48, 6},
                                    {64, 12},
                                    {80, 4},
                                    {96, 10},
                                    {112, 6},
                                    {128, 12},
                                    {160, 8},
                                    {192, 6},
                                    {224, 13},
                                    {0, 10}});
constexpr Parameter kSideOdd = integers("side_odd", "any other side", 32, 224);
constexpr Parameter kOblong = chance("oblong", "images that are not square", 0.08);
constexpr Parameter kAspect = one_of("aspect", "width by height of an oblong image",
                                     {{0.5, 1}, {0.75, 2}, {1.25, 1}, {1.333, 2}, {2, 1}});
constexpr Parameter kColours = one_of("colours", "input channels", {{3, 85}, {1, 15}});
constexpr Parameter kFamily =
    one_of("family",
           "block of the network: 0 basic residual, 1 bottleneck, 2 grouped bottleneck, 3 dense, "
           "4 inception, 5 plain, 6 another for each stage",
           {{0, 23}, {1, 19}, {2, 12}, {3, 15}, {4, 14}, {5, 10}, {6, 7}});
constexpr Parameter kStageFamily =
    one_of("stage_family", "block of a stage where stages differ (as above)",
           {{0, 25}, {1, 20}, {2, 10}, {3, 15}, {4, 15}, {5, 15}});
constexpr Parameter kStem = one_of("stem", "first convolution: its window; 0: three of 3x3",
                                   {{3, 46}, {7, 38}, {5, 6}, {0, 10}});
constexpr Parameter kStemStrideSmall =
    chance("stem_stride_small", "stride 2 in the stem, sides up to 64", 0.2);
constexpr Parameter kStemStrideLarge =
    chance("stem_stride_large", "stride 2 in the stem, larger sides", 0.9);
constexpr Parameter kStemPool =
    chance("stem_pool", "3x3 maximum pool behind a stem of stride 2, sides above 96", 0.65);
constexpr Parameter kChannels =
    uniform("channels", "of the first stage, before the width multiplier", 32, 96);
constexpr Parameter kStemShare =
    one_of("stem_share", "channels of the stem by those of the first stage",
           {{1, 60}, {0.5, 30}, {0.25, 10}});
constexpr Parameter kStages =
    one_of("stages", "stages of blocks", {{2, 10}, {3, 36}, {4, 44}, {5, 10}});
constexpr Parameter kDepth =
    one_of("depth", "blocks a stage", {{1, 18}, {2, 34}, {3, 22}, {4, 12}, {6, 9}, {8, 5}});
constexpr Parameter kDoubling =
    chance("doubling", "networks whose stages double their channels", 0.6);
constexpr Parameter kGrowth =
    uniform("growth", "channels from one stage to the next, in the others", 1.1, 2.2);
constexpr Parameter kFirstStride = chance("first_stride", "stride 2 in the first stage", 0.2);
constexpr Parameter kStride = chance("stride", "stride 2 in a later stage", 0.92);
constexpr Parameter kKernel = one_of("kernel", "window of a stage", {{3, 86}, {5, 11}, {7, 3}});
constexpr Parameter kInnerShare =
    one_of("inner_share", "channels inside a bottleneck by those outside", {{0.25, 65}, {0.5, 35}});
constexpr Parameter kGroups = one_of("groups", "of the window of a grouped bottleneck",
                                     {{2, 20}, {4, 30}, {8, 25}, {16, 13}, {32, 12}});
constexpr Parameter kSplitGroups =
    chance("split_groups", "up to 8 groups as SPLIT, convolutions and CONCATENATION", 0.35);
constexpr Parameter kStrideFirst =
    chance("stride_first", "bottlenecks that stride in their first 1x1", 0.25);
constexpr Parameter kBefore = chance(
    "before", "residual and dense networks that normalise (MUL, ADD) before convolutions", 0.25);
constexpr Parameter kShortcut = one_of(
    "shortcut", "0 1x1 convolution, 1 average pool and 1x1, 2 maximum pool and PAD of channels",
    {{0, 76}, {1, 14}, {2, 10}});
constexpr Parameter kSqueeze =
    chance("squeeze", "residual networks with squeeze and excitation", 0.12);
constexpr Parameter kSqueezeRatio =
    one_of("squeeze_ratio", "channels squeezed", {{4, 1}, {8, 3}, {16, 3}});
constexpr Parameter kDenseLayers = one_of("dense_layers", "layers of a dense stage",
                                          {{2, 10}, {3, 18}, {4, 22}, {6, 24}, {8, 14}, {12, 12}});
constexpr Parameter kDenseGrowth =
    uniform("dense_growth", "channels a layer adds, before the width multiplier", 8, 40);
constexpr Parameter kDenseInner =
    chance("dense_inner", "dense networks with 1x1 convolutions of 4 times that inside", 0.7);
constexpr Parameter kDenseList =
    chance("dense_list", "dense networks that concatenate all layers anew each time", 0.2);
constexpr Parameter kCompression =
    one_of("compression", "channels behind a dense stage", {{0.5, 70}, {1, 20}, {0.75, 10}});
constexpr Parameter kPointShare = uniform("point_share", "inception channels by 1x1", 0.15, 0.35);
constexpr Parameter kWindowShare = uniform("window_share", "inception channels by 3x3", 0.25, 0.45);
constexpr Parameter kWideShare =
    uniform("wide_share", "inception channels by larger windows", 0.08, 0.2);
constexpr Parameter kWide = one_of("wide", "larger windows: 0 5x5, 1 3x3 twice, 2 1xn and nx1",
                                   {{0, 38}, {1, 34}, {2, 28}});
constexpr Parameter kFactor =
    one_of("factor", "n of factorised windows", {{7, 60}, {5, 15}, {3, 25}});
constexpr Parameter kAverageBranch =
    chance("average_branch", "inception branches with an average pool, not a maximum", 0.5);
constexpr Parameter kPoolDown =
    chance("pool_down", "plain networks that pool instead of striding", 0.8);
constexpr Parameter kExplicitPad =
    chance("explicit_pad", "PAD and VALID in place of SAME where the stride is 2", 0.15);
constexpr Parameter kMultiple = one_of("multiple", "channels are multiples of it",
                                       {{8, 44}, {16, 24}, {32, 10}, {4, 10}, {1, 12}});
constexpr Parameter kNonlinearity =
    one_of("nonlinearity", "0 ReLU, 1 ReLU6, 2 hard-swish, 3 swish, 4 leaky ReLU",
           {{0, 76}, {1, 11}, {2, 3}, {3, 5}, {4, 5}});
constexpr Parameter kMeanHead = chance("mean_head", "MEAN in place of AVERAGE_POOL_2D", 0.6);
constexpr Parameter kHiddenHead =
    chance("hidden_head", "plain networks with dense layers before the last", 0.35);
constexpr Parameter kHidden = log_uniform("hidden", "units of each of the two", 64, 512);
constexpr Parameter kFlatHead =
    chance("flat_head", "those that flatten the map (up to 4096 values)", 0.5);
constexpr Parameter kClasses = log_uniform("classes", "outputs of the network", 2, 1000);
constexpr Parameter kUsualClasses = one_of("usual_classes", "0: drawn from classes",
                                           {{0, 40}, {2, 8}, {10, 20}, {100, 12}, {1000, 20}});
constexpr Parameter kSoftmax = chance("softmax", "networks that end with it", 0.6);

constexpr std::array kParameters{
    &kMacs,        &kSide,         &kSideOdd,   &kOblong,          &kAspect,          &kColours,
    &kFamily,      &kStageFamily,  &kStem,      &kStemStrideSmall, &kStemStrideLarge, &kStemPool,
    &kChannels,    &kStemShare,    &kStages,    &kDepth,           &kDoubling,        &kGrowth,
    &kFirstStride, &kStride,       &kKernel,    &kInnerShare,      &kGroups,          &kSplitGroups,
    &kStrideFirst, &kBefore,       &kShortcut,  &kSqueeze,         &kSqueezeRatio,    &kDenseLayers,
    &kDenseGrowth, &kDenseInner,   &kDenseList, &kCompression,     &kPointShare,      &kWindowShare,
    &kWideShare,   &kWide,         &kFactor,    &kAverageBranch,   &kPoolDown,        &kExplicitPad,
    &kMultiple,    &kNonlinearity, &kMeanHead,  &kHiddenHead,      &kHidden,          &kFlatHead,
    &kClasses,     &kUsualClasses, &kSoftmax};

constexpr NetworkLimits kLimits{.macs_low = 4e7,
                                .macs_high = 3.5e9,
                                .weights_low = 20'000,
                                .weights_high = 6'000'000,
                                .elements_high = 4'000'000};

// Everything about a network but its width.
struct Plan {
  Shape input;
  int64_t stem = 3, stem_stride = 1;
  double stem_channels = 64;
  bool stem_pool = false;
  int64_t multiple = 8;
  std::vector<BranchedStage> stages;
  bool mean_head = false, flat_head = false, softmax = false;
  int64_t hidden = 0;  // units of two dense layers before the last; 0: none
  int64_t classes = 10;
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

// What the stages of a network have in common.
BranchedStyle draw_style(Rng& rng) {
  constexpr std::array kNonlinearities{Nonlinearity::kRelu, Nonlinearity::kRelu6,
                                       Nonlinearity::kHardSwish, Nonlinearity::kSwish,
                                       Nonlinearity::kLeakyRelu};
  BranchedStyle style;
  style.nonlinearity = kNonlinearities[static_cast<size_t>(kNonlinearity.draw_integer(rng))];
  style.explicit_pad = kExplicitPad.draw_chance(rng);
  style.before = kBefore.draw_chance(rng);
  style.inner_share = kInnerShare.draw(rng);
  style.stride_first = kStrideFirst.draw_chance(rng);
  style.shortcut = static_cast<Shortcut>(kShortcut.draw_integer(rng));
  const int64_t ratio = kSqueezeRatio.draw_integer(rng);
  style.squeeze_ratio = kSqueeze.draw_chance(rng) ? ratio : 0;
  style.growth = kDenseGrowth.draw(rng);
  style.dense_inner = kDenseInner.draw_chance(rng);
  style.dense_list = kDenseList.draw_chance(rng);
  style.compression = kCompression.draw(rng);
  style.point_share = kPointShare.draw(rng);
  style.window_share = kWindowShare.draw(rng);
  style.wide_share = kWideShare.draw(rng);
  style.average_branch = kAverageBranch.draw_chance(rng);
  style.pool_down = kPoolDown.draw_chance(rng);
  return style;
}

BranchedStage draw_stage(Rng& rng, BranchedStyle style, int64_t family, bool first) {
  constexpr int64_t kGroupedFamily = 2;
  constexpr std::array kKinds{BranchedKind::kBasic,      BranchedKind::kBottleneck,
                              BranchedKind::kBottleneck, BranchedKind::kDense,
                              BranchedKind::kInception,  BranchedKind::kPlain};
  BranchedStage stage;
  style.kind = kKinds[static_cast<size_t>(family)];
  style.kernel = kKernel.draw_integer(rng);
  const int64_t groups = kGroups.draw_integer(rng);
  const bool split = kSplitGroups.draw_chance(rng);
  style.groups = family == kGroupedFamily ? groups : 1;
  style.split_groups = split && groups <= 8;
  style.wide = static_cast<WideWindow>(kWide.draw_integer(rng));
  style.factor = kFactor.draw_integer(rng);
  const int64_t layers = kDenseLayers.draw_integer(rng);
  const int64_t depth = kDepth.draw_integer(rng);
  stage.blocks = style.kind == BranchedKind::kDense ? layers : depth;
  stage.stride = (first ? kFirstStride : kStride).draw_chance(rng) ? 2 : 1;
  stage.style = style;
  return stage;
}

void draw_head(Rng& rng, bool plain, Plan& plan) {
  plan.mean_head = kMeanHead.draw_chance(rng);
  const int64_t hidden = kHidden.draw_integer(rng);
  plan.hidden = kHiddenHead.draw_chance(rng) && plain ? hidden : 0;
  plan.flat_head = kFlatHead.draw_chance(rng) && plan.hidden > 0;
  const int64_t any_classes = kClasses.draw_integer(rng);
  plan.classes = kUsualClasses.draw_integer(rng);
  if (plan.classes == 0) plan.classes = any_classes;
  plan.softmax = kSoftmax.draw_chance(rng);
}

Plan draw_plan(Rng& rng) {
  constexpr int64_t kPlainFamily = 5, kOwnFamilyEachStage = 6;
  Plan plan;
  plan.input = draw_input(rng);
  const int64_t side = std::max(plan.input[1], plan.input[2]);
  plan.stem = kStem.draw_integer(rng);
  plan.stem_stride = (side <= 64 ? kStemStrideSmall : kStemStrideLarge).draw_chance(rng) ? 2 : 1;
  plan.stem_pool = kStemPool.draw_chance(rng) && plan.stem_stride == 2 && side > 96;
  plan.multiple = kMultiple.draw_integer(rng);
  const int64_t family = kFamily.draw_integer(rng);
  const BranchedStyle style = draw_style(rng);
  const auto stages = static_cast<size_t>(kStages.draw_integer(rng));
  const bool doubling = kDoubling.draw_chance(rng);
  double channels = kChannels.draw(rng);
  plan.stem_channels = channels * kStemShare.draw(rng);
  for (size_t i = 0; i < stages; ++i) {
    const int64_t drawn = kStageFamily.draw_integer(rng);
    BranchedStage stage =
        draw_stage(rng, style, family == kOwnFamilyEachStage ? drawn : family, i == 0);
    stage.channels = channels;
    // The outer channels of bottlenecks are wider than those of other blocks.
    if (stage.style.kind == BranchedKind::kBottleneck) stage.channels /= style.inner_share;
    if (stage.style.kind == BranchedKind::kInception) stage.channels *= 2;
    plan.stages.push_back(std::move(stage));
    const double growth = kGrowth.draw(rng);
    channels *= doubling ? 2 : growth;
  }
  draw_head(rng, family == kPlainFamily, plan);
  return plan;
}

Id emit_stem(const Plan& plan, GraphBuilder& net, Id x, double width) {
  const BranchedStyle& style = plan.stages.front().style;
  const int64_t channels = scale_channels(plan.stem_channels, width, plan.multiple, 128);
  const int64_t kernel = plan.stem == 0 ? 3 : plan.stem;
  Conv2D stem{.channels = channels,
              .kernel_h = kernel,
              .kernel_w = kernel,
              .stride_h = plan.stem_stride,
              .stride_w = plan.stem_stride};
  if (plan.stem == 0)
    stem.channels = scale_channels(plan.stem_channels, width / 2, plan.multiple, 64);
  x = conv_with(net, x, stem, style.nonlinearity, style.explicit_pad);
  if (plan.stem == 0) {
    stem.stride_h = stem.stride_w = 1;
    x = conv_with(net, x, stem, style.nonlinearity, false);
    stem.channels = channels;
    x = conv_with(net, x, stem, style.nonlinearity, false);
  }
  if (!plan.stem_pool) return x;
  return net.max_pool(
      x, {.kernel_h = 3, .kernel_w = 3, .stride_h = 2, .stride_w = 2, .padding = Padding::kSame});
}

Id emit_head(const Plan& plan, GraphBuilder& net, Id x) {
  constexpr int64_t kMostFlat = 4096;
  const Shape map = net.shape(x);
  if (map.size() != 4) return x;
  const Nonlinearity used = plan.stages.back().style.nonlinearity;
  const int64_t values = map[1] * map[2] * map[3];
  if (plan.flat_head && values <= kMostFlat) {
    x = net.reshape(x, {1, values});
  } else if (plan.mean_head) {
    x = net.mean(x, {1, 2}, false);
  } else {
    if (map[1] * map[2] > 1)
      x = net.average_pool(
          x, {.kernel_h = map[1], .kernel_w = map[2], .stride_h = map[1], .stride_w = map[2]});
    x = net.reshape(x, {1, map[3]});
  }
  for (int i = 0; i < 2 && plan.hidden > 0; ++i)
    x = activated(
        net, net.fully_connected(x, {.units = plan.hidden, .activation = fused_activation(used)}),
        used == Nonlinearity::kPrelu ? Nonlinearity::kNone : used);
  x = net.fully_connected(x, {.units = plan.classes});
  return plan.softmax ? net.softmax(x) : x;
}

Id emit(const Plan& plan, GraphBuilder& net, double width) {
  Id x = emit_stem(plan, net, net.input("image", plan.input), width);
  for (const BranchedStage& stage : plan.stages)
    x = emit_stage(net, x, stage, width, plan.multiple);
  const BranchedStyle& last = plan.stages.back().style;
  const bool open = last.kind == BranchedKind::kBasic || last.kind == BranchedKind::kBottleneck ||
                    last.kind == BranchedKind::kDense;
  if (last.before && open)
    x = activated(net, net.scale_and_shift(x, fused_activation(last.nonlinearity)),
                  last.nonlinearity);
  return emit_head(plan, net, x);
}

}  // namespace

std::span<const Parameter* const> residual_classifier_parameters() { return kParameters; }

Result<Graph> build_residual_classifier(uint64_t seed) {
  Rng rng(seed, "residual-classifier/1");
  const double macs = kMacs.draw(rng);
  return sample_network(rng, "residual-classifier", macs, kLimits, [](Rng& draws) -> EmitOutputs {
    return [plan = draw_plan(draws)](GraphBuilder& net, double width) {
      return std::vector<Id>{emit(plan, net, width)};
    };
  });
}

}  // namespace edgesage
