#include "src/graph/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "src/graph/op_registry.h"

namespace edgesage {
namespace {

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span<const T>(values));
}

// Versions of the int8 forms of the builtin operators.
int32_t int8_version(OpKind kind) {
  switch (kind) {
    case OpKind::kConv2D:
    case OpKind::kDepthwiseConv2D:
    case OpKind::kTransposeConv:
      return 3;
    case OpKind::kFullyConnected:
      return 4;
    case OpKind::kReshape:
    case OpKind::kHardSwish:
    case OpKind::kDepthToSpace:
    case OpKind::kPrelu:
      return 1;
    default:
      return 2;
  }
}

}  // namespace

GraphBuilder::GraphBuilder(Options options)
    : options_(std::move(options)), rng_(options_.seed, "builder") {
  graph_.format = options_.name;
  graph_.buffers.resize(1);  // by TFLite's habit buffer 0 is empty
  graph_.subgraphs.resize(1);
  graph_.main().name = "main";
  if (!options_.fill) {
    options_.fill = [rng = Rng(options_.seed, "fill")](const FilterLayout&,
                                                       std::span<int8_t> stored) mutable {
      for (int8_t& value : stored) value = static_cast<int8_t>(rng.integer(-127, 127));
    };
  }
}

bool GraphBuilder::fail(const Error& error) {
  if (status_) status_ = tl::unexpected<Error>(error);
  return false;
}

bool GraphBuilder::usable(std::span<const Id> ids) {
  if (!status_) return false;
  for (const Id id : ids)
    if (id < 0 || static_cast<size_t>(id) >= values_.size())
      return fail({ErrorCode::kInvalidArgument, "GraphBuilder",
                   fmt::format("tensor {} does not exist; use what a call returned", id)});
  return true;
}

const Shape& GraphBuilder::shape(Id x) const {
  static const Shape kNone;
  const auto& tensors = graph_.main().tensors;
  return x >= 0 && static_cast<size_t>(x) < tensors.size() ? tensors[static_cast<size_t>(x)].shape
                                                           : kNone;
}

void GraphBuilder::count_more(int64_t macs, int64_t weights_bytes) {
  macs_ += macs;
  weights_bytes_ += weights_bytes;
}

int64_t GraphBuilder::operator_count() const {
  return static_cast<int64_t>(graph_.main().operators.size());
}

GraphBuilder::Id GraphBuilder::add_tensor(std::string name, DataType type, Shape shape) {
  Tensor added;
  added.name = std::move(name);
  added.type = type;
  added.shape = std::move(shape);
  const auto id = static_cast<Id>(values_.size());
  graph_.main().tensors.push_back(std::move(added));
  values_.push_back({});
  values_.back().group = id;
  return id;
}

GraphBuilder::Id GraphBuilder::add_constant(std::string name, DataType type, Shape shape,
                                            std::span<const std::byte> bytes) {
  const Id id = add_tensor(std::move(name), type, std::move(shape));
  tensor(id).buffer = static_cast<int32_t>(graph_.buffers.size());
  graph_.buffers.push_back(make_buffer(bytes));
  return id;
}

GraphBuilder::Id GraphBuilder::add_ints(std::string name, const std::vector<int64_t>& values) {
  const std::vector<int32_t> narrow(values.begin(), values.end());
  return add_constant(std::move(name), DataType::kInt32, {static_cast<int64_t>(values.size())},
                      bytes_of(narrow));
}

GraphBuilder::Id GraphBuilder::append(Operator op, Values output) {
  const std::vector<Id> ids = append_all(std::move(op), output);
  return ids.empty() ? kNoTensor : ids.front();
}

std::vector<GraphBuilder::Id> GraphBuilder::append_all(Operator op, const Values& output) {
  if (!status_) return {};
  const auto shapes = infer_shapes(graph_, graph_.main(), op);
  if (!shapes) {
    fail(shapes.error());
    return {};
  }
  return append_shaped(std::move(op), output, *shapes);
}

