// The MnasNet-like space of Accel-NASBench (Ahmad et al., DAC 2024): seven stages of inverted
// bottlenecks for 1,000 classes at 224x224. The code gives each stage's expansion, kernel, layers
// and whether it squeezes and excites:
//
//   6-3-1-0_4-5-2-0_6-3-3-0_6-5-3-0_6-5-2-0_1-3-2-0_1-3-2-0
//
// (also with '-' throughout: the columns block0_e ... block6_se in their order). Output channels
// 16, 24, 40, 80, 112, 192, 320; strides 1, 2, 2, 2, 1, 2, 1; a 3x3 stem of stride 2 to 32; the
// head is 1x1 to 1280, global average and the classes. Squeeze-excite goes to a quarter of the
// block's input channels. EfficientNet-B0 is one of its codes, but for its activation: here ReLU,
// because the FPGA accelerators that the space was measured on have no swish.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "edgesage/result.h"
#include "src/base/rng.h"
#include "src/graph/builder.h"

namespace edgesage {

struct MnasnetAccelCode {
  static constexpr size_t kStages = 7;
  struct Stage {
    int64_t expansion = 1;  // 1, 4 or 6
    int64_t kernel = 3;     // 3 or 5
    int64_t layers = 1;     // 1 to 4
    bool squeeze = false;
  };
  std::array<Stage, kStages> stages;

  // kInvalidArgument with what is allowed.
  [[nodiscard]] static Result<MnasnetAccelCode> parse(std::string_view code);
  [[nodiscard]] std::string code() const;
};

// All codes with up to 3 layers a stage, 4 in the sixth, are equally likely.
[[nodiscard]] MnasnetAccelCode draw_mnasnet_accel(Rng& rng);

// Appends the network; returns its 1,000 outputs.
GraphBuilder::Id emit_mnasnet_accel(GraphBuilder& net, const MnasnetAccelCode& code,
                                    int64_t resolution);

}  // namespace edgesage
