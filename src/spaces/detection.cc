#include "src/spaces/detection.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/rng.h"
#include "src/graph/builder.h"
#include "src/spaces/fitting.h"
#include "src/spaces/mobile_blocks.h"

namespace edgesage {
namespace {

using Id = GraphBuilder::Id;

constexpr Parameter kMacs = log_uniform("macs", "multiply-accumulates aimed at", 1e7, 2e9);
constexpr Parameter kSide = one_of("side", "height of the image, pixels",
                                   {{96, 10},
                                    {128, 16},
                                    {160, 14},
                                    {192, 14},
                                    {224, 12},
                                    {256, 12},
                                    {288, 3},
                                    {300, 7},
                                    {320, 12}});
constexpr Parameter kAspect =
    one_of("aspect", "width by height", {{1, 80}, {1.333, 8}, {1.778, 4}, {0.75, 8}});
constexpr Parameter kColours = one_of("colours", "input channels", {{3, 86}, {1, 14}});
constexpr Parameter kBlock = one_of(
    "block", "of the backbone: 0 separable, 1 inverted bottleneck, 2 residual, 3 plain, 4 fire",
    {{0, 30}, {1, 40}, {2, 12}, {3, 13}, {4, 5}});
constexpr Parameter kStemKernel = one_of(
    "stem_kernel", "window of the first convolution, of stride 2", {{3, 82}, {5, 13}, {7, 5}});
constexpr Parameter kChannels =
    uniform("channels", "of the stem, before the width multiplier", 8, 32);
constexpr Parameter kGrowth = uniform("growth", "channels from one stage to the next", 1.25, 2.1);
constexpr Parameter kDepth =
    one_of("depth", "blocks a stage", {{1, 26}, {2, 36}, {3, 22}, {4, 10}, {6, 6}});
constexpr Parameter kKernel = one_of("kernel", "window of a stage", {{3, 84}, {5, 16}});
constexpr Parameter kExpansion =
    one_of("expansion", "of inverted bottlenecks", {{2, 20}, {3, 20}, {4, 24}, {6, 36}});
constexpr Parameter kNonlinearity =
    one_of("nonlinearity", "0 ReLU, 1 ReLU6, 2 hard-swish, 3 leaky ReLU, 4 swish",
           {{0, 44}, {1, 40}, {2, 4}, {3, 7}, {4, 5}});
constexpr Parameter kFirstMap = one_of(
    "first_map", "the image's side by that of the largest map with a head", {{8, 52}, {16, 48}});
constexpr Parameter kBackboneEnd =
    one_of("backbone_end", "and by that of the backbone's last map", {{16, 28}, {32, 72}});
constexpr Parameter kExtra = integers("extra", "further maps of half the side each", 0, 4);
constexpr Parameter kExtraShare =
    one_of("extra_share", "channels of a further map by those before", {{0.5, 60}, {1, 40}});
constexpr Parameter kPyramid = one_of("pyramid", "0 none, 1 top down (FPN), 2 and bottom up (PAN)",
                                      {{0, 62}, {1, 28}, {2, 10}});
constexpr Parameter kPyramidUp =
    one_of("pyramid_up", "enlargement in it: 0 nearest, 1 bilinear", {{0, 75}, {1, 25}});
constexpr Parameter kPyramidJoin =
    one_of("pyramid_join", "0 addition, 1 concatenation", {{0, 65}, {1, 35}});
constexpr Parameter kPyramidChannels =
    uniform("pyramid_channels", "before the width multiplier", 24, 128);
constexpr Parameter kHead = one_of("head",
                                   "0 boxes and classes apart (SSD), 1 in one convolution (YOLO), "
                                   "2 centres and sizes of the largest map",
                                   {{0, 66}, {1, 24}, {2, 10}});
constexpr Parameter kHeadKernel =
    one_of("head_kernel", "0 1x1, 1 3x3, 2 depthwise 3x3 and 1x1", {{0, 32}, {1, 30}, {2, 38}});
constexpr Parameter kTower =
    one_of("tower", "convolutions of a head before its last", {{0, 70}, {1, 18}, {2, 12}});
constexpr Parameter kAnchors =
    one_of("anchors", "boxes at a place of a map; 0: 3 on the first map, 6 on others",
           {{1, 15}, {2, 15}, {3, 30}, {6, 15}, {0, 25}});
constexpr Parameter kClasses =
    one_of("classes", "kinds of objects (SSD: and one for nothing)",
           {{1, 22}, {2, 14}, {4, 12}, {10, 10}, {20, 18}, {80, 12}, {90, 12}});
constexpr Parameter kPoints = one_of("points", "values of a box", {{4, 86}, {14, 6}, {16, 8}});
constexpr Parameter kJoined =
    chance("joined", "heads that are reshaped and concatenated over the maps", 0.68);
constexpr Parameter kScores = one_of(
    "scores", "of joined classes: 0 nothing, 1 logistic, 2 softmax", {{0, 25}, {1, 55}, {2, 20}});
constexpr Parameter kExplicitPad =
    chance("explicit_pad", "PAD and VALID in place of SAME where the stride is 2", 0.15);
constexpr Parameter kMultiple =
    one_of("multiple", "channels are multiples of it", {{8, 62}, {16, 18}, {4, 8}, {1, 12}});

constexpr std::array kParameters{
    &kMacs,       &kSide,         &kAspect,    &kColours,     &kBlock,
    &kStemKernel, &kChannels,     &kGrowth,    &kDepth,       &kKernel,
    &kExpansion,  &kNonlinearity, &kFirstMap,  &kBackboneEnd, &kExtra,
    &kExtraShare, &kPyramid,      &kPyramidUp, &kPyramidJoin, &kPyramidChannels,
    &kHead,       &kHeadKernel,   &kTower,     &kAnchors,     &kClasses,
    &kPoints,     &kJoined,       &kScores,    &kExplicitPad, &kMultiple};

constexpr NetworkLimits kLimits{.macs_low = 8e6,
                                .macs_high = 2.4e9,
                                .weights_low = 8'000,
                                .weights_high = 4'500'000,
                                .elements_high = 4'000'000};
constexpr int64_t kMostChannels = 768;

enum class Pyramid : uint8_t { kNone, kDown, kBoth };
enum class Head : uint8_t { kApart, kOne, kCentres };
enum class HeadKernel : uint8_t { kPoint, kWindow, kSeparable };
enum class Scores : uint8_t { kNone, kLogistic, kSoftmax };

struct Stage {
  double channels = 0;  // before the width multiplier
  int64_t depth = 1, kernel = 3;
};

// Everything about a network but its width.
struct Plan {
  Shape input;
  BlockStyle style;
  int64_t stem_kernel = 3;
  double stem_channels = 16;
  std::vector<Stage> stages;  // each halves the map
  size_t first_map = 1;       // stage with the first head
  int64_t extra = 0;
  double extra_share = 0.5;
  Pyramid pyramid = Pyramid::kNone;
  bool pyramid_bilinear = false, pyramid_concat = false;
  double pyramid_channels = 64;
  Head head = Head::kApart;
  HeadKernel head_kernel = HeadKernel::kWindow;
  int64_t tower = 0, anchors = 3, classes = 2, points = 4;
  bool joined = true;
  Scores scores = Scores::kNone;
  int64_t multiple = 8;
};

void draw_backbone(Rng& rng, Plan& plan) {
  constexpr std::array kNonlinearities{Nonlinearity::kRelu, Nonlinearity::kRelu6,
                                       Nonlinearity::kHardSwish, Nonlinearity::kLeakyRelu,
                                       Nonlinearity::kSwish};
  const int64_t height = kSide.draw_integer(rng);
  const double aspect = kAspect.draw(rng);
  const auto width = std::clamp<int64_t>(
      static_cast<int64_t>(std::floor(static_cast<double>(height) * aspect / 8 + 0.5)) * 8, 96,
      320);
  plan.input = {1, height, width, kColours.draw_integer(rng)};
  plan.style.kind = static_cast<BlockKind>(kBlock.draw_integer(rng));
  plan.style.nonlinearity = kNonlinearities[static_cast<size_t>(kNonlinearity.draw_integer(rng))];
  plan.style.expansion = kExpansion.draw(rng);
  plan.style.explicit_pad = kExplicitPad.draw_chance(rng);
  plan.stem_kernel = kStemKernel.draw_integer(rng);
  double channels = kChannels.draw(rng);
  plan.stem_channels = channels;
  // The stem halves once.
  const size_t stages = kBackboneEnd.draw_integer(rng) == 32 ? 4 : 3;
  plan.first_map = kFirstMap.draw_integer(rng) == 16 ? 2 : 1;
  for (size_t i = 0; i < stages; ++i) {
    const int64_t depth = kDepth.draw_integer(rng);
    channels *= kGrowth.draw(rng);
    plan.stages.push_back({channels, depth, kKernel.draw_integer(rng)});
  }
  plan.multiple = kMultiple.draw_integer(rng);
}

Plan draw_plan(Rng& rng) {
  Plan plan;
  draw_backbone(rng, plan);
  plan.extra = kExtra.draw_integer(rng);
  plan.extra_share = kExtraShare.draw(rng);
  plan.pyramid = static_cast<Pyramid>(kPyramid.draw_integer(rng));
  plan.pyramid_bilinear = kPyramidUp.draw_integer(rng) == 1;
  plan.pyramid_concat = kPyramidJoin.draw_integer(rng) == 1;
  plan.pyramid_channels = kPyramidChannels.draw(rng);
  plan.head = static_cast<Head>(kHead.draw_integer(rng));
  plan.head_kernel = static_cast<HeadKernel>(kHeadKernel.draw_integer(rng));
  plan.tower = kTower.draw_integer(rng);
  plan.anchors = kAnchors.draw_integer(rng);
  plan.classes = kClasses.draw_integer(rng);
  plan.points = kPoints.draw_integer(rng);
  plan.joined = kJoined.draw_chance(rng);
  plan.scores = static_cast<Scores>(kScores.draw_integer(rng));
  return plan;
}

// Heads of centres read the largest map alone: without a pyramid nothing behind it counts, with one
// the way back up is of no use.
void leave_out_unread(Plan& plan) {
  if (plan.head != Head::kCentres) return;
  if (plan.pyramid == Pyramid::kBoth) plan.pyramid = Pyramid::kDown;
  if (plan.pyramid == Pyramid::kDown) return;
  plan.stages.resize(plan.first_map + 1);
  plan.extra = 0;
}

// A plan at work on one network.
class Emitter {
 public:
  Emitter(const Plan& plan, GraphBuilder& net, double width)
      : plan_(plan), net_(net), width_(width) {}