std::vector<GraphBuilder::Id> GraphBuilder::append_shaped(Operator op, const Values& output,
                                                          std::span<const Shape> shapes) {
  op.version = is_int8() ? int8_version(op.kind) : 1;
  const std::string name = fmt::format("{}_{}", op_name(op.kind), graph_.main().operators.size());
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Id id =
        add_tensor(i == 0 ? name : fmt::format("{}:{}", name, i), options_.type, shapes[i]);
    values(id) = output;
    values(id).group = id;
    op.outputs.push_back(id);
    largest_activation_ = std::max(largest_activation_, tensor(id).element_count());
  }
  std::vector<Id> ids = op.outputs;
  graph_.main().operators.push_back(std::move(op));
  return ids;
}

GraphBuilder::Id GraphBuilder::input(std::string_view name, Shape shape) {
  if (!status_) return kNoTensor;
  const Id id = add_tensor(std::string(name), options_.type, std::move(shape));
  // Images and spectrograms after normalisation.
  Values& believed = values(id);
  believed = {.mean = 0, .variance = 0.33, .low = -1, .high = 1, .fixed = false, .group = id};
  graph_.main().inputs.push_back(id);
  return id;
}

GraphBuilder::Id GraphBuilder::weighted(Operator op, const Shape& filter_shape,
                                        const FilterLayout& layout, Activation activation) {
  if (!status_) return kNoTensor;
  const bool transposed = op.kind == OpKind::kTransposeConv;
  const Id x = op.inputs.back();
  if (layout.channels <= 0 || layout.taps <= 0) {
    fail({ErrorCode::kInvalidArgument, std::string(op_name(op.kind)),
          fmt::format("{} output channels of {} values each; both must be positive",
                      layout.channels, layout.taps)});
    return kNoTensor;
  }
  const auto index = graph_.main().operators.size();
  const Id filter = add_tensor(fmt::format("filter_{}", index), options_.type, filter_shape);
  const DataType bias_type = is_int8() ? DataType::kInt32 : DataType::kFloat32;
  const Id bias = add_tensor(fmt::format("bias_{}", index), bias_type, {layout.channels});
  if (transposed)
    op.inputs = {op.inputs.front(), filter, x, bias};
  else
    op.inputs = {x, filter, bias};
  // Of a transposed filter the values that meet in an output are every stride-th.
  const int64_t strides = op.attr_int("stride_h", 1) * op.attr_int("stride_w", 1);
  const double overlap = transposed ? 1.0 / static_cast<double>(strides) : 1.0;
  op.set("fused_activation_function", static_cast<int64_t>(activation));

  Weights weights;
  weights.bias = bias;
  Values output;
  if (options_.shapes_only) {
    output = weigh_shapes(x, filter, layout, activation, overlap, weights);
  } else if (!options_.count_only) {
    std::vector<int8_t> stored(static_cast<size_t>(layout.channels * layout.taps));
    options_.fill(layout, stored);
    output = weigh(x, filter, layout, stored, activation, overlap, weights);
    tensor(filter).buffer = static_cast<int32_t>(graph_.buffers.size());
    graph_.buffers.push_back(make_buffer(bytes_of(stored)));
  }
  const bool per_channel = op.kind != OpKind::kFullyConnected;
  tensor(filter).quantization.axis = per_channel && layout.channel_last ? 3 : 0;
  const Id id = append(std::move(op), output);
  if (id == kNoTensor) return id;
  const int64_t positions = transposed ? tensor(x).element_count() / tensor(x).shape.back()
                                       : tensor(id).element_count() / layout.channels;
  macs_ += positions * layout.channels * layout.taps;
  weights_bytes_ += layout.channels * (layout.taps * bits_per_element(options_.type) / 8 + 4);
  weights_.push_back(std::move(weights));
  return id;
}

