// The MobileNetV3 space of Once-for-All (Cai et al., ICLR 2020), width 1.0, for 1,000 classes. Five
// stages of two to four inverted bottlenecks; the code gives, for four possible blocks of each
// stage, kernel and expansion, for each stage its depth, and the resolution of the image:
//
//   ks7-5-5-5-7-7-5-7-5-7-3-7-5-3-7-3-5-3-5-3_e6-4-...-6_d2-2-2-2-3_r204
//
// or {"ks":[...],"e":[...],"d":[...],"r":204}. What a stage's depth leaves out is not looked at.
//
//   stage            1   2   3   4   5   6
//   channels        16  24  40  80 112 160   behind a 3x3 stem of stride 2 to 16 channels
//   stride           1   2   2   2   1   2   of the first block
//   squeeze-excite           x       x   x   to a quarter of the inner channels
//   hard-swish                   x   x   x   else ReLU
//
// Stage 1 is one fixed block (3x3, no expansion); the head is 1x1 to 960, global average, 1x1 to
// 1280, both with hard-swish, and the classes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "edgesage/result.h"
#include "src/base/rng.h"
#include "src/graph/builder.h"

namespace edgesage {

struct OfaCode {
  static constexpr size_t kStages = 5, kMostBlocks = 4;
  std::array<int64_t, kStages * kMostBlocks> kernels{};     // 3, 5 or 7
  std::array<int64_t, kStages * kMostBlocks> expansions{};  // 3, 4 or 6
  std::array<int64_t, kStages> depths{};                    // 2, 3 or 4
  int64_t resolution = 224;                                 // a multiple of 4, 32 to 1024

  // kInvalidArgument with what is allowed.
  [[nodiscard]] static Result<OfaCode> parse(std::string_view code);
  [[nodiscard]] std::string code() const;
};

// All codes with a resolution of 128 to 224 are equally likely.
[[nodiscard]] OfaCode draw_ofa(Rng& rng);

// Appends the network; returns its 1,000 outputs. `resolution` stands for the code's.
GraphBuilder::Id emit_ofa(GraphBuilder& net, const OfaCode& code, int64_t resolution);

}  // namespace edgesage