  std::vector<Id> emit() {
    backbone(net_.input("image", plan_.input));
    if (plan_.pyramid != Pyramid::kNone) top_down();
    if (plan_.pyramid == Pyramid::kBoth) bottom_up();
    if (!net_.ok()) return {kNoTensor};
    switch (plan_.head) {
      case Head::kApart:
        return heads_apart();
      case Head::kOne:
        return heads_in_one();
      case Head::kCentres:
        return centres();
    }
    return {kNoTensor};
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
                     plan_.style.nonlinearity, plan_.style.explicit_pad);
  }
  // A window of 3x3 as the network's blocks have them.
  Id window(Id x, int64_t channels, int64_t stride = 1) {
    const bool separable =
        plan_.style.kind == BlockKind::kSeparable || plan_.style.kind == BlockKind::kInverted;
    if (!separable) return conv(x, channels, 3, stride);
    return emit_block(net_, x,
                      {.kind = BlockKind::kSeparable,
                       .nonlinearity = plan_.style.nonlinearity,
                       .explicit_pad = plan_.style.explicit_pad},
                      {.stride = stride}, channels, plan_.multiple);
  }

  void backbone(Id image) {
    Id x = conv(image, scaled(plan_.stem_channels), plan_.stem_kernel, 2);
    for (size_t i = 0; i < plan_.stages.size(); ++i) {
      const Stage& stage = plan_.stages[i];
      for (int64_t block = 0; block < stage.depth; ++block)
        x = emit_block(net_, x, plan_.style, {.kernel = stage.kernel, .stride = block == 0 ? 2 : 1},
                       scaled(stage.channels), plan_.multiple);
      if (i >= plan_.first_map) maps_.push_back(x);
    }
    double channels = plan_.stages.back().channels;
    for (int64_t i = 0; i < plan_.extra; ++i) {
      const Shape map = net_.shape(x);
      if (map.size() != 4 || std::min(map[1], map[2]) < 2) break;
      channels *= plan_.extra_share;
      const int64_t wide = scaled(channels);
      x = window(conv(x, std::max(plan_.multiple, wide / 2), 1), wide, 2);
      maps_.push_back(x);
    }
  }