namespace {

template <class Options>
void set_window(Operator& op, const Options& options) {
  op.set("padding", static_cast<int64_t>(options.padding));
  op.set("stride_h", options.stride_h);
  op.set("stride_w", options.stride_w);
  op.set("dilation_h_factor", options.dilation_h);
  op.set("dilation_w_factor", options.dilation_w);
}

}  // namespace

GraphBuilder::Id GraphBuilder::conv_2d(Id x, const Conv2D& options) {
  if (!usable({&x, 1}) || shape(x).empty()) return kNoTensor;
  const int64_t groups = std::max<int64_t>(1, options.groups);
  const int64_t depth = shape(x).back() / groups;
  Operator op;
  op.kind = OpKind::kConv2D;
  op.inputs = {x};
  set_window(op, options);
  const Id id =
      weighted(std::move(op), {options.channels, options.kernel_h, options.kernel_w, depth},
               {.kind = OpKind::kConv2D,
                .channels = options.channels,
                .taps = options.kernel_h * options.kernel_w * depth},
               options.activation);
  if (id != kNoTensor && groups > 1) graph_.main().operators.back().version = 6;
  return id;
}

GraphBuilder::Id GraphBuilder::depthwise_conv_2d(Id x, const DepthwiseConv2D& options) {
  if (!usable({&x, 1}) || shape(x).empty()) return kNoTensor;
  const int64_t channels = shape(x).back() * options.multiplier;
  Operator op;
  op.kind = OpKind::kDepthwiseConv2D;
  op.inputs = {x};
  set_window(op, options);
  op.set("depth_multiplier", options.multiplier);
  return weighted(std::move(op), {1, options.kernel_h, options.kernel_w, channels},
                  {.kind = OpKind::kDepthwiseConv2D,
                   .channels = channels,
                   .taps = options.kernel_h * options.kernel_w,
                   .channel_last = true},
                  options.activation);
}

GraphBuilder::Id GraphBuilder::fully_connected(Id x, const FullyConnected& options) {
  if (!usable({&x, 1})) return kNoTensor;
  // A single image is flattened as the kernel does it; otherwise rows are kept apart.
  const Shape& dims = shape(x);
  const int64_t rows =
      options.keep_num_dims || dims.empty()
          ? tensor(x).element_count() / std::max<int64_t>(1, dims.empty() ? 1 : dims.back())
          : dims.front();
  const int64_t depth = tensor(x).element_count() / std::max<int64_t>(1, rows);
  Operator op;
  op.kind = OpKind::kFullyConnected;
  op.inputs = {x};
  op.set("keep_num_dims", static_cast<int64_t>(options.keep_num_dims));
  return weighted(std::move(op), {options.units, depth},
                  {.kind = OpKind::kFullyConnected, .channels = options.units, .taps = depth},
                  options.activation);
}

GraphBuilder::Id GraphBuilder::elementwise(OpKind kind, Id a, Id b, Values output,
                                           Activation activation) {
  activate(activation, 1.0, output);
  Operator op;
  op.kind = kind;
  op.inputs = {a, b};
  op.set("fused_activation_function", static_cast<int64_t>(activation));
  return append(std::move(op), output);
}

GraphBuilder::Id GraphBuilder::add(Id a, Id b, Activation activation) {
  if (!usable(std::array{a, b})) return kNoTensor;
  const Values& left = values(a);
  const Values& right = values(b);
  return elementwise(OpKind::kAdd, a, b,
                     {.mean = left.mean + right.mean, .variance = left.variance + right.variance},
                     activation);
}

GraphBuilder::Id GraphBuilder::mul(Id a, Id b, Activation activation) {
  if (!usable(std::array{a, b})) return kNoTensor;
  const Values& left = values(a);
  const Values& right = values(b);
  return elementwise(
      OpKind::kMul, a, b,
      {.mean = left.mean * right.mean,
       .variance = left.variance * right.variance + left.mean * left.mean * right.variance +
                   right.mean * right.mean * left.variance},
      activation);
}

