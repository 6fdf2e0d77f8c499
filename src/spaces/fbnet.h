// FBNet (Wu et al., CVPR 2019) as measured for CIFAR-100 images of 32x32: a chain of 22 layers,
// each one of nine blocks. The code names them, "7-8-1-...-5":
//
//   block      0  1  2  3  4  5  6  7  8
//   expansion  1  1  3  6  1  1  3  6  skip
//   kernel     3  3  3  3  5  5  5  5
//   groups     1  2  1  1  1  2  1  1   of the 1x1 convolutions, with a channel shuffle
//
// Layers a stage 1, 4, 4, 4, 4, 4, 1 with 16, 24, 32, 64, 112, 184, 352 channels and strides 1, 1,
// 2, 2, 1, 2, 1 (of the first layer); before them a 3x3 convolution to 16 channels, behind them a
// 1x1 to 1504, global average and 100 classes. A skip is the identity, or, where the shape changes,
// a 1x1 convolution with ReLU. Activations are ReLU.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "edgesage/result.h"
#include "src/base/rng.h"
#include "src/graph/builder.h"

namespace edgesage {

struct FbNetCode {
  static constexpr int kLayers = 22;
  std::array<uint8_t, kLayers> blocks{};  // 0 to 8

  // kInvalidArgument with what is allowed.
  [[nodiscard]] static Result<FbNetCode> parse(std::string_view code);
  [[nodiscard]] std::string code() const;
};

// All codes are equally likely.
[[nodiscard]] FbNetCode draw_fbnet(Rng& rng);

// Appends the network; returns its 100 outputs.
GraphBuilder::Id emit_fbnet(GraphBuilder& net, const FbNetCode& code, int64_t resolution);

}  // namespace edgesage
