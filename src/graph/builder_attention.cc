// What transformers need of GraphBuilder: products of activations, statistics of tokens, tables.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "src/graph/builder.h"

namespace edgesage {
namespace {

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span<const T>(values));
}

}  // namespace

GraphBuilder::Id GraphBuilder::input_indexes(std::string_view name, Shape shape) {
  if (!status_) return kNoTensor;
  const Id id = add_tensor(std::string(name), DataType::kInt32, std::move(shape));
  graph_.main().inputs.push_back(id);
  return id;
}

GraphBuilder::Id GraphBuilder::sub(Id a, Id b) {
  if (!usable(std::array{a, b})) return kNoTensor;
  const Values& left = values(a);
  const Values& right = values(b);
  return elementwise(OpKind::kSub, a, b,
                     {.mean = left.mean - right.mean, .variance = left.variance + right.variance},
                     Activation::kNone);
}

GraphBuilder::Values GraphBuilder::squares(double mean, double variance) {
  Values output{.mean = variance + mean * mean,
                .variance = 2 * variance * variance + 4 * mean * mean * variance};
  output.high = std::max(1e-6, output.mean + 3 * std::sqrt(output.variance));
  return output;
}

GraphBuilder::Id GraphBuilder::squared_difference(Id a, Id b) {
  if (!usable(std::array{a, b})) return kNoTensor;
  const Values& left = values(a);
  const Values& right = values(b);
  Operator op;
  op.kind = OpKind::kSquaredDifference;
  op.inputs = {a, b};
  return append(std::move(op), squares(left.mean - right.mean, left.variance + right.variance));
}

GraphBuilder::Id GraphBuilder::square(Id x) {
  if (!usable({&x, 1})) return kNoTensor;
  Operator op;
  op.kind = OpKind::kMul;
  op.inputs = {x, x};
  return append(std::move(op), squares(values(x).mean, values(x).variance));
}

GraphBuilder::Id GraphBuilder::rsqrt_above(Id x, double epsilon) {
  if (!usable({&x, 1})) return kNoTensor;
  // Statistics of whole tokens spread less than what they are statistics of.
  const double most = std::max(1e-6, 3 * values(x).mean);
  values(root(x)).low = 0;
  values(root(x)).high = most;
  x = add_scalar(x, epsilon);
  if (x == kNoTensor) return x;
  values(x).low = 0;  // the kernel knows no negative values
  values(x).high = most + epsilon;
  const double typical = 1 / std::sqrt(std::max(values(x).mean, 1e-6));
  return unary(
      OpKind::kRsqrt, x, 2,
      {.mean = typical, .variance = 0.02 * typical * typical, .low = 0, .high = 2.5 * typical});
}

GraphBuilder::Id GraphBuilder::tanh(Id x) {
  if (!usable({&x, 1})) return kNoTensor;
  return unary(OpKind::kTanh, x, 2,
               {.mean = 0.5 * std::clamp(values(x).mean, -1.0, 1.0),
                .variance = 0.4,
                .low = -1,
                .high = 127.0 / 128,
                .fixed = true,
                .centred = true});
}

GraphBuilder::Id GraphBuilder::gelu(Id x, bool approximate) {
  if (!usable({&x, 1})) return kNoTensor;
  Values output = values(x);
  const double deviation = std::sqrt(output.variance);
  output.mean = 0.5 * output.mean + 0.28 * deviation;
  output.variance *= 0.4;
  output.low = -0.17;
  output.high = std::max({0.5, output.high, deviation});
  output.fixed = false;
  const Id id = unary(OpKind::kGelu, x, 2, output);
  if (id != kNoTensor)
    graph_.main().operators.back().set("approximate", static_cast<int64_t>(approximate));
  return id;
}

GraphBuilder::Values GraphBuilder::product(Id a, Id b, int64_t depth) {
  const Values& left = values(a);
  const Values& right = values(b);
  const auto terms = static_cast<double>(depth);
  // Probabilities sum to one: they average what they weigh.
  const bool averages = left.fixed && !left.centred;
  Values output{.mean = averages ? right.mean : terms * left.mean * right.mean,
                .variance = averages ? right.variance / std::sqrt(std::max(1.0, terms / 4))
                                     : terms * (left.variance * right.variance +
                                                left.mean * left.mean * right.variance +
                                                right.mean * right.mean * left.variance)};
  activate(Activation::kNone, 1.0, output);
  return output;
}