GraphBuilder::Id GraphBuilder::add_scalar_constant(double value) {
  const std::string name = fmt::format("scalar_{}", graph_.main().operators.size());
  Id id = kNoTensor;
  if (is_int8()) {
    const int8_t stored = value < 0 ? -127 : 127;
    id = add_constant(name, DataType::kInt8, {}, std::as_bytes(std::span(&stored, 1)));
    tensor(id).quantization.scale = {static_cast<float>(std::abs(value) / 127)};
    tensor(id).quantization.zero_point = {0};
  } else {
    const auto stored = static_cast<float>(value);
    id = add_constant(name, DataType::kFloat32, {}, std::as_bytes(std::span(&stored, 1)));
  }
  values(id).mean = value;
  return id;
}

GraphBuilder::Id GraphBuilder::add_scalar(Id x, double value, Activation activation) {
  return usable({&x, 1}) ? add(x, add_scalar_constant(value), activation) : kNoTensor;
}

GraphBuilder::Id GraphBuilder::mul_scalar(Id x, double value) {
  return usable({&x, 1}) ? mul(x, add_scalar_constant(value)) : kNoTensor;
}

GraphBuilder::Id GraphBuilder::pass(Operator op, Id x) {
  const Values output = values(x);
  const Id id = append(std::move(op), output);
  if (id != kNoTensor) share(x, id);
  return id;
}

GraphBuilder::Id GraphBuilder::pool(OpKind kind, Id x, const Pool2D& options) {
  if (!usable({&x, 1})) return kNoTensor;
  Operator op;
  op.kind = kind;
  op.inputs = {x};
  op.set("padding", static_cast<int64_t>(options.padding));
  op.set("stride_h", options.stride_h);
  op.set("stride_w", options.stride_w);
  op.set("filter_height", options.kernel_h);
  op.set("filter_width", options.kernel_w);
  const Id id = pass(std::move(op), x);
  if (id == kNoTensor) return id;
  // Neighbours are alike, so averaging takes away less than it would from independent values.
  Values& pooled = values(id);
  const double taps = static_cast<double>(options.kernel_h * options.kernel_w);
  if (kind == OpKind::kAveragePool2D)
    pooled.variance /= std::sqrt(taps);
  else
    pooled.mean += 0.5 * std::sqrt(pooled.variance);
  return id;
}

GraphBuilder::Id GraphBuilder::average_pool(Id x, const Pool2D& options) {
  return pool(OpKind::kAveragePool2D, x, options);
}

GraphBuilder::Id GraphBuilder::max_pool(Id x, const Pool2D& options) {
  return pool(OpKind::kMaxPool2D, x, options);
}

GraphBuilder::Id GraphBuilder::mean(Id x, const std::vector<int64_t>& axes, bool keep_dims) {
  if (!usable({&x, 1})) return kNoTensor;
  Operator op;
  op.kind = OpKind::kMean;
  op.inputs = {x, add_ints(fmt::format("axes_{}", graph_.main().operators.size()), axes)};
  op.set("keep_dims", static_cast<int64_t>(keep_dims));
  Values output = values(x);
  output.fixed = false;
  const Id id = append(std::move(op), output);
  if (id == kNoTensor) return id;
  const double taps = static_cast<double>(tensor(x).element_count()) /
                      static_cast<double>(std::max<int64_t>(1, tensor(id).element_count()));
  values(id).variance /= std::sqrt(std::max(1.0, taps));
  return id;
}

GraphBuilder::Id GraphBuilder::reshape(Id x, const Shape& target) {
  if (!usable({&x, 1})) return kNoTensor;
  Operator op;
  op.kind = OpKind::kReshape;
  op.inputs = {x, add_ints(fmt::format("target_{}", graph_.main().operators.size()), target)};
  op.set("new_shape", target);
  return pass(std::move(op), x);
}

