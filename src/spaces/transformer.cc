#include "src/spaces/transformer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "src/base/rng.h"
#include "src/graph/builder.h"
#include "src/spaces/fitting.h"
#include "src/spaces/mobile_blocks.h"
#include "src/spaces/transformer_blocks.h"

namespace edgesage {
namespace {

using Id = GraphBuilder::Id;

constexpr Parameter kMacs = log_uniform("macs", "multiply-accumulates aimed at", 1e6, 5e8);
constexpr Parameter kSource =
    one_of("source", "what tokens are made of: 0 an image, 1 a spectrogram, 2 words, 3 vectors",
           {{0, 40}, {1, 24}, {2, 20}, {3, 16}});
constexpr Parameter kSide = one_of("side", "height and width of an image, pixels",
                                   {{32, 24},
                                    {48, 8},
                                    {64, 18},
                                    {80, 4},
                                    {96, 14},
                                    {112, 6},
                                    {128, 10},
                                    {160, 6},
                                    {192, 4},
                                    {224, 6}});
constexpr Parameter kColours = one_of("colours", "channels of an image", {{3, 80}, {1, 20}});
constexpr Parameter kPatch = one_of("patch", "side of a patch of an image, pixels",
                                    {{4, 26}, {8, 34}, {16, 28}, {6, 4}, {7, 4}, {14, 4}});
constexpr Parameter kPatches = one_of("patches",
                                      "images to tokens: 0 a convolution, 1 RESHAPE, TRANSPOSE "
                                      "and a dense layer, 2 convolutions of stride 2",
                                      {{0, 58}, {1, 22}, {2, 20}});
constexpr Parameter kFrames =
    one_of("frames", "time steps of a spectrogram",
           {{98, 34}, {99, 8}, {49, 16}, {61, 6}, {96, 14}, {128, 12}, {64, 10}});
constexpr Parameter kBands = one_of("bands", "features of a time step",
                                    {{40, 50}, {64, 16}, {80, 8}, {10, 8}, {13, 6}, {32, 12}});
constexpr Parameter kSoundPatches = one_of("sound_patches",
                                           "spectrograms to tokens: 0 time steps (KWT), 1 squares "
                                           "(AST), 2 convolutions over time",
                                           {{0, 56}, {1, 20}, {2, 24}});
constexpr Parameter kSteps = one_of("steps", "time steps a token", {{1, 60}, {2, 28}, {4, 12}});
constexpr Parameter kLength = one_of(
    "length", "words or vectors",
    {{16, 12}, {24, 6}, {32, 18}, {48, 10}, {64, 20}, {96, 8}, {128, 18}, {192, 3}, {256, 5}});
constexpr Parameter kVocabulary = log_uniform("vocabulary", "distinct words", 256, 30522);
constexpr Parameter kEmbedding = one_of("embedding",
                                        "width of the table of words by that of the tokens; less "
                                        "than 1 with a dense layer behind it",
                                        {{1, 60}, {0.5, 20}, {0.25, 20}});
constexpr Parameter kVector =
    one_of("vector", "width of vectors",
           {{3, 10}, {6, 12}, {9, 10}, {16, 14}, {32, 14}, {64, 16}, {128, 14}, {256, 10}});
constexpr Parameter kPosition = chance("position", "networks that add places to tokens", 0.86);
constexpr Parameter kHeads = one_of("heads", "attention heads",
                                    {{1, 14}, {2, 22}, {3, 14}, {4, 26}, {6, 8}, {8, 12}, {12, 4}});
constexpr Parameter kHeadDepth =
    uniform("head_depth", "channels a head, before the width multiplier", 12, 64);
constexpr Parameter kDepth =
    one_of("depth", "blocks of attention and MLP",
           {{1, 12}, {2, 20}, {3, 14}, {4, 18}, {5, 4}, {6, 14}, {8, 8}, {10, 3}, {12, 7}});
constexpr Parameter kStages =
    one_of("stages",
           "of image networks without class token; tokens are fourfold fewer from one to the next",
           {{1, 76}, {2, 24}});
constexpr Parameter kMlpRatio = one_of("mlp_ratio", "channels inside an MLP by those of tokens",
                                       {{4, 46}, {2, 28}, {3, 12}, {1, 8}, {2.667, 6}});
constexpr Parameter kMultiple = one_of("multiple", "channels of a head are multiples of it",
                                       {{8, 62}, {16, 18}, {4, 14}, {1, 6}});
constexpr Parameter kLayer = one_of("layer",
                                    "layers of tokens: 0 FULLY_CONNECTED that keeps dimensions, "
                                    "1 between RESHAPEs, 2 CONV_2D of 1x1",
                                    {{0, 58}, {1, 24}, {2, 18}});
constexpr Parameter kNorm =
    one_of("norm",
           "0 layer normalisation of Keras, 1 of PyTorch, 2 the same by sums, 3 root mean square, "
           "4 folded batch normalisation",
           {{0, 42}, {1, 30}, {2, 8}, {3, 10}, {4, 10}});
constexpr Parameter kEpsilon =
    one_of("epsilon", "added to variances", {{1e-3, 30}, {1e-5, 30}, {1e-6, 40}});
constexpr Parameter kNormFirst =
    chance("norm_first", "networks that normalise before attention and MLP, not behind", 0.68);
constexpr Parameter kActivation =
    one_of("activation",
           "of MLPs: 0 GELU, 1 GELU's own approximation, 2 GELU by TANH in operators, 3 GELU by "
           "LOGISTIC, 4 ReLU, 5 ReLU6, 6 hard-swish, 7 gated (SwiGLU)",
           {{0, 28}, {1, 10}, {2, 12}, {3, 8}, {4, 18}, {5, 6}, {6, 10}, {7, 8}});
constexpr Parameter kAttention =
    one_of("attention",
           "0 BATCH_MATMUL of four dimensions, 1 of three, 2 by SPLIT a head, 3 FULLY_CONNECTED "
           "by SPLIT a head",
           {{0, 50}, {1, 18}, {2, 18}, {3, 14}});
constexpr Parameter kJoined =
    chance("joined", "networks with one layer for queries, keys and values", 0.34);
constexpr Parameter kTurnedKeys =
    chance("turned_keys", "networks with TRANSPOSE of keys, not BATCH_MATMUL's option", 0.4);
constexpr Parameter kScaledQueries =
    chance("scaled_queries", "networks that scale queries, not scores", 0.5);
constexpr Parameter kMasked =
    chance("masked", "networks of words or vectors that add a causal mask", 0.2);
constexpr Parameter kReduction =
    one_of("reduction", "side of the windows by which keys and values of images are fewer (PVT)",
           {{1, 86}, {2, 14}});
constexpr Parameter kLocal =
    chance("local", "networks without class token with depthwise windows in their MLPs", 0.14);
constexpr Parameter kHead =
    one_of("head",
           "0 mean of the tokens, 1 class token, 2 classes of every token, 3 all tokens in one "
           "dense layer, 4 weighed mean (CCT)",
           {{0, 38}, {1, 36}, {2, 8}, {3, 8}, {4, 10}});
constexpr Parameter kPooler =
    chance("pooler", "networks with a dense layer and TANH before the last layer", 0.12);
constexpr Parameter kClasses =
    one_of("classes", "outputs of the network, or of a token",
           {{2, 14}, {4, 6}, {6, 6}, {10, 26}, {12, 10}, {20, 4}, {35, 12}, {100, 14}, {1000, 8}});
constexpr Parameter kSoftmax = chance("softmax", "networks that end with it", 0.5);

constexpr std::array kParameters{
    &kMacs,       &kSource,        &kSide,      &kColours,   &kPatch,      &kPatches,   &kFrames,
    &kBands,      &kSoundPatches,  &kSteps,     &kLength,    &kVocabulary, &kEmbedding, &kVector,
    &kPosition,   &kHeads,         &kHeadDepth, &kDepth,     &kStages,     &kMlpRatio,  &kMultiple,
    &kLayer,      &kNorm,          &kEpsilon,   &kNormFirst, &kActivation, &kAttention, &kJoined,
    &kTurnedKeys, &kScaledQueries, &kMasked,    &kReduction, &kLocal,      &kHead,      &kPooler,
    &kClasses,    &kSoftmax};

constexpr NetworkLimits kLimits{.macs_low = 8e5,
                                .macs_high = 6e8,
                                .weights_low = 4'000,
                                .weights_high = 6'000'000,
                                .elements_high = 4'000'000};
constexpr int64_t kLeastTokens = 16, kMostTokens = 256;
constexpr int64_t kMostHeadDepth = 128, kMostChannels = 768;

enum class Source : uint8_t { kImage, kSound, kWords, kVectors };
enum class Patches : uint8_t { kConvolution, kDense, kStem };
enum class SoundPatches : uint8_t { kTimeSteps, kSquares, kConvolutions };
enum class Head : uint8_t { kMean, kClassToken, kEveryToken, kAllTokens, kWeighed };

// Everything about a network but its width.
struct Plan {
  Source source = Source::kImage;
  int64_t height = 32, width = 32, colours = 3;  // images; spectrograms: time steps and bands
  int64_t patch = 4, steps = 1;
  Patches patches = Patches::kConvolution;
  SoundPatches sound_patches = SoundPatches::kTimeSteps;
  int64_t length = 64, vocabulary = 1000, vector = 16;
  double embedding = 1;
  bool position = true;
  int64_t heads = 4, depth = 2, stages = 1, multiple = 8;
  double head_depth = 32, mlp_ratio = 4;
  TransformerStyle style;
  Head head = Head::kMean;
  bool pooler = false, softmax = false;
  int64_t classes = 10;
};

void draw_source(Rng& rng, Plan& plan) {
  plan.source = static_cast<Source>(kSource.draw_integer(rng));
  plan.patches = static_cast<Patches>(kPatches.draw_integer(rng));
  plan.sound_patches = static_cast<SoundPatches>(kSoundPatches.draw_integer(rng));
  if (plan.source == Source::kImage) {
    do {
      plan.height = plan.width = kSide.draw_integer(rng);
      plan.patch = kPatch.draw_integer(rng);
      if (plan.patches == Patches::kStem)
        plan.patch = plan.patch >= 14 ? 16 : plan.patch >= 7 ? 8 : 4;
      plan.length = (plan.height / plan.patch) * (plan.width / plan.patch);
    } while (plan.height % plan.patch != 0 || plan.length < kLeastTokens ||
             plan.length > kMostTokens);
    plan.colours = kColours.draw_integer(rng);
  } else if (plan.source == Source::kSound) {
    do {
      plan.height = kFrames.draw_integer(rng);
      plan.steps = kSteps.draw_integer(rng);
      plan.length = plan.height / plan.steps;
    } while (plan.length < kLeastTokens);
    plan.width = kBands.draw_integer(rng);
    plan.colours = 1;
    // Squares of 8 fit tall spectrograms only.
    plan.patch = plan.width >= 32 ? 8 : 4;
  } else {
    plan.length = kLength.draw_integer(rng);
    plan.vocabulary = kVocabulary.draw_integer(rng);
    plan.embedding = kEmbedding.draw(rng);
    plan.vector = kVector.draw_integer(rng);
  }
}

void draw_style(Rng& rng, Plan& plan) {
  TransformerStyle& style = plan.style;
  style.layer = static_cast<TokenLayer>(kLayer.draw_integer(rng));
  style.norm = static_cast<TokenNorm>(kNorm.draw_integer(rng));
  style.epsilon = kEpsilon.draw(rng);
  style.norm_first = kNormFirst.draw_chance(rng);
  style.activation = static_cast<TokenActivation>(kActivation.draw_integer(rng));
  style.attention = static_cast<AttentionForm>(kAttention.draw_integer(rng));
  style.joined_projection = kJoined.draw_chance(rng);
  style.turned_keys = kTurnedKeys.draw_chance(rng);
  style.scaled_queries = kScaledQueries.draw_chance(rng);
  const bool masked = kMasked.draw_chance(rng);
  style.masked = masked && (plan.source == Source::kWords || plan.source == Source::kVectors);
  const int64_t reduction = kReduction.draw_integer(rng);
  const bool local = kLocal.draw_chance(rng);
  const int64_t stages = kStages.draw_integer(rng);
  const bool has_grid = plan.head != Head::kClassToken;
  style.local = local && has_grid;
  if (plan.source != Source::kImage || !has_grid) return;
  const int64_t side = plan.height / plan.patch;
  plan.stages = side % 2 == 0 && side >= 8 && plan.depth >= 2 ? stages : 1;
  // Of the last stage too.
  style.reduction = (side / plan.stages) % 2 == 0 ? reduction : 1;
}

Plan draw_plan(Rng& rng) {
  Plan plan;
  draw_source(rng, plan);
  plan.position = kPosition.draw_chance(rng);
  plan.heads = kHeads.draw_integer(rng);
  plan.head_depth = kHeadDepth.draw(rng);
  plan.depth = kDepth.draw_integer(rng);
  plan.mlp_ratio = kMlpRatio.draw(rng);
  plan.multiple = kMultiple.draw_integer(rng);
  plan.head = static_cast<Head>(kHead.draw_integer(rng));
  draw_style(rng, plan);
  plan.pooler = kPooler.draw_chance(rng);
  plan.classes = kClasses.draw_integer(rng);
  plan.softmax = kSoftmax.draw_chance(rng);
  return plan;
}

// A plan at work on one network.
class Emitter {
 public:
  Emitter(const Plan& plan, GraphBuilder& net, double width) : plan_(plan), net_(net) {
    shape_.heads = plan.heads;
    const int64_t most = std::min(kMostHeadDepth, kMostChannels / plan.heads);
    shape_.head_depth = scale_channels(plan.head_depth, width, plan.multiple, most);
  }