  // Of two maps of one size.
  Id join(Id a, Id b, int64_t channels) {
    if (!plan_.pyramid_concat) return net_.add(a, b);
    return conv(net_.concatenation(std::array{a, b}, 3), channels, 1);
  }
  void top_down() {
    const int64_t channels = scaled(plan_.pyramid_channels);
    for (Id& map : maps_)
      map = conv_with(net_, map, {.channels = channels}, Nonlinearity::kNone, false);
    for (size_t i = maps_.size() - 1; i-- > 0;) {
      const Shape like = net_.shape(maps_[i]);
      if (like.size() != 4) return;
      const Id up = plan_.pyramid_bilinear
                        ? net_.resize_bilinear(maps_[i + 1], like[1], like[2], Corners::kHalfPixel)
                        : net_.resize_nearest(maps_[i + 1], like[1], like[2], Corners::kHalfPixel);
      maps_[i] = window(join(maps_[i], up, channels), channels);
    }
  }
  void bottom_up() {
    const int64_t channels = scaled(plan_.pyramid_channels);
    for (size_t i = 1; i < maps_.size(); ++i) {
      const Id down = window(maps_[i - 1], channels, 2);
      if (net_.shape(down) != net_.shape(maps_[i])) return;
      maps_[i] = window(join(maps_[i], down, channels), channels);
    }
  }

