#include "src/spaces/ofa_mobilenet_v3.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "src/base/json.h"
#include "src/base/text.h"
#include "src/spaces/code_text.h"
#include "src/spaces/inverted_bottleneck.h"

namespace edgesage {
namespace {

using Id = GraphBuilder::Id;

struct Stage {
  int64_t channels, stride;
  bool squeeze, hard_swish;
};
constexpr std::array<Stage, OfaCode::kStages> kStages{{{24, 2, false, false},
                                                       {40, 2, true, false},
                                                       {80, 2, false, true},
                                                       {112, 1, true, true},
                                                       {160, 2, true, true}}};
constexpr int64_t kStem = 16;
constexpr int64_t kLastConv = 960;
constexpr int64_t kFeatures = 1280;
constexpr int64_t kClasses = 1000;

constexpr size_t kBlocks = OfaCode::kStages * OfaCode::kMostBlocks;
constexpr std::array<int64_t, 3> kKernels{3, 5, 7};
constexpr std::array<int64_t, 3> kExpansions{3, 4, 6};
constexpr std::array<int64_t, 3> kDepths{2, 3, 4};
constexpr CodeNumbers kKernelRange{.only = kKernels, .what = "kernels (ks)"};
constexpr CodeNumbers kExpansionRange{.only = kExpansions, .what = "expansions (e)"};
constexpr CodeNumbers kDepthRange{.only = kDepths, .what = "depths (d)"};
constexpr int64_t kLeastSide = 32, kMostSide = 1024, kSideStep = 4;
constexpr CodeNumbers kSideRange{.least = kLeastSide, .most = kMostSide, .what = "resolutions (r)"};
constexpr int64_t kDrawnLeast = 128, kDrawnMost = 224;

constexpr const char* kForm =
    "not a code of ofa-mobilenet-v3; it is ks<20 kernels>_e<20 expansions>_d<5 depths>_r<side> "
    "with - between the numbers, or {\"ks\":[...],\"e\":[...],\"d\":[...],\"r\":224}";

// To a multiple of 8 that is at least nine tenths.
int64_t divisible(int64_t channels) {
  const int64_t rounded = std::max<int64_t>(8, (channels + 4) / 8 * 8);
  return rounded * 10 < channels * 9 ? rounded + 8 : rounded;
}

template <size_t N>
void take(const std::vector<int64_t>& numbers, std::array<int64_t, N>& to) {
  std::copy(numbers.begin(), numbers.end(), to.begin());
}

Result<std::vector<int64_t>> json_numbers(std::string_view code, const Json& object,
                                          const char* key, size_t count,
                                          const CodeNumbers& allowed) {
  const auto found = object.find(key);
  if (found == object.end() || (count > 1 && !found->is_array())) return bad_code(code, kForm);
  const Json list = found->is_array() ? *found : Json::array({*found});
  std::vector<int64_t> numbers;
  for (const Json& item : list) {
    if (!item.is_number_integer()) return bad_code(code, kForm);
    numbers.push_back(item.get<int64_t>());
  }
  EDGESAGE_RETURN_IF_ERROR(check_code_numbers(code, numbers, count, allowed));
  return numbers;
}

struct Lists {
  std::vector<int64_t> kernels, expansions, depths, side;
};

Result<Lists> parse_json_code(std::string_view code) {
  const auto object = parse_json(code, "code", ErrorCode::kInvalidArgument);
  if (!object || !object->is_object()) return bad_code(code, kForm);
  Lists lists;
  EDGESAGE_ASSIGN_OR_RETURN(lists.kernels,
                            json_numbers(code, *object, "ks", kBlocks, kKernelRange));
  EDGESAGE_ASSIGN_OR_RETURN(lists.expansions,
                            json_numbers(code, *object, "e", kBlocks, kExpansionRange));
  EDGESAGE_ASSIGN_OR_RETURN(lists.depths,
                            json_numbers(code, *object, "d", OfaCode::kStages, kDepthRange));
  EDGESAGE_ASSIGN_OR_RETURN(lists.side, json_numbers(code, *object, "r", 1, kSideRange));
  return lists;
}

Result<Lists> parse_text_code(std::string_view code) {
  const std::vector<std::string> parts = split(code, '_');
  if (parts.size() != 4 || !parts[0].starts_with("ks") || !parts[1].starts_with("e") ||
      !parts[2].starts_with("d") || !parts[3].starts_with("r"))
    return bad_code(code, kForm);
  const auto numbers = [&](size_t part, size_t prefix, size_t count, const CodeNumbers& allowed) {
    return parse_code_numbers(code, std::string_view(parts[part]).substr(prefix), count, allowed);
  };
  Lists lists;
  EDGESAGE_ASSIGN_OR_RETURN(lists.kernels, numbers(0, 2, kBlocks, kKernelRange));
  EDGESAGE_ASSIGN_OR_RETURN(lists.expansions, numbers(1, 1, kBlocks, kExpansionRange));
  EDGESAGE_ASSIGN_OR_RETURN(lists.depths, numbers(2, 1, OfaCode::kStages, kDepthRange));
  EDGESAGE_ASSIGN_OR_RETURN(lists.side, numbers(3, 1, 1, kSideRange));
  return lists;
}

}  // namespace

Result<OfaCode> OfaCode::parse(std::string_view code) {
  EDGESAGE_ASSIGN_OR_RETURN(const Lists lists,
                            code.starts_with("{") ? parse_json_code(code) : parse_text_code(code));
  OfaCode parsed;
  take(lists.kernels, parsed.kernels);
  take(lists.expansions, parsed.expansions);
  take(lists.depths, parsed.depths);
  parsed.resolution = lists.side.front();
  if (parsed.resolution % kSideStep != 0)
    return bad_code(code, fmt::format("a resolution of {}; multiples of {} are allowed",
                                      parsed.resolution, kSideStep));
  return parsed;
}

std::string OfaCode::code() const {
  return fmt::format("ks{}_e{}_d{}_r{}", code_numbers(kernels), code_numbers(expansions),
                     code_numbers(depths), resolution);
}

OfaCode draw_ofa(Rng& rng) {
  OfaCode code;
  const auto draw = [&rng](auto& numbers, std::span<const int64_t> choices) {
    for (int64_t& number : numbers) number = rng.pick(choices);
  };
  draw(code.kernels, kKernels);
  draw(code.expansions, kExpansions);
  draw(code.depths, kDepths);
  code.resolution = kSideStep * rng.integer(kDrawnLeast / kSideStep, kDrawnMost / kSideStep);
  return code;
}

Id emit_ofa(GraphBuilder& net, const OfaCode& code, int64_t resolution) {
  Id x = net.input("image", {1, resolution, resolution, 3});
  x = conv_activated(
      net, x, {.channels = kStem, .kernel_h = 3, .kernel_w = 3, .stride_h = 2, .stride_w = 2},
      true);
  x = emit_inverted_bottleneck(net, x, {.inner = kStem, .channels = kStem, .expand = false});
  int64_t channels = kStem;
  for (size_t s = 0; s < kStages.size(); ++s) {
    const Stage& stage = kStages[s];
    for (int64_t i = 0; i < code.depths[s]; ++i) {
      const size_t block = s * OfaCode::kMostBlocks + static_cast<size_t>(i);
      const int64_t inner = channels * code.expansions[block];
      x = emit_inverted_bottleneck(net, x,
                                   {.inner = inner,
                                    .channels = stage.channels,
                                    .kernel = code.kernels[block],
                                    .stride = i == 0 ? stage.stride : 1,
                                    .hard_swish = stage.hard_swish,
                                    .squeezed = stage.squeeze ? divisible(inner / 4) : 0,
                                    .gate = Gate::kHardSigmoid});
      channels = stage.channels;
    }
  }
  x = conv_activated(net, x, {.channels = kLastConv}, true);
  x = conv_activated(net, net.mean(x, {1, 2}, true), {.channels = kFeatures}, true);
  return net.fully_connected(net.reshape(x, {1, kFeatures}), {.units = kClasses});
}

}  // namespace edgesage