  std::vector<Id> emit() {
    Id x = tokens();
    if (plan_.head == Head::kClassToken && plan_.source != Source::kWords)
      x = net_.prepend_constant(x, axis(x));
    if (plan_.position) x = net_.add_constant_of(x, net_.shape(x));
    if (!plan_.style.norm_first) x = token_norm(net_, x, plan_.style);
    for (int64_t stage = 0; stage < plan_.stages; ++stage) {
      if (stage > 0) x = merge(x);
      const int64_t later = plan_.stages > 1 ? plan_.depth / 2 : 0;
      x = blocks(x, stage == 0 ? plan_.depth - later : later);
    }
    if (plan_.style.norm_first) x = token_norm(net_, x, plan_.style);
    if (!net_.ok()) return {kNoTensor};
    return {head(x)};
  }

 private:
  [[nodiscard]] int64_t channels() const { return shape_.heads * shape_.head_depth; }
  [[nodiscard]] bool pointwise() const { return plan_.style.layer == TokenLayer::kPointwise; }
  // Of tokens.
  [[nodiscard]] int64_t axis(Id x) const { return static_cast<int64_t>(net_.shape(x).size()) - 2; }
  [[nodiscard]] Shape listed(int64_t length, int64_t width) const {
    return pointwise() ? Shape{1, 1, length, width} : Shape{1, length, width};
  }
  Id dense(Id x) { return token_layer(net_, x, plan_.style, channels()); }
  Id as_tokens(Id map) {
    const Shape& shape = net_.shape(map);
    if (shape.size() == 4) set_grid(shape[1], shape[2]);
    return map_to_tokens(net_, map, plan_.style);
  }
  void set_grid(int64_t height, int64_t width) {
    shape_.height = height;
    shape_.width = width;
  }