  [[nodiscard]] int64_t anchors(size_t map) const {
    constexpr int64_t kOfTheFirst = 3, kOfOthers = 6;
    if (plan_.anchors > 0) return plan_.anchors;
    return map == 0 ? kOfTheFirst : kOfOthers;
  }
  Id tower(Id x) {
    for (int64_t i = 0; i < plan_.tower; ++i) x = window(x, net_.shape(x).back());
    return x;
  }
  Id last(Id x, int64_t channels) {
    if (plan_.head_kernel == HeadKernel::kWindow)
      return net_.conv_2d(x, {.channels = channels, .kernel_h = 3, .kernel_w = 3});
    if (plan_.head_kernel == HeadKernel::kSeparable)
      x = depthwise_with(net_, x, {.kernel_h = 3, .kernel_w = 3}, plan_.style.nonlinearity, false);
    return net_.conv_2d(x, {.channels = channels});
  }
  // [1, height, width, anchors x values] of every map as one list.
  Id listed(const std::vector<Id>& maps, int64_t values) {
    std::vector<Id> rows;
    for (const Id map : maps) rows.push_back(net_.reshape(map, {1, -1, values}));
    return rows.size() > 1 ? net_.concatenation(rows, 1) : rows.front();
  }
  Id scored(Id x) {
    if (plan_.scores == Scores::kLogistic) return net_.logistic(x);
    return plan_.scores == Scores::kSoftmax ? net_.softmax(x) : x;
  }

  std::vector<Id> heads_apart() {
    const int64_t classes = plan_.classes + 1;
    std::vector<Id> boxes, scores;
    for (size_t i = 0; i < maps_.size(); ++i) {
      const Id x = tower(maps_[i]);
      boxes.push_back(last(x, anchors(i) * plan_.points));
      scores.push_back(last(x, anchors(i) * classes));
    }
    if (plan_.joined) return {listed(boxes, plan_.points), scored(listed(scores, classes))};
    boxes.insert(boxes.end(), scores.begin(), scores.end());
    return boxes;
  }
  std::vector<Id> heads_in_one() {
    const int64_t values = plan_.points + 1 + plan_.classes;
    std::vector<Id> outputs;
    for (size_t i = 0; i < maps_.size(); ++i)
      outputs.push_back(last(tower(maps_[i]), anchors(i) * values));
    if (!plan_.joined) return outputs;
    const Id all = listed(outputs, values);
    return {plan_.scores == Scores::kLogistic ? net_.logistic(all) : all};
  }
  std::vector<Id> centres() {
    const Id x = tower(maps_.front());
    return {net_.logistic(last(x, plan_.classes)), last(x, plan_.points)};
  }

  const Plan& plan_;
  GraphBuilder& net_;
  double width_;
  std::vector<Id> maps_;  // that get heads, the largest first
};

Result<Graph> build_with(uint64_t seed, std::string_view stream,
                         const std::function<Plan(Rng&)>& draw) {
  Rng rng(seed, stream);
  const double macs = kMacs.draw(rng);
  return sample_network(rng, "detection", macs, kLimits, [&draw](Rng& draws) -> EmitOutputs {
    return [plan = draw(draws)](GraphBuilder& net, double width) {
      return Emitter(plan, net, width).emit();
    };
  });
}

}  // namespace

std::span<const Parameter* const> detection_parameters() { return kParameters; }

Result<Graph> build_detection(uint64_t seed) {
  return build_with(seed, "detection/2", [](Rng& draws) {
    Plan plan = draw_plan(draws);
    leave_out_unread(plan);
    return plan;
  });
}

Result<Graph> build_detection_1(uint64_t seed) {
  return build_with(seed, "detection/1", draw_plan);
}

}  // namespace edgesage