GraphBuilder::Id GraphBuilder::batch_matmul(Id a, Id b, bool transpose_b) {
  if (!usable(std::array{a, b}) || shape(a).empty()) return kNoTensor;
  const int64_t depth = shape(a).back();
  Operator op;
  op.kind = OpKind::kBatchMatmul;
  op.inputs = {a, b};
  op.set("adj_x", int64_t{0});
  op.set("adj_y", static_cast<int64_t>(transpose_b));
  const Id id = append(std::move(op), product(a, b, depth));
  if (id != kNoTensor) macs_ += tensor(id).element_count() * depth;
  return id;
}

GraphBuilder::Id GraphBuilder::matmul_dense(Id x, Id filter) {
  if (!usable(std::array{x, filter}) || shape(filter).size() != 2) return kNoTensor;
  const int64_t depth = shape(filter).back();
  Operator op;
  op.kind = OpKind::kFullyConnected;
  op.inputs = {x, filter, kNoTensor};
  op.set("keep_num_dims", int64_t{0});
  op.set("fused_activation_function", int64_t{0});
  const Id id = append(std::move(op), product(x, filter, depth));
  if (id != kNoTensor) macs_ += tensor(id).element_count() * depth;
  return id;
}

GraphBuilder::Id GraphBuilder::sum(Id x, const std::vector<int64_t>& axes, bool keep_dims) {
  if (!usable({&x, 1})) return kNoTensor;
  Operator op;
  op.kind = OpKind::kSum;
  op.inputs = {x, add_ints(fmt::format("axes_{}", graph_.main().operators.size()), axes)};
  op.set("keep_dims", static_cast<int64_t>(keep_dims));
  const Values in = values(x);
  const Id id = append(std::move(op), in);
  if (id == kNoTensor) return id;
  const double terms = static_cast<double>(tensor(x).element_count()) /
                       static_cast<double>(std::max<int64_t>(1, tensor(id).element_count()));
  Values& output = values(id);
  output.mean = terms * in.mean;
  output.variance = terms * std::sqrt(terms) * in.variance;
  activate(Activation::kNone, 1.0, output);
  return id;
}

GraphBuilder::Id GraphBuilder::slice_at(Id x, int64_t axis, int64_t index) {
  if (!usable({&x, 1}) || axis < 0 || axis >= static_cast<int64_t>(shape(x).size()))
    return kNoTensor;
  const auto rank = shape(x).size();
  const auto at = static_cast<size_t>(axis);
  std::vector<int64_t> begin(rank, 0), end(rank, 0);
  const std::vector<int64_t> strides(rank, 1);
  begin[at] = index;
  end[at] = index + 1;
  Shape left = shape(x);
  left.erase(left.begin() + axis);
  const auto place = graph_.main().operators.size();
  const int64_t all = ((int64_t{1} << rank) - 1) & ~(int64_t{1} << axis);
  Operator op;
  op.kind = OpKind::kStridedSlice;
  op.inputs = {x, add_ints(fmt::format("begin_{}", place), begin),
               add_ints(fmt::format("end_{}", place), end),
               add_ints(fmt::format("strides_{}", place), strides)};
  op.set("begin_mask", all);
  op.set("end_mask", all);
  op.set("shrink_axis_mask", int64_t{1} << axis);
  const Values output = values(x);
  const Id id = append_shaped(std::move(op), output, std::array{left}).front();
  share(x, id);
  return id;
}

GraphBuilder::Id GraphBuilder::add_stored_constant(std::string_view name, Shape shape,
                                                   const std::vector<int8_t>& stored,
                                                   double scale) {
  const std::string full = fmt::format("{}_{}", name, graph_.main().operators.size());
  Id id = kNoTensor;
  if (is_int8()) {
    id = add_constant(full, DataType::kInt8, std::move(shape), bytes_of(stored));
    tensor(id).quantization.scale = {static_cast<float>(scale)};
    tensor(id).quantization.zero_point = {0};
  } else {
    std::vector<float> real(stored.size());
    std::transform(stored.begin(), stored.end(), real.begin(),
                   [scale](int8_t value) { return static_cast<float>(value * scale); });
    id = add_constant(full, DataType::kFloat32, std::move(shape), bytes_of(real));
  }
  weights_bytes_ += tensor(id).byte_size().value_or(0);
  return id;
}

