#include "src/spaces/mnasnet_accel.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "src/spaces/code_text.h"
#include "src/spaces/inverted_bottleneck.h"

namespace edgesage {
namespace {

using Id = GraphBuilder::Id;

constexpr std::array<int64_t, MnasnetAccelCode::kStages> kChannels{16, 24, 40, 80, 112, 192, 320};
constexpr std::array<int64_t, MnasnetAccelCode::kStages> kStrides{1, 2, 2, 2, 1, 2, 1};
constexpr int64_t kStem = 32;
constexpr int64_t kHead = 1280;
constexpr int64_t kClasses = 1000;
constexpr int64_t kSqueezeRatio = 4;

constexpr size_t kFields = 4;  // of a stage
constexpr std::array<int64_t, 3> kExpansions{1, 4, 6};
constexpr std::array<int64_t, 2> kKernels{3, 5};
constexpr std::array<CodeNumbers, kFields> kRanges{
    {{.only = kExpansions, .what = "expansions (first of a stage's four numbers)"},
     {.only = kKernels, .what = "kernels (second of a stage's four numbers)"},
     {.least = 1, .most = 4, .what = "layers (third of a stage's four numbers)"},
     {.least = 0, .most = 1, .what = "squeeze-excite (last of a stage's four numbers)"}}};
constexpr CodeNumbers kAny{
    .least = 0, .most = 99, .what = "numbers (four a stage: expansion, kernel, layers, squeeze)"};
constexpr size_t kLongStage = 5;

}  // namespace

Result<MnasnetAccelCode> MnasnetAccelCode::parse(std::string_view code) {
  std::string text(code);
  std::replace(text.begin(), text.end(), '_', '-');
  EDGESAGE_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers,
                            parse_code_numbers(code, text, kStages * kFields, kAny));
  for (size_t i = 0; i < numbers.size(); ++i)
    EDGESAGE_RETURN_IF_ERROR(
        check_code_numbers(code, std::span(numbers).subspan(i, 1), 1, kRanges[i % kFields]));
  MnasnetAccelCode parsed;
  for (size_t s = 0; s < kStages; ++s) {
    const int64_t* field = numbers.data() + s * kFields;
    parsed.stages[s] = {field[0], field[1], field[2], field[3] != 0};
  }
  return parsed;
}

std::string MnasnetAccelCode::code() const {
  std::string text;
  for (const Stage& stage : stages)
    text += fmt::format("{}{}-{}-{}-{:d}", text.empty() ? "" : "_", stage.expansion, stage.kernel,
                        stage.layers, static_cast<int>(stage.squeeze));
  return text;
}

MnasnetAccelCode draw_mnasnet_accel(Rng& rng) {
  MnasnetAccelCode code;
  for (size_t s = 0; s < code.stages.size(); ++s) {
    code.stages[s].expansion = rng.pick<int64_t>(kExpansions);
    code.stages[s].kernel = rng.pick<int64_t>(kKernels);
    code.stages[s].layers = rng.integer(1, s == kLongStage ? 4 : 3);
    code.stages[s].squeeze = rng.integer(0, 1) == 1;
  }
  return code;
}

Id emit_mnasnet_accel(GraphBuilder& net, const MnasnetAccelCode& code, int64_t resolution) {
  Id x = net.input("image", {1, resolution, resolution, 3});
  x = conv_activated(
      net, x, {.channels = kStem, .kernel_h = 3, .kernel_w = 3, .stride_h = 2, .stride_w = 2},
      false);
  int64_t channels = kStem;
  for (size_t s = 0; s < code.stages.size(); ++s) {
    const MnasnetAccelCode::Stage& stage = code.stages[s];
    for (int64_t i = 0; i < stage.layers; ++i) {
      x = emit_inverted_bottleneck(net, x,
                                   {.inner = channels * stage.expansion,
                                    .channels = kChannels[s],
                                    .kernel = stage.kernel,
                                    .stride = i == 0 ? kStrides[s] : 1,
                                    .expand = stage.expansion > 1,
                                    .squeezed = stage.squeeze ? channels / kSqueezeRatio : 0});
      channels = kChannels[s];
    }
  }
  x = conv_activated(net, x, {.channels = kHead}, false);
  return net.fully_connected(net.mean(x, {1, 2}, false), {.units = kClasses});
}

}  // namespace edgesage