  Id tokens() {
    switch (plan_.source) {
      case Source::kImage:
        return image();
      case Source::kSound:
        return sound();
      case Source::kWords:
        return words();
      case Source::kVectors:
        break;
    }
    set_grid(plan_.length, 1);
    return dense(net_.input("vectors", listed(plan_.length, plan_.vector)));
  }
  Id image() {
    const Id x = net_.input("image", {1, plan_.height, plan_.width, plan_.colours});
    const int64_t side = plan_.patch;
    if (plan_.patches == Patches::kStem) return as_tokens(stem(x));
    if (plan_.patches == Patches::kConvolution) return as_tokens(squares(x, side));
    const int64_t rows = plan_.height / side, columns = plan_.width / side;
    set_grid(rows, columns);
    Id cut = net_.reshape(x, {rows, side, columns, side * plan_.colours});
    cut = net_.transpose(cut, {0, 2, 1, 3});
    return dense(net_.reshape(cut, listed(rows * columns, side * side * plan_.colours)));
  }
  Id squares(Id x, int64_t side) {
    return net_.conv_2d(x, {.channels = channels(),
                            .kernel_h = side,
                            .kernel_w = side,
                            .stride_h = side,
                            .stride_w = side,
                            .padding = Padding::kValid});
  }
  // Convolutions of stride 2, twice as wide from one to the next.
  Id stem(Id x) {
    int64_t steps = 0;
    while ((int64_t{1} << steps) < plan_.patch) ++steps;
    for (int64_t left = steps; left-- > 0;)
      x = net_.conv_2d(x, {.channels = std::max<int64_t>(4, channels() >> left),
                           .kernel_h = 3,
                           .kernel_w = 3,
                           .stride_h = 2,
                           .stride_w = 2,
                           .activation = left > 0 ? Activation::kRelu : Activation::kNone});
    return x;
  }
  Id sound() {
    if (plan_.sound_patches == SoundPatches::kSquares)
      return as_tokens(
          squares(net_.input("spectrogram", {1, plan_.height, plan_.width, 1}), plan_.patch));
    if (plan_.sound_patches == SoundPatches::kConvolutions) {
      Id x = net_.input("spectrogram", {1, plan_.height, 1, plan_.width});
      constexpr int64_t kWindow = 5;
      for (int64_t stride = 1; stride <= plan_.steps; stride *= 2)
        x = net_.conv_2d(x, {.channels = channels(),
                             .kernel_h = kWindow,
                             .stride_h = stride > 1 ? 2 : 1,
                             .activation = Activation::kRelu});
      return as_tokens(x);
    }
    const int64_t length = plan_.height / plan_.steps;
    set_grid(length, 1);
    Id x = net_.input("spectrogram", {1, length * plan_.steps, plan_.width, 1});
    return dense(net_.reshape(x, listed(length, plan_.steps * plan_.width)));
  }
  Id words() {
    const Id ids = net_.input_indexes(
        "words", pointwise() ? Shape{1, 1, plan_.length} : Shape{1, plan_.length});
    const auto width = std::max<int64_t>(
        4, static_cast<int64_t>(std::floor(static_cast<double>(channels()) * plan_.embedding)));
    set_grid(plan_.length, 1);
    const Id x = net_.gather_rows(ids, plan_.vocabulary, width);
    return width == channels() ? x : dense(x);
  }

