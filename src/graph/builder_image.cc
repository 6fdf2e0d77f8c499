// What GraphBuilder makes beyond classifiers: up-sampling, splitting, slopes, indexes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "src/graph/builder.h"

namespace edgesage {

GraphBuilder::Id GraphBuilder::transpose_conv(Id x, const TransposeConv& options) {
  if (!usable({&x, 1}) || shape(x).size() != 4) return kNoTensor;
  const Shape in = shape(x);
  const int64_t beyond = options.padding == Padding::kValid
                             ? std::max<int64_t>(0, options.kernel - options.stride)
                             : 0;
  const Shape out{in[0], in[1] * options.stride + beyond, in[2] * options.stride + beyond,
                  options.channels};
  Operator op;
  op.kind = OpKind::kTransposeConv;
  op.inputs = {add_ints(fmt::format("target_{}", graph_.main().operators.size()), out), x};
  op.set("padding", static_cast<int64_t>(options.padding));
  op.set("stride_h", options.stride);
  op.set("stride_w", options.stride);
  const Id id = weighted(std::move(op), {options.channels, options.kernel, options.kernel, in[3]},
                         {.kind = OpKind::kTransposeConv,
                          .channels = options.channels,
                          .taps = options.kernel * options.kernel * in[3]},
                         options.activation);
  // Version 4 is the first with an activation.
  if (id != kNoTensor && options.activation != Activation::kNone)
    graph_.main().operators.back().version = 4;
  return id;
}

std::vector<GraphBuilder::Id> GraphBuilder::split(Id x, int64_t parts) {
  if (!usable({&x, 1})) return {};
  const Id axis = add_ints(fmt::format("axis_{}", graph_.main().operators.size()),
                           {static_cast<int64_t>(shape(x).size()) - 1});
  tensor(axis).shape = {};
  Operator op;
  op.kind = OpKind::kSplit;
  op.inputs = {axis, x};
  op.set("num_splits", parts);
  const Values output = values(x);
  std::vector<Id> ids = append_all(std::move(op), output);
  for (const Id id : ids) share(x, id);
  return ids;
}

GraphBuilder::Id GraphBuilder::transpose(Id x, const std::vector<int64_t>& order) {
  if (!usable({&x, 1})) return kNoTensor;
  Operator op;
  op.kind = OpKind::kTranspose;
  op.inputs = {x, add_ints(fmt::format("order_{}", graph_.main().operators.size()), order)};
  return pass(std::move(op), x);
}

GraphBuilder::Id GraphBuilder::depth_to_space(Id x, int64_t block) {
  if (!usable({&x, 1})) return kNoTensor;
  Operator op;
  op.kind = OpKind::kDepthToSpace;
  op.inputs = {x};
  op.set("block_size", block);
  return pass(std::move(op), x);
}

GraphBuilder::Id GraphBuilder::resize(OpKind kind, Id x, int64_t height, int64_t width,
                                      Corners corners) {
  if (!usable({&x, 1})) return kNoTensor;
  Operator op;
  op.kind = kind;
  op.inputs = {x,
               add_ints(fmt::format("size_{}", graph_.main().operators.size()), {height, width})};
  op.set("align_corners", static_cast<int64_t>(corners == Corners::kAligned));
  op.set("half_pixel_centers", static_cast<int64_t>(corners == Corners::kHalfPixel));
  const Id id = pass(std::move(op), x);
  if (id != kNoTensor && corners == Corners::kHalfPixel) graph_.main().operators.back().version = 3;
  return id;
}

GraphBuilder::Id GraphBuilder::resize_bilinear(Id x, int64_t height, int64_t width,
                                               Corners corners) {
  return resize(OpKind::kResizeBilinear, x, height, width, corners);
}

GraphBuilder::Id GraphBuilder::resize_nearest(Id x, int64_t height, int64_t width,
                                              Corners corners) {
  return resize(OpKind::kResizeNearestNeighbor, x, height, width, corners);
}

GraphBuilder::Id GraphBuilder::arg_max(Id x, DataType type) {
  if (!usable({&x, 1})) return kNoTensor;
  const Id axis = add_ints(fmt::format("axis_{}", graph_.main().operators.size()),
                           {static_cast<int64_t>(shape(x).size()) - 1});
  tensor(axis).shape = {};
  Operator op;
  op.kind = OpKind::kArgMax;
  op.inputs = {x, axis};
  op.set("output_type", static_cast<int64_t>(type));
  const Id id = append(std::move(op), {});
  if (id != kNoTensor) tensor(id).type = type;
  return id;
}

GraphBuilder::Id GraphBuilder::leaky_relu(Id x, double slope) {
  if (!usable({&x, 1})) return kNoTensor;
  const double alpha = static_cast<float>(slope);  // as files hold it
  Values output = values(x);
  const double deviation = std::sqrt(output.variance);
  output.mean = 0.5 * (1 + alpha) * output.mean + 0.4 * (1 - alpha) * deviation;
  output.variance *= 0.35 + 0.65 * alpha;
  output.low *= alpha;
  output.high = std::max(output.high, deviation);
  output.fixed = false;
  const Id id = unary(OpKind::kLeakyRelu, x, 2, output);
  if (id != kNoTensor) graph_.main().operators.back().set("alpha", alpha);
  return id;
}

GraphBuilder::Id GraphBuilder::add_channel_constant(std::string_view name, int64_t channels,
                                                    double low, double high) {
  const std::string full = fmt::format("{}_{}", name, graph_.main().operators.size());
  const double limit = std::max(std::abs(low), std::abs(high));
  std::vector<int8_t> stored(static_cast<size_t>(channels));
  for (int8_t& value : stored)
    value = static_cast<int8_t>(std::floor(127 * rng_.uniform(low, high) / limit + 0.5));
  Id id = kNoTensor;
  if (is_int8()) {
    id = add_constant(full, DataType::kInt8, {channels}, std::as_bytes(std::span(stored)));
    tensor(id).quantization.scale = {static_cast<float>(limit / 127)};
    tensor(id).quantization.zero_point = {0};
  } else {
    std::vector<float> real(stored.size());
    std::transform(stored.begin(), stored.end(), real.begin(),
                   [limit](int8_t value) { return static_cast<float>(value * limit / 127); });
    id = add_constant(full, DataType::kFloat32, {channels}, std::as_bytes(std::span(real)));
  }
  values(id).mean = 0.5 * (low + high);
  values(id).variance = (high - low) * (high - low) / 12;
  weights_bytes_ += channels * bits_per_element(options_.type) / 8;
  return id;
}

GraphBuilder::Id GraphBuilder::prelu(Id x) {
  if (!usable({&x, 1}) || shape(x).size() != 4) return kNoTensor;
  const int64_t channels = shape(x).back();
  const Id slopes = add_channel_constant("slope", channels, 0, 0.4);
  tensor(slopes).shape = {1, 1, channels};
  Values output = values(x);
  const double deviation = std::sqrt(output.variance);
  output.mean = 0.6 * output.mean + 0.3 * deviation;
  output.variance *= 0.5;
  output.low *= 0.4;
  output.high = std::max(output.high, deviation);
  output.fixed = false;
  Operator op;
  op.kind = OpKind::kPrelu;
  op.inputs = {x, slopes};
  return append(std::move(op), output);
}

GraphBuilder::Id GraphBuilder::scale_and_shift(Id x, Activation activation) {
  if (!usable({&x, 1}) || shape(x).empty()) return kNoTensor;
  const int64_t channels = shape(x).back();
  const double spread = 1 / std::sqrt(std::max(values(x).variance, 1e-4));
  x = mul(x, add_channel_constant("scale", channels, 0.6 * spread, 1.4 * spread));
  if (x == kNoTensor) return x;
  const double centre = -values(x).mean;
  return add(x, add_channel_constant("shift", channels, centre - 0.2, centre + 0.4), activation);
}

}  // namespace edgesage
