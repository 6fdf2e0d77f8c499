#include "src/spaces/reference_networks.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <memory>
#include <utility>
#include <vector>

#include "src/base/hash.h"
#include "src/base/text.h"
#include "src/graph/builder.h"
#include "src/spaces/trained_weights.h"

namespace edgesage {
namespace {

using Id = GraphBuilder::Id;

constexpr int kMostResolution = 1024;
constexpr int64_t kClasses = 1000;

Id classify(GraphBuilder& net, Id x) {
  x = net.mean(x, {1, 2}, false);
  return net.softmax(net.fully_connected(x, {.units = kClasses}));
}

// The first layers of ResNets and DenseNets: a fourth of the image's sides, 64 channels.
Id stem(GraphBuilder& net, Id x) {
  x = net.pad(x, {0, 0, 3, 3, 3, 3, 0, 0});
  x = net.conv_2d(x, {.channels = 64,
                      .kernel_h = 7,
                      .kernel_w = 7,
                      .stride_h = 2,
                      .stride_w = 2,
                      .padding = Padding::kValid,
                      .activation = Activation::kRelu});
  x = net.pad(x, {0, 0, 1, 1, 1, 1, 0, 0});
  return net.max_pool(x, {.kernel_h = 3, .kernel_w = 3, .stride_h = 2, .stride_w = 2});
}

// He, Zhang, Ren and Sun, "Deep residual learning for image recognition", CVPR 2016; the stride is
// in the first convolution of a block.
Id resnet50(GraphBuilder& net, Id x) {
  x = stem(net, x);
  constexpr std::pair<int64_t, int> kStages[] = {{64, 3}, {128, 4}, {256, 6}, {512, 3}};
  for (const auto& [channels, blocks] : kStages)
    for (int block = 0; block < blocks; ++block) {
      const int64_t stride = block == 0 && channels > 64 ? 2 : 1;
      const Id shortcut =
          block > 0
              ? x
              : net.conv_2d(x, {.channels = 4 * channels, .stride_h = stride, .stride_w = stride});
      Id y = net.conv_2d(x, {.channels = channels,
                             .stride_h = stride,
                             .stride_w = stride,
                             .activation = Activation::kRelu});
      y = net.conv_2d(
          y, {.channels = channels, .kernel_h = 3, .kernel_w = 3, .activation = Activation::kRelu});
      y = net.conv_2d(y, {.channels = 4 * channels});
      x = net.add(shortcut, y, Activation::kRelu);
    }
  return classify(net, x);
}

// Huang, Liu, van der Maaten and Weinberger, "Densely connected convolutional networks", CVPR 2017.
Id densenet169(GraphBuilder& net, Id x) {
  constexpr int64_t kGrowth = 32;
  x = stem(net, x);
  constexpr int kLayers[] = {6, 12, 32, 32};
  for (size_t stage = 0; stage < std::size(kLayers); ++stage) {
    for (int layer = 0; layer < kLayers[stage]; ++layer) {
      Id y = net.scale_and_shift(x, Activation::kRelu);
      y = net.conv_2d(y, {.channels = 4 * kGrowth, .activation = Activation::kRelu});
      y = net.conv_2d(y, {.channels = kGrowth, .kernel_h = 3, .kernel_w = 3});
      const std::array<Id, 2> parts{x, y};
      x = net.concatenation(parts, 3);
    }
    x = net.scale_and_shift(x, Activation::kRelu);
    if (stage + 1 == std::size(kLayers)) break;
    x = net.conv_2d(x, {.channels = net.ok() ? net.shape(x).back() / 2 : 1});
    x = net.average_pool(x, {.kernel_h = 2, .kernel_w = 2, .stride_h = 2, .stride_w = 2});
  }
  return classify(net, x);
}

// What the two mobile networks are made of: 1x1 up, depthwise, 1x1 down, and the input added where
// it has the same shape.
struct InvertedStage {
  int64_t expansion, channels;
  int blocks;
  int64_t kernel, stride;
};

Id inverted_stages(GraphBuilder& net, Id x, std::span<const InvertedStage> stages) {
  for (const InvertedStage& stage : stages)
    for (int block = 0; block < stage.blocks; ++block) {
      const int64_t stride = block == 0 ? stage.stride : 1;
      const int64_t depth = net.ok() ? net.shape(x).back() : 1;
      Id y = x;
      if (stage.expansion > 1)
        y = net.conv_2d(y, {.channels = stage.expansion * depth, .activation = Activation::kRelu6});
      y = net.depthwise_conv_2d(y, {.kernel_h = stage.kernel,
                                    .kernel_w = stage.kernel,
                                    .stride_h = stride,
                                    .stride_w = stride,
                                    .activation = Activation::kRelu6});
      y = net.conv_2d(y, {.channels = stage.channels});
      x = stride == 1 && depth == stage.channels ? net.add(x, y) : y;
    }
  return x;
}

Id mobile_network(GraphBuilder& net, Id x, std::span<const InvertedStage> stages) {
  x = net.conv_2d(x, {.channels = 32,
                      .kernel_h = 3,
                      .kernel_w = 3,
                      .stride_h = 2,
                      .stride_w = 2,
                      .activation = Activation::kRelu6});
  x = inverted_stages(net, x, stages);
  x = net.conv_2d(x, {.channels = 1280, .activation = Activation::kRelu6});
  return classify(net, x);
}

// Sandler, Howard, Zhu, Zhmoginov and Chen, "MobileNetV2", CVPR 2018, table 2.
Id mobilenet_v2(GraphBuilder& net, Id x) {
  constexpr InvertedStage kStages[] = {{1, 16, 1, 3, 1}, {6, 24, 2, 3, 2}, {6, 32, 3, 3, 2},
                                       {6, 64, 4, 3, 2}, {6, 96, 3, 3, 1}, {6, 160, 3, 3, 2},
                                       {6, 320, 1, 3, 1}};
  return mobile_network(net, x, kStages);
}

// EfficientNet-Lite0: EfficientNet-B0 (Tan and Le, ICML 2019) with RELU6 and without squeeze and
// excitation.
Id efficientnet_lite0(GraphBuilder& net, Id x) {
  constexpr InvertedStage kStages[] = {{1, 16, 1, 3, 1}, {6, 24, 2, 3, 2},  {6, 40, 2, 5, 2},
                                       {6, 80, 3, 3, 2}, {6, 112, 3, 5, 1}, {6, 192, 4, 5, 2},
                                       {6, 320, 1, 3, 1}};
  return mobile_network(net, x, kStages);
}

// Szegedy, Vanhoucke, Ioffe, Shlens and Wojna, "Rethinking the Inception architecture", CVPR 2016.
class InceptionV3 {
 public:
  explicit InceptionV3(GraphBuilder& net) : net_(net) {}