  // Windows of 2x2 become one token of twice the channels.
  Id merge(Id x) {
    const Id map = tokens_to_map(net_, x, shape_);
    shape_.head_depth = std::min(2 * shape_.head_depth, kMostChannels / shape_.heads);
    return as_tokens(net_.conv_2d(map, {.channels = channels(),
                                        .kernel_h = 2,
                                        .kernel_w = 2,
                                        .stride_h = 2,
                                        .stride_w = 2,
                                        .padding = Padding::kValid}));
  }
  Id blocks(Id x, int64_t count) {
    shape_.hidden = scale_channels(static_cast<double>(channels()), plan_.mlp_ratio,
                                   std::min<int64_t>(8, plan_.multiple));
    for (int64_t block = 0; block < count; ++block) {
      const int64_t macs = net_.macs(), weights = net_.weights_bytes();
      x = transformer_block(net_, x, plan_.style, shape_);
      if (!net_.counts_only()) continue;
      net_.count_more((count - 1) * (net_.macs() - macs),
                      (count - 1) * (net_.weights_bytes() - weights));
      break;
    }
    return x;
  }

  Id head(Id x) {
    if (plan_.head == Head::kEveryToken) {
      const Id scores = token_layer(net_, x, plan_.style, plan_.classes);
      return plan_.softmax ? net_.softmax(scores) : scores;
    }
    Id pooled = pool(x);
    if (plan_.pooler) pooled = net_.tanh(net_.fully_connected(pooled, {.units = channels()}));
    const Id scores = net_.fully_connected(pooled, {.units = plan_.classes});
    return plan_.softmax ? net_.softmax(scores) : scores;
  }
  Id pool(Id x) {
    const int64_t length = net_.shape(x)[static_cast<size_t>(axis(x))];
    switch (plan_.head) {
      case Head::kClassToken: {
        const Id token = net_.slice_at(x, axis(x), 0);
        return pointwise() ? net_.reshape(token, {1, channels()}) : token;
      }
      case Head::kAllTokens:
        return net_.reshape(x, {1, length * channels()});
      case Head::kWeighed: {
        const Id weights =
            net_.softmax(net_.reshape(token_layer(net_, x, plan_.style, 1), {1, 1, length}));
        const Id tokens = pointwise() ? net_.reshape(x, {1, length, channels()}) : x;
        return net_.reshape(net_.batch_matmul(weights, tokens, false), {1, channels()});
      }
      case Head::kMean:
      case Head::kEveryToken:
        break;
    }
    return net_.mean(x, pointwise() ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{1}, false);
  }

  const Plan& plan_;
  GraphBuilder& net_;
  TransformerShape shape_;
};

}  // namespace

std::span<const Parameter* const> transformer_parameters() { return kParameters; }

Result<Graph> build_transformer(uint64_t seed) {
  Rng rng(seed, "transformer/1");
  const double macs = kMacs.draw(rng);
  return sample_network(rng, "transformer", macs, kLimits, [](Rng& draws) -> EmitOutputs {
    return [plan = draw_plan(draws)](GraphBuilder& net, double width) {
      return Emitter(plan, net, width).emit();
    };
  });
}

}  // namespace edgesage