std::vector<int8_t> GraphBuilder::drawn_bytes(const Shape& shape) {
  if (!has_bytes()) return {};
  Tensor like;
  like.shape = shape;
  std::vector<int8_t> stored(static_cast<size_t>(like.element_count()));
  uint64_t bits = 0;
  for (size_t i = 0; i < stored.size(); ++i, bits >>= 8) {
    if (i % 8 == 0) bits = rng_.next();
    // The sum of two uniform values: small ones are more frequent.
    const auto low = static_cast<int>(bits & 15U);
    const auto high = static_cast<int>((bits >> 4) & 15U);
    stored[i] = static_cast<int8_t>(8 * (low + high - 15));
  }
  return stored;
}

GraphBuilder::Id GraphBuilder::prepend_constant(Id x, int64_t axis) {
  if (!usable({&x, 1}) || axis < 0 || axis >= static_cast<int64_t>(shape(x).size()))
    return kNoTensor;
  Shape one = shape(x);
  one[static_cast<size_t>(axis)] = 1;
  const Id token = add_stored_constant("token", one, drawn_bytes(one), 1.0 / 127);
  values(token) = values(x);
  values(token).group = token;
  values(token).follows = true;
  return concatenation(std::array{token, x}, axis);
}

GraphBuilder::Id GraphBuilder::add_constant_of(Id x, Shape shape) {
  if (!usable({&x, 1})) return kNoTensor;
  constexpr double kLargest = 0.5;
  const std::vector<int8_t> stored = drawn_bytes(shape);
  const Id constant = add_stored_constant("position", std::move(shape), stored, kLargest / 127);
  values(constant).variance = 0.1 * kLargest * kLargest;
  return add(x, constant);
}

GraphBuilder::Id GraphBuilder::add_causal_mask(Id x, int64_t length, double low) {
  if (!usable({&x, 1})) return kNoTensor;
  std::vector<int8_t> stored(has_bytes() ? static_cast<size_t>(length * length) : 0);
  for (int64_t row = 0; row < length && has_bytes(); ++row)
    std::fill_n(stored.begin() + row * length + row + 1, length - row - 1, int8_t{-127});
  const Id mask = add_stored_constant("mask", {length, length}, stored, -low / 127);
  values(mask).mean = low / 2;
  const Id id = add(x, mask);
  if (id != kNoTensor) values(id).low = values(x).low + low;
  if (id != kNoTensor) values(id).high = values(x).high;
  return id;
}

GraphBuilder::Id GraphBuilder::scale_channels_by(Id x, double centre, double spread) {
  if (!usable({&x, 1}) || shape(x).empty()) return kNoTensor;
  return mul(x, add_channel_constant("scale", shape(x).back(), centre - spread, centre + spread));
}

GraphBuilder::Id GraphBuilder::widen_by_channels(Id x, int64_t channels, double centre,
                                                 double spread) {
  if (!usable({&x, 1})) return kNoTensor;
  return mul(x, add_channel_constant("scale", channels, centre - spread, centre + spread));
}

GraphBuilder::Id GraphBuilder::shift_channels_by(Id x, double centre, double spread) {
  if (!usable({&x, 1}) || shape(x).empty()) return kNoTensor;
  return add(x, add_channel_constant("shift", shape(x).back(), centre - spread, centre + spread));
}

GraphBuilder::Id GraphBuilder::channels_minus(Id x, double centre, double spread) {
  if (!usable({&x, 1}) || shape(x).empty()) return kNoTensor;
  return sub(add_channel_constant("shift", shape(x).back(), centre - spread, centre + spread), x);
}

GraphBuilder::Id GraphBuilder::gather_rows(Id indexes, int64_t rows, int64_t width) {
  if (!usable({&indexes, 1}) || rows <= 0 || width <= 0) return kNoTensor;
  std::vector<int8_t> stored;
  if (has_bytes()) {
    stored.resize(static_cast<size_t>(rows * width));
    options_.fill({.kind = OpKind::kFullyConnected, .channels = rows, .taps = width}, stored);
  }
  const Id table = add_stored_constant("table", {rows, width}, stored, 1.0 / 127);
  values(table) = {.mean = 0, .variance = 0.06, .low = -1, .high = 1, .group = table};
  values(table).follows = true;
  Shape output = shape(indexes);
  output.push_back(width);
  Operator op;
  op.kind = OpKind::kGather;
  op.inputs = {table, indexes};
  op.set("axis", int64_t{0});
  const Values output_values = values(table);
  const Id id = append_shaped(std::move(op), output_values, std::array{output}).front();
  values(id).follows = false;
  share(table, id);
  return id;
}

}  // namespace edgesage