  Id run(Id x) {
    x = reduce(x, 32, 3, 2);
    x = reduce(x, 32, 3, 1);
    x = conv(x, 64, 3, 3);
    x = pool(x);
    x = conv(x, 80, 1, 1);
    x = reduce(x, 192, 3, 1);
    x = pool(x);
    for (const int64_t pooled : {32, 64, 64}) x = square(x, pooled);
    x = join({reduce(x, 384, 3, 2), reduce(conv(conv(x, 64, 1, 1), 96, 3, 3), 96, 3, 2), pool(x)});
    for (const int64_t inner : {128, 160, 160, 192}) x = factorised(x, inner);
    x = join({reduce(conv(x, 192, 1, 1), 320, 3, 2),
              reduce(conv(conv(conv(x, 192, 1, 1), 192, 1, 7), 192, 7, 1), 192, 3, 2), pool(x)});
    for (int i = 0; i < 2; ++i) x = wide(x);
    return classify(net_, x);
  }

 private:
  Id conv(Id x, int64_t channels, int64_t height, int64_t width) {
    return net_.conv_2d(x, {.channels = channels,
                            .kernel_h = height,
                            .kernel_w = width,
                            .activation = Activation::kRelu});
  }
  Id reduce(Id x, int64_t channels, int64_t kernel, int64_t stride) {
    return net_.conv_2d(x, {.channels = channels,
                            .kernel_h = kernel,
                            .kernel_w = kernel,
                            .stride_h = stride,
                            .stride_w = stride,
                            .padding = Padding::kValid,
                            .activation = Activation::kRelu});
  }
  Id pool(Id x) {
    return net_.max_pool(x, {.kernel_h = 3, .kernel_w = 3, .stride_h = 2, .stride_w = 2});
  }
  Id average(Id x) {
    return net_.average_pool(x, {.kernel_h = 3, .kernel_w = 3, .padding = Padding::kSame});
  }
  Id join(const std::vector<Id>& parts) { return net_.concatenation(parts, 3); }

  Id square(Id x, int64_t pooled) {
    const Id point = conv(x, 64, 1, 1);
    const Id five = conv(conv(x, 48, 1, 1), 64, 5, 5);
    const Id twice = conv(conv(conv(x, 64, 1, 1), 96, 3, 3), 96, 3, 3);
    return join({point, five, twice, conv(average(x), pooled, 1, 1)});
  }
  Id factorised(Id x, int64_t inner) {
    const Id point = conv(x, 192, 1, 1);
    const Id seven = conv(conv(conv(x, inner, 1, 1), inner, 1, 7), 192, 7, 1);
    Id twice = conv(conv(conv(x, inner, 1, 1), inner, 7, 1), inner, 1, 7);
    twice = conv(conv(twice, inner, 7, 1), 192, 1, 7);
    return join({point, seven, twice, conv(average(x), 192, 1, 1)});
  }
  Id wide(Id x) {
    const Id point = conv(x, 320, 1, 1);
    const Id three = conv(x, 384, 1, 1);
    const Id twice = conv(conv(x, 448, 1, 1), 384, 3, 3);
    const Id first = join({conv(three, 384, 1, 3), conv(three, 384, 3, 1)});
    const Id second = join({conv(twice, 384, 1, 3), conv(twice, 384, 3, 1)});
    return join({point, first, second, conv(average(x), 192, 1, 1)});
  }