GraphBuilder::Id GraphBuilder::pad(Id x, const std::vector<int64_t>& pads) {
  if (!usable({&x, 1})) return kNoTensor;
  const Id amounts = add_ints(fmt::format("pads_{}", graph_.main().operators.size()), pads);
  tensor(amounts).shape = {static_cast<int64_t>(pads.size()) / 2, 2};
  Operator op;
  op.kind = OpKind::kPad;
  op.inputs = {x, amounts};
  return pass(std::move(op), x);
}

GraphBuilder::Id GraphBuilder::concatenation(std::span<const Id> parts, int64_t axis) {
  if (parts.empty() || !usable(parts)) return kNoTensor;
  Operator op;
  op.kind = OpKind::kConcatenation;
  op.inputs.assign(parts.begin(), parts.end());
  op.set("axis", axis);
  Values output = values(parts.front());
  for (const Id part : parts.subspan(1)) {
    output.mean = 0.5 * (output.mean + values(part).mean);
    output.variance = 0.5 * (output.variance + values(part).variance);
  }
  const Id id = append(std::move(op), output);
  for (const Id part : parts)
    if (id != kNoTensor) share(part, id);
  return id;
}

GraphBuilder::Id GraphBuilder::unary(OpKind kind, Id x, int32_t version, Values output) {
  Operator op;
  op.kind = kind;
  op.inputs = {x};
  if (kind == OpKind::kSoftmax) op.set("beta", 1.0);
  const Id id = append(std::move(op), output);
  if (id != kNoTensor && is_int8()) graph_.main().operators.back().version = version;
  return id;
}

GraphBuilder::Id GraphBuilder::relu(Id x) {
  if (!usable({&x, 1})) return kNoTensor;
  Values output = values(x);
  activate(Activation::kRelu, 1.0, output);
  return unary(OpKind::kRelu, x, 2, output);
}

GraphBuilder::Id GraphBuilder::relu6(Id x) {
  if (!usable({&x, 1})) return kNoTensor;
  Values output = values(x);
  activate(Activation::kRelu6, 1.0, output);
  return unary(OpKind::kRelu6, x, 2, output);
}

GraphBuilder::Id GraphBuilder::logistic(Id x) {
  if (!usable({&x, 1})) return kNoTensor;
  return unary(OpKind::kLogistic, x, 2,
               {.mean = 0.5, .variance = 0.04, .low = 0, .high = 255.0 / 256, .fixed = true});
}

GraphBuilder::Id GraphBuilder::hard_swish(Id x) {
  if (!usable({&x, 1})) return kNoTensor;
  Values output = values(x);
  output.mean = 0.5 * output.mean + 0.15 * output.variance;
  output.variance *= 0.4;
  output.low = -0.375;
  output.high = std::max(0.5, output.high);
  output.fixed = false;
  return unary(OpKind::kHardSwish, x, 1, output);
}

GraphBuilder::Id GraphBuilder::softmax(Id x) {
  if (!usable({&x, 1})) return kNoTensor;
  const double classes = shape(x).empty() ? 1 : static_cast<double>(shape(x).back());
  return unary(
      OpKind::kSoftmax, x, 2,
      {.mean = 1 / classes, .variance = 0.01, .low = 0, .high = 255.0 / 256, .fixed = true});
}

Result<Graph> GraphBuilder::finish(const std::vector<Id>& outputs) {
  if (status_ && options_.count_only)
    fail({ErrorCode::kInvalidArgument, "GraphBuilder",
          "a builder that only counts has no constants to make a graph from"});
  usable(outputs);
  if (!status_) return tl::unexpected<Error>(status_.error());
  if (is_int8()) quantise_activations();
  for (const Weights& weights : weights_)
    options_.shapes_only ? write_shapes(weights) : write_weights(weights);
  graph_.main().outputs = outputs;
  return std::move(graph_);
}

}  // namespace edgesage
