#include "src/spaces/fbnet.h"

#include "src/spaces/code_text.h"
#include "src/spaces/inverted_bottleneck.h"

namespace edgesage {
namespace {

using Id = GraphBuilder::Id;

struct Block {
  int64_t expansion, kernel, groups;
};
constexpr std::array<Block, 8> kBlocks{
    {{1, 3, 1}, {1, 3, 2}, {3, 3, 1}, {6, 3, 1}, {1, 5, 1}, {1, 5, 2}, {3, 5, 1}, {6, 5, 1}}};
constexpr uint8_t kSkip = 8;
struct Stage {
  int layers;
  int64_t channels, stride;
};
constexpr std::array<Stage, 7> kStages{
    {{1, 16, 1}, {4, 24, 1}, {4, 32, 2}, {4, 64, 2}, {4, 112, 1}, {4, 184, 2}, {1, 352, 1}}};
constexpr int64_t kStem = 16;
constexpr int64_t kHead = 1504;
constexpr int64_t kClasses = 100;

Id emit_layer(GraphBuilder& net, Id x, uint8_t choice, int64_t channels, int64_t stride) {
  const int64_t before = net.shape(x).empty() ? 1 : net.shape(x).back();
  if (choice == kSkip) {
    if (before == channels && stride == 1) return x;
    return net.conv_2d(x, {.channels = channels,
                           .stride_h = stride,
                           .stride_w = stride,
                           .activation = Activation::kRelu});
  }
  const Block& block = kBlocks[choice];
  return emit_inverted_bottleneck(net, x,
                                  {.inner = before * block.expansion,
                                   .channels = channels,
                                   .kernel = block.kernel,
                                   .stride = stride,
                                   .groups = block.groups});
}

}  // namespace

Result<FbNetCode> FbNetCode::parse(std::string_view code) {
  EDGESAGE_ASSIGN_OR_RETURN(
      const std::vector<int64_t> numbers,
      parse_code_numbers(code, code, kLayers, {.least = 0, .most = kSkip, .what = "blocks"}));
  FbNetCode parsed;
  for (size_t i = 0; i < numbers.size(); ++i) parsed.blocks[i] = static_cast<uint8_t>(numbers[i]);
  return parsed;
}

std::string FbNetCode::code() const { return code_numbers(blocks); }

FbNetCode draw_fbnet(Rng& rng) {
  FbNetCode code;
  for (uint8_t& block : code.blocks) block = static_cast<uint8_t>(rng.integer(0, kSkip));
  return code;
}

Id emit_fbnet(GraphBuilder& net, const FbNetCode& code, int64_t resolution) {
  Id x = net.input("image", {1, resolution, resolution, 3});
  x = conv_activated(net, x, {.channels = kStem, .kernel_h = 3, .kernel_w = 3}, false);
  size_t layer = 0;
  for (const Stage& stage : kStages)
    for (int i = 0; i < stage.layers; ++i)
      x = emit_layer(net, x, code.blocks[layer++], stage.channels, i == 0 ? stage.stride : 1);
  x = conv_activated(net, x, {.channels = kHead}, false);
  return net.fully_connected(net.mean(x, {1, 2}, false), {.units = kClasses});
}

}  // namespace edgesage