  GraphBuilder& net_;
};

constexpr std::array<ReferenceNetwork, 5> kInfos{{
    {"inception-v3", "Inception v3 (Szegedy and others, 2016)", 299, 75},
    {"densenet169", "DenseNet-169 (Huang and others, 2017)", 224, 32},
    {"resnet50", "ResNet-50 (He and others, 2016)", 224, 32},
    {"mobilenet-v2", "MobileNet v2, width 1 (Sandler and others, 2018)", 224, 32},
    {"efficientnet-lite0", "EfficientNet-Lite0 (after Tan and Le, 2019)", 224, 32},
}};
constexpr std::array<Id (*)(GraphBuilder&, Id), kInfos.size()> kEmit{
    [](GraphBuilder& net, Id image) { return InceptionV3(net).run(image); }, densenet169, resnet50,
    mobilenet_v2, efficientnet_lite0};

struct Parsed {
  size_t network = 0;
  int resolution = 0;
  DataType type = DataType::kInt8;
};

tl::unexpected<Error> bad_code(std::string_view code, std::string message) {
  return make_error(ErrorCode::kInvalidArgument, fmt::format("{}/{}", kReferenceSpace, code),
                    std::move(message));
}

Status parse_part(std::string_view code, const std::string& part, Parsed& parsed) {
  if (part == "float32" || part == "int8") {
    parsed.type = part == "int8" ? DataType::kInt8 : DataType::kFloat32;
    return {};
  }
  const ReferenceNetwork& info = kInfos[parsed.network];
  const char* end = part.data() + part.size();
  const auto [rest, error] = std::from_chars(part.data(), end, parsed.resolution);
  if (error == std::errc() && rest == end && parsed.resolution >= info.least_resolution &&
      parsed.resolution <= kMostResolution)
    return {};
  return bad_code(
      code, fmt::format("\"@{}\" is no side of its image from {} to {}, int8 or float32", part,
                        info.least_resolution, kMostResolution));
}

Result<Parsed> parse(std::string_view code) {
  const std::vector<std::string> parts = split(code, '@');
  std::vector<std::string> names;
  Parsed parsed;
  while (parsed.network < kInfos.size() && kInfos[parsed.network].name != parts[0])
    names.emplace_back(kInfos[parsed.network++].name);
  if (parsed.network == kInfos.size()) {
    const std::string_view near = closest(parts[0], names);
    return bad_code(code, fmt::format("no such network{}; there are {}",
                                      near.empty() ? "" : fmt::format(", did you mean {}?", near),
                                      join(names, ", ")));
  }
  parsed.resolution = kInfos[parsed.network].resolution;
  for (size_t i = 1; i < parts.size(); ++i)
    EDGESAGE_RETURN_IF_ERROR(parse_part(code, parts[i], parsed));
  return parsed;
}

std::string canonical(const Parsed& parsed) {
  const ReferenceNetwork& info = kInfos[parsed.network];
  std::string text(info.name);
  if (parsed.resolution != info.resolution) text += fmt::format("@{}", parsed.resolution);
  if (parsed.type == DataType::kFloat32) text += "@float32";
  return text;
}

}  // namespace

std::span<const ReferenceNetwork> reference_networks() { return kInfos; }

Result<std::string> canonical_reference(std::string_view code) {
  EDGESAGE_ASSIGN_OR_RETURN(const Parsed parsed, parse(code));
  return canonical(parsed);
}

Result<Graph> build_reference(std::string_view code, bool weights) {
  EDGESAGE_ASSIGN_OR_RETURN(const Parsed parsed, parse(code));
  Hasher hasher;
  hasher.add(kReferenceSpace);
  hasher.add(kInfos[parsed.network].name);
  const uint64_t seed = hasher.low64();
  GraphBuilder::Options options{.name = std::string(kReferenceSpace),
                                .type = parsed.type,
                                .seed = seed,
                                .shapes_only = !weights};
  if (weights) {
    const auto filler = std::make_shared<TrainedWeights>(seed, TrainedWeights::Drawing::kTabled);
    options.fill = [filler](const FilterLayout& layout, std::span<int8_t> stored) {
      filler->fill(layout, stored);
    };
  }
  GraphBuilder net(std::move(options));
  const Id image = net.input("image", {1, parsed.resolution, parsed.resolution, 3});
  const Id output = kEmit[parsed.network](net, image);
  EDGESAGE_ASSIGN_OR_RETURN(Graph graph, net.finish({output}));
  graph.description = fmt::format("{}/{}", kReferenceSpace, canonical(parsed));
  return graph;
}

}  // namespace edgesage
