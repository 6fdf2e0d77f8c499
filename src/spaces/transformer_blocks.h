// The parts of transformers, operator by operator as converters emit them.
//
// Tokens are [1, length, channels], or [1, 1, length, channels] where layers are 1x1 convolutions.
#pragma once

#include <cstdint>

#include "src/graph/builder.h"

namespace edgesage {

enum class TokenLayer : uint8_t {
  kDense = 0,      // FULLY_CONNECTED that keeps dimensions
  kReshaped = 1,   // RESHAPE, FULLY_CONNECTED, RESHAPE
  kPointwise = 2,  // CONV_2D of 1x1
};
enum class TokenNorm : uint8_t {
  kKeras = 0,     // MEAN, SQUARED_DIFFERENCE, MEAN, ADD, RSQRT, MUL, MUL, MUL, SUB, ADD
  kTorch = 1,     // MEAN, SUB, MUL, MEAN, ADD, RSQRT, MUL, MUL, ADD
  kSums = 2,      // the same with SUM and MUL for MEAN
  kRootMean = 3,  // MUL, MEAN, ADD, RSQRT, MUL, MUL (RMSNorm)
  kFolded = 4,    // MUL, ADD (batch normalisation)
};
enum class TokenActivation : uint8_t {
  kGelu = 0,
  kGeluApproximate = 1,  // the operator's own approximation
  kGeluTanh = 2,         // the approximation by TANH in operators
  kGeluLogistic = 3,     // x logistic(1.702 x)
  kRelu = 4,
  kRelu6 = 5,
  kHardSwish = 6,
  kGated = 7,  // x logistic(x), times a second layer (SwiGLU)
};
enum class AttentionForm : uint8_t {
  kFourDims = 0,   // heads by RESHAPE and TRANSPOSE, BATCH_MATMUL of [1, heads, length, depth]
  kThreeDims = 1,  // the same with [heads, length, depth]
  kApart = 2,      // heads by SPLIT, BATCH_MATMUL each, CONCATENATION
  kDense = 3,      // heads by SPLIT, FULLY_CONNECTED with computed filters, CONCATENATION
};

// What the blocks of a network have in common.
struct TransformerStyle {
  TokenLayer layer = TokenLayer::kDense;
  TokenNorm norm = TokenNorm::kKeras;
  double epsilon = 1e-6;
  bool norm_first = true;  // before attention and MLP, else behind their sums
  TokenActivation activation = TokenActivation::kGelu;
  AttentionForm attention = AttentionForm::kFourDims;
  bool joined_projection = false;  // queries, keys and values by one layer and SPLIT
  bool turned_keys = false;        // keys by TRANSPOSE, not by BATCH_MATMUL's option
  bool scaled_queries = true;      // the scale on queries, not on scores
  bool masked = false;             // a causal mask is added to the scores
  int64_t reduction = 1;           // side of the windows by which keys and values are fewer
  bool local = false;              // depthwise window of 3 inside the MLP
};
struct TransformerShape {
  int64_t heads = 4, head_depth = 16;
  int64_t hidden = 256;           // inside the MLP
  int64_t height = 8, width = 8;  // of the tokens' grid, where there is one
};

GraphBuilder::Id token_layer(GraphBuilder& net, GraphBuilder::Id x, const TransformerStyle& style,
                             int64_t channels, Activation activation = Activation::kNone);
GraphBuilder::Id token_norm(GraphBuilder& net, GraphBuilder::Id x, const TransformerStyle& style);
GraphBuilder::Id token_activation(GraphBuilder& net, GraphBuilder::Id x, TokenActivation kind);

// Tokens as a map of the shape's grid, and back.
GraphBuilder::Id tokens_to_map(GraphBuilder& net, GraphBuilder::Id x,
                               const TransformerShape& shape);
GraphBuilder::Id map_to_tokens(GraphBuilder& net, GraphBuilder::Id x,
                               const TransformerStyle& style);

// Attention and MLP with their norms and sums.
GraphBuilder::Id transformer_block(GraphBuilder& net, GraphBuilder::Id x,
                                   const TransformerStyle& style, const TransformerShape& shape);

}  // namespace edgesage
