// Stages of residual and branched classifiers: ResNet, ResNeXt, DenseNet, Inception, VGG.
#pragma once

#include <cstdint>

#include "src/graph/builder.h"
#include "src/spaces/mobile_blocks.h"

namespace edgesage {

enum class BranchedKind : uint8_t {
  kBasic = 0,       // two convolutions, add (ResNet-18)
  kBottleneck = 1,  // 1x1 down, kxk (grouped in ResNeXt), 1x1 up, add (ResNet-50)
  kDense = 2,       // layers that are concatenated to their input (DenseNet)
  kInception = 3,   // windows of several sizes and a pool side by side, concatenated
  kPlain = 4,       // convolutions one after the other, pool (VGG)
};
enum class Shortcut : uint8_t {
  kProjected = 0,  // 1x1 convolution with the block's stride
  kPooled = 1,     // average pool, 1x1 convolution (ResNet-D)
  kPadded = 2,     // maximum pool, PAD of channels (ResNet's option A)
};
enum class WideWindow : uint8_t {
  kSquare = 0,      // 5x5
  kTwice = 1,       // 3x3 after 3x3
  kFactorised = 2,  // 1xn after nx1
};

// What the blocks of a stage have in common.
struct BranchedStyle {
  BranchedKind kind = BranchedKind::kBasic;
  Nonlinearity nonlinearity = Nonlinearity::kRelu;
  int64_t kernel = 3;
  bool explicit_pad = false;  // PAD and VALID where the stride is 2
  // Residual and dense
  bool before = false;        // normalisation and activation before the convolutions, not behind
  double inner_share = 0.25;  // channels inside a bottleneck
  int64_t groups = 1;
  bool split_groups = false;  // SPLIT, convolutions, CONCATENATION; else a grouped CONV_2D
  bool stride_first = false;  // in the first 1x1 of a bottleneck
  Shortcut shortcut = Shortcut::kProjected;
  int64_t squeeze_ratio = 0;  // squeeze and excitation; 0: none
  double growth = 16;         // channels a dense layer adds, before the width multiplier
  bool dense_inner = true;    // a 1x1 convolution of 4 times that inside
  bool dense_list = false;    // concatenates all layers anew, not the last one to the rest
  double compression = 0.5;   // channels behind a dense stage
  // Inception: shares of the output's channels; the pool's branch has the rest.
  double point_share = 0.25, window_share = 0.4, wide_share = 0.15;
  WideWindow wide = WideWindow::kSquare;
  int64_t factor = 7;  // n of kFactorised
  bool average_branch = true;
  // Plain and dense
  bool pool_down = true;
};
struct BranchedStage {
  BranchedStyle style;
  double channels = 64;  // before the width multiplier
  int64_t blocks = 2;
  int64_t stride = 1;  // of the first block (dense and pooling stages: behind the last)
};

// Appends a stage; channels are multiples of `multiple`.
GraphBuilder::Id emit_stage(GraphBuilder& net, GraphBuilder::Id x, const BranchedStage& stage,
                            double width, int64_t multiple);

}  // namespace edgesage
