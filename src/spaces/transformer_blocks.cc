#include "src/spaces/transformer_blocks.h"

#include <array>
#include <cmath>
#include <vector>

namespace edgesage {
namespace {

using Id = GraphBuilder::Id;

int64_t length_of(const GraphBuilder& net, Id x) {
  const Shape& shape = net.shape(x);
  return shape.size() < 2 ? 0 : shape[shape.size() - 2];
}
int64_t channels_of(const GraphBuilder& net, Id x) {
  return net.shape(x).empty() ? 0 : net.shape(x).back();
}
std::vector<int64_t> last_axis(const GraphBuilder& net, Id x) {
  return {static_cast<int64_t>(net.shape(x).size()) - 1};
}

// Over a token's channels.
Id token_mean(GraphBuilder& net, Id x, bool by_sum) {
  if (!by_sum) return net.mean(x, last_axis(net, x), true);
  const auto channels = static_cast<double>(channels_of(net, x));
  return net.mul_scalar(net.sum(x, last_axis(net, x), true), 1 / channels);
}

constexpr double kScale = 1, kScaleSpread = 0.4, kShiftSpread = 0.3;

Id affine(GraphBuilder& net, Id x) {
  return net.shift_channels_by(net.scale_channels_by(x, kScale, kScaleSpread), 0, kShiftSpread);
}

Id keras_norm(GraphBuilder& net, Id x, double epsilon) {
  const Id mean = token_mean(net, x, false);
  const Id variance = token_mean(net, net.squared_difference(x, mean), false);
  const Id factor = net.widen_by_channels(net.rsqrt_above(variance, epsilon), channels_of(net, x),
                                          kScale, kScaleSpread);
  const Id scaled = net.mul(x, factor);
  return net.add(scaled, net.channels_minus(net.mul(mean, factor), 0, kShiftSpread));
}

Id torch_norm(GraphBuilder& net, Id x, double epsilon, bool by_sum) {
  const Id centred = net.sub(x, token_mean(net, x, by_sum));
  const Id variance = token_mean(net, net.square(centred), by_sum);
  return affine(net, net.mul(centred, net.rsqrt_above(variance, epsilon)));
}

Id root_mean_norm(GraphBuilder& net, Id x, double epsilon) {
  const Id square = token_mean(net, net.square(x), false);
  return net.scale_channels_by(net.mul(x, net.rsqrt_above(square, epsilon)), kScale, kScaleSpread);
}

// 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
Id gelu_by_tanh(GraphBuilder& net, Id x) {
  const Id cube = net.mul(net.square(x), x);
  const Id inner = net.mul_scalar(net.add(x, net.mul_scalar(cube, 0.044715)), 0.7978845608);
  const Id gate = net.add_scalar(net.tanh(inner), 1);
  return net.mul(net.mul_scalar(x, 0.5), gate);
}

// Queries, keys and values of one head, or of all in a batch.
struct Triple {
  Id query = kNoTensor, key = kNoTensor, value = kNoTensor;
};

// Keys and values may be of fewer tokens.
Triple project(GraphBuilder& net, Id x, Id context, const TransformerStyle& style,
               int64_t channels) {
  if (style.joined_projection && x == context) {
    const std::vector<Id> parts = net.split(token_layer(net, x, style, 3 * channels), 3);
    if (parts.size() != 3) return {};
    return {parts[0], parts[1], parts[2]};
  }
  return {token_layer(net, x, style, channels), token_layer(net, context, style, channels),
          token_layer(net, context, style, channels)};
}

// The scale on queries: where the style has it there.
Id scaled_query(GraphBuilder& net, Id query, const TransformerStyle& style, double scale) {
  return style.scaled_queries ? net.mul_scalar(query, scale) : query;
}

Id probabilities(GraphBuilder& net, Id scores, const TransformerStyle& style, double scale) {
  constexpr double kHidden = -12;
  if (!style.scaled_queries) scores = net.mul_scalar(scores, scale);
  if (style.masked) scores = net.add_causal_mask(scores, length_of(net, scores), kHidden);
  return net.softmax(scores);
}

Id attend_in_batch(GraphBuilder& net, const Triple& all, const TransformerStyle& style,
                   const TransformerShape& shape, double scale) {
  const bool three = style.attention == AttentionForm::kThreeDims;
  const int64_t heads = shape.heads, depth = shape.head_depth;
  const auto by_head = [&](Id x, bool turned) {
    const int64_t length = length_of(net, x);
    if (three)
      return net.transpose(net.reshape(x, {length, heads, depth}),
                           turned ? std::vector<int64_t>{1, 2, 0} : std::vector<int64_t>{1, 0, 2});
    return net.transpose(
        net.reshape(x, {1, length, heads, depth}),
        turned ? std::vector<int64_t>{0, 2, 3, 1} : std::vector<int64_t>{0, 2, 1, 3});
  };
  const Shape tokens = net.shape(all.query);
  const Id query = by_head(scaled_query(net, all.query, style, scale), false);
  const Id key = by_head(all.key, style.turned_keys);
  const Id value = by_head(all.value, false);
  const Id scores = net.batch_matmul(query, key, !style.turned_keys);
  const Id mixed = net.batch_matmul(probabilities(net, scores, style, scale), value, false);
  const Id back = net.transpose(
      mixed, three ? std::vector<int64_t>{1, 0, 2} : std::vector<int64_t>{0, 2, 1, 3});
  return net.reshape(back, tokens);
}

// A dense layer has its filter by outputs: keys as they are, values turned.
Id attend_by_dense(GraphBuilder& net, const Triple& head, const TransformerStyle& style,
                   double scale) {
  const auto flat = [&net](Id x) {
    return net.reshape(x, {length_of(net, x), channels_of(net, x)});
  };
  // One call after the other: arguments are evaluated in an order that differs by compiler.
  const Id query = flat(scaled_query(net, head.query, style, scale));
  const Id key = flat(head.key);
  const Id weights = probabilities(net, net.matmul_dense(query, key), style, scale);
  return net.matmul_dense(weights, net.transpose(flat(head.value), {1, 0}));
}

Id attend_by_product(GraphBuilder& net, const Triple& head, const TransformerStyle& style,
                     double scale) {
  const auto turn = [&net](Id x) {
    return net.transpose(x, net.shape(x).size() == 3 ? std::vector<int64_t>{0, 2, 1}
                                                     : std::vector<int64_t>{0, 1, 3, 2});
  };
  const Id key = style.turned_keys ? turn(head.key) : head.key;
  const Id scores =
      net.batch_matmul(scaled_query(net, head.query, style, scale), key, !style.turned_keys);
  return net.batch_matmul(probabilities(net, scores, style, scale), head.value, false);
}

Id attend_by_heads(GraphBuilder& net, const Triple& all, const TransformerStyle& style,
                   const TransformerShape& shape, double scale) {
  const auto parts = [&](Id x) {
    return shape.heads > 1 ? net.split(x, shape.heads) : std::vector<Id>{x};
  };
  const std::vector<Id> queries = parts(all.query), keys = parts(all.key);
  const std::vector<Id> values = parts(all.value);
  if (!net.ok()) return kNoTensor;
  std::vector<Id> mixed;
  for (size_t head = 0; head < queries.size(); ++head) {
    const Triple one{queries[head], keys[head], values[head]};
    mixed.push_back(style.attention == AttentionForm::kDense
                        ? attend_by_dense(net, one, style, scale)
                        : attend_by_product(net, one, style, scale));
  }
  const Shape tokens = net.shape(all.query);
  Id joined = mixed.front();
  if (mixed.size() > 1)
    joined = net.concatenation(mixed, static_cast<int64_t>(net.shape(joined).size()) - 1);
  return net.shape(joined) == tokens ? joined : net.reshape(joined, tokens);
}

Id attention(GraphBuilder& net, Id x, const TransformerStyle& style,
             const TransformerShape& shape) {
  const int64_t channels = shape.heads * shape.head_depth;
  Id context = x;
  if (style.reduction > 1) {
    const Id map = net.conv_2d(tokens_to_map(net, x, shape), {.channels = channels,
                                                              .kernel_h = style.reduction,
                                                              .kernel_w = style.reduction,
                                                              .stride_h = style.reduction,
                                                              .stride_w = style.reduction,
                                                              .padding = Padding::kValid});
    context = token_norm(net, map_to_tokens(net, map, style), style);
  }
  const Triple all = project(net, x, context, style, channels);
  const double scale = 1 / std::sqrt(static_cast<double>(shape.head_depth));
  const bool batched =
      style.attention == AttentionForm::kFourDims || style.attention == AttentionForm::kThreeDims;
  const Id mixed = batched ? attend_in_batch(net, all, style, shape, scale)
                           : attend_by_heads(net, all, style, shape, scale);
  return token_layer(net, mixed, style, channels);
}

Id mlp(GraphBuilder& net, Id x, const TransformerStyle& style, const TransformerShape& shape) {
  const int64_t channels = channels_of(net, x);
  const Activation fused = style.activation == TokenActivation::kRelu    ? Activation::kRelu
                           : style.activation == TokenActivation::kRelu6 ? Activation::kRelu6
                                                                         : Activation::kNone;
  Id hidden = token_layer(net, x, style, shape.hidden, style.local ? Activation::kNone : fused);
  if (style.local) {
    const bool line = shape.width == 1;
    const Id map =
        net.depthwise_conv_2d(tokens_to_map(net, hidden, shape),
                              {.kernel_h = 3, .kernel_w = line ? 1 : 3, .activation = fused});
    hidden = map_to_tokens(net, map, style);
  }
  hidden = token_activation(net, hidden, style.activation);
  if (style.activation == TokenActivation::kGated)
    hidden = net.mul(hidden, token_layer(net, x, style, shape.hidden));
  return token_layer(net, hidden, style, channels);
}

}  // namespace

Id token_layer(GraphBuilder& net, Id x, const TransformerStyle& style, int64_t channels,
               Activation activation) {
  if (!net.ok()) return kNoTensor;
  switch (style.layer) {
    case TokenLayer::kPointwise:
      return net.conv_2d(x, {.channels = channels, .activation = activation});
    case TokenLayer::kReshaped: {
      const Id flat = net.reshape(x, {length_of(net, x), channels_of(net, x)});
      const Id made = net.fully_connected(flat, {.units = channels, .activation = activation});
      return net.reshape(made, {1, length_of(net, x), channels});
    }
    case TokenLayer::kDense:
      break;
  }
  return net.fully_connected(x,
                             {.units = channels, .activation = activation, .keep_num_dims = true});
}

Id token_norm(GraphBuilder& net, Id x, const TransformerStyle& style) {
  if (!net.ok()) return kNoTensor;
  switch (style.norm) {
    case TokenNorm::kKeras:
      return keras_norm(net, x, style.epsilon);
    case TokenNorm::kTorch:
    case TokenNorm::kSums:
      return torch_norm(net, x, style.epsilon, style.norm == TokenNorm::kSums);
    case TokenNorm::kRootMean:
      return root_mean_norm(net, x, style.epsilon);
    case TokenNorm::kFolded:
      break;
  }
  return net.scale_and_shift(x);
}

Id token_activation(GraphBuilder& net, Id x, TokenActivation kind) {
  switch (kind) {
    case TokenActivation::kGelu:
    case TokenActivation::kGeluApproximate:
      return net.gelu(x, kind == TokenActivation::kGeluApproximate);
    case TokenActivation::kGeluTanh:
      return gelu_by_tanh(net, x);
    case TokenActivation::kGeluLogistic:
      return net.mul(x, net.logistic(net.mul_scalar(x, 1.702)));
    case TokenActivation::kHardSwish:
      return net.hard_swish(x);
    case TokenActivation::kGated:
      return net.mul(x, net.logistic(x));
    case TokenActivation::kRelu:
    case TokenActivation::kRelu6:
      break;  // fused into the layer before
  }
  return x;
}

Id tokens_to_map(GraphBuilder& net, Id x, const TransformerShape& shape) {
  return net.reshape(x, {1, shape.height, shape.width, channels_of(net, x)});
}

Id map_to_tokens(GraphBuilder& net, Id x, const TransformerStyle& style) {
  const Shape map = net.shape(x);
  if (map.size() != 4) return kNoTensor;
  const int64_t length = map[1] * map[2];
  return style.layer == TokenLayer::kPointwise ? net.reshape(x, {1, 1, length, map[3]})
                                               : net.reshape(x, {1, length, map[3]});
}

Id transformer_block(GraphBuilder& net, Id x, const TransformerStyle& style,
                     const TransformerShape& shape) {
  const auto branch = [&](Id entry, auto&& made) {
    if (style.norm_first) return net.add(entry, made(token_norm(net, entry, style)));
    return token_norm(net, net.add(entry, made(entry)), style);
  };
  x = branch(x, [&](Id in) { return attention(net, in, style, shape); });
  return branch(x, [&](Id in) { return mlp(net, in, style, shape); });
}

}  // namespace edgesage
