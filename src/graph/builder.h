// GraphBuilder: makes runnable Graphs operator by operator, int8 or float32.
//
//   GraphBuilder net({.name = "tiny", .fill = fill});
//   auto x = net.input("image", {1, 32, 32, 3});
//   x = net.conv_2d(x, {.channels = 8, .kernel_h = 3, .kernel_w = 3, .stride_h = 2, .stride_w = 2,
//                       .activation = Activation::kRelu6});
//   x = net.fully_connected(net.mean(x, {1, 2}, false), {.units = 10});
//   Result<Graph> graph = net.finish({net.softmax(x)});
//
// int8: filters of convolutions are quantised per output channel and those of fully connected
// layers per tensor, symmetrically, with int32 biases. The caller gives the stored values of
// filters
// (`fill`); the builder chooses scales and biases such that activations spread over the int8 range,
// from an estimate of mean and variance that it carries along (inputs are taken as independent).
// Tensors that LiteRT wants equally quantised (in and out of pooling, reshape, pad, concatenation,
// resize, split, depth to space) share scale and zero point.
//
// Errors are kept: after a first one (shapes that do not fit) every call returns kNoTensor and
// `finish` gives the error. All results follow from the arguments alone, bit for bit on every
// platform whose `double` is IEEE 754. Not thread-safe.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgesage/result.h"
#include "src/base/rng.h"
#include "src/graph/graph.h"
#include "src/graph/shape_inference.h"

namespace edgesage {

enum class Padding : uint8_t { kSame = 0, kValid = 1 };
// Activations that TFLite fuses into an operator; the values are the format's.
enum class Activation : uint8_t { kNone = 0, kRelu = 1, kReluN1To1 = 2, kRelu6 = 3 };

// How the values of a filter belong to its output channels: value i belongs to channel
// i % channels if `channel_last` (depthwise), else to i / taps.
struct FilterLayout {
  OpKind kind = OpKind::kConv2D;
  int64_t channels = 0;
  int64_t taps = 0;  // values a channel
  bool channel_last = false;
};
// Writes a filter's stored values, -127 to 127. Called once a filter, in the order of operators.
using FillFilter = std::function<void(const FilterLayout&, std::span<int8_t>)>;

struct Conv2D {
  int64_t channels = 1;
  int64_t kernel_h = 1, kernel_w = 1;
  int64_t stride_h = 1, stride_w = 1;
  int64_t dilation_h = 1, dilation_w = 1;
  Padding padding = Padding::kSame;
  Activation activation = Activation::kNone;
  int64_t groups = 1;  // each sees its share of the input's channels
};
// The output's side is the input's times the stride (VALID: plus what the window reaches beyond).
struct TransposeConv {
  int64_t channels = 1;
  int64_t kernel = 2;
  int64_t stride = 2;
  Padding padding = Padding::kSame;
  Activation activation = Activation::kNone;
};
struct DepthwiseConv2D {
  int64_t multiplier = 1;
  int64_t kernel_h = 1, kernel_w = 1;
  int64_t stride_h = 1, stride_w = 1;
  int64_t dilation_h = 1, dilation_w = 1;
  Padding padding = Padding::kSame;
  Activation activation = Activation::kNone;
};
struct FullyConnected {
  int64_t units = 1;
  Activation activation = Activation::kNone;
  bool keep_num_dims = false;
};
struct Pool2D {
  int64_t kernel_h = 1, kernel_w = 1;
  int64_t stride_h = 1, stride_w = 1;
  Padding padding = Padding::kValid;
};

// Where the samples of a resized image lie, by TFLite's options.
enum class Corners : uint8_t { kPlain = 0, kAligned = 1, kHalfPixel = 2 };

class GraphBuilder {
 public:
  struct Options {
    std::string name;                 // of the main subgraph; also Graph::format
    DataType type = DataType::kInt8;  // or kFloat32
    FillFilter fill;                  // unset: uniform values from `seed`
    uint64_t seed = 0;                // of biases, jitter of the scales, and unset `fill`
    bool count_only = false;          // only `shape`, `macs`, `weights_bytes`: no constants
    // Filters and biases have shapes, types and scales but no bytes, and `fill` is not called: for
    // whoever wants costs, not a file. The graph hash is that of the graph with weights.
    bool shapes_only = false;
  };
  explicit GraphBuilder(Options options);

  // Index of a tensor of the main subgraph.
  using Id = int32_t;

  Id input(std::string_view name, Shape shape);
  // An int32 input: indexes of rows (gather).
  Id input_indexes(std::string_view name, Shape shape);
  Id conv_2d(Id x, const Conv2D& options);
  Id depthwise_conv_2d(Id x, const DepthwiseConv2D& options);
  Id fully_connected(Id x, const FullyConnected& options);
  Id transpose_conv(Id x, const TransposeConv& options);
  Id add(Id a, Id b, Activation activation = Activation::kNone);
  Id mul(Id a, Id b, Activation activation = Activation::kNone);
  // A constant scalar as the second operand.
  Id add_scalar(Id x, double value, Activation activation = Activation::kNone);
  Id mul_scalar(Id x, double value);
  // What is left of a batch normalisation that no convolution could take up: MUL and ADD with
  // constants of a value a channel.
  Id scale_and_shift(Id x, Activation activation = Activation::kNone);
  Id average_pool(Id x, const Pool2D& options);
  Id max_pool(Id x, const Pool2D& options);
  Id mean(Id x, const std::vector<int64_t>& axes, bool keep_dims);
  Id reshape(Id x, const Shape& target);
  // Two values a dimension: before and after.
  Id pad(Id x, const std::vector<int64_t>& pads);
  Id concatenation(std::span<const Id> parts, int64_t axis);
  // Equal parts of the last dimension.
  std::vector<Id> split(Id x, int64_t parts);
  // Dimension i of the result is dimension order[i] of x.
  Id transpose(Id x, const std::vector<int64_t>& order);
  // block x block pixels from each pixel's channels.
  Id depth_to_space(Id x, int64_t block);
  Id resize_bilinear(Id x, int64_t height, int64_t width, Corners corners);
  Id resize_nearest(Id x, int64_t height, int64_t width, Corners corners);
  // Index of the largest channel; `type` is kInt32 or kInt64. The last dimension goes.
  Id arg_max(Id x, DataType type);
  Id relu(Id x);
  Id relu6(Id x);
  Id leaky_relu(Id x, double slope);
  Id prelu(Id x);  // a slope a channel
  Id logistic(Id x);
  Id hard_swish(Id x);
  Id softmax(Id x);

  // What transformers are made of (builder_attention.cc).
  Id sub(Id a, Id b);
  Id squared_difference(Id a, Id b);
  Id square(Id x);  // MUL of x with itself
  // 1 / sqrt(x + epsilon), as ADD and RSQRT, of values that are not negative.
  Id rsqrt_above(Id x, double epsilon);
  Id tanh(Id x);
  Id gelu(Id x, bool approximate);
  // a [..., m, k] times b [..., k, n], or, transposed, [..., n, k].
  Id batch_matmul(Id a, Id b, bool transpose_b);
  // FULLY_CONNECTED whose filter is computed: x [m, k] times the transpose of filter [n, k].
  Id matmul_dense(Id x, Id filter);
  // Rows of a constant table, by indexes: [indexes..., width].
  Id gather_rows(Id indexes, int64_t rows, int64_t width);
  // The constant comes first, along `axis`; its other dimensions are those of x.
  Id prepend_constant(Id x, int64_t axis);
  // ADD of a constant of this shape.
  Id add_constant_of(Id x, Shape shape);
  // The same of zeros and `low`, which hides what comes later: [length, length].
  Id add_causal_mask(Id x, int64_t length, double low);
  // MUL, or ADD, with one value a channel around `centre`.
  Id scale_channels_by(Id x, double centre, double spread);
  // The same of one value a token: the result has `channels`.
  Id widen_by_channels(Id x, int64_t channels, double centre, double spread);
  Id shift_channels_by(Id x, double centre, double spread);
  // Constant [channels] minus x.
  Id channels_minus(Id x, double centre, double spread);
  // Index `index` of `axis`, which goes (STRIDED_SLICE).
  Id slice_at(Id x, int64_t axis, int64_t index);
  Id sum(Id x, const std::vector<int64_t>& axes, bool keep_dims);

  // While only counting: what of the network is not emitted because it is like a part that was.
  void count_more(int64_t macs, int64_t weights_bytes);
  [[nodiscard]] bool counts_only() const { return options_.count_only; }
  [[nodiscard]] const Shape& shape(Id x) const;
  [[nodiscard]] bool ok() const { return status_.has_value(); }
  // Multiply-accumulates of convolutions and fully connected layers so far.
  [[nodiscard]] int64_t macs() const { return macs_; }
  // Bytes of filters and biases so far.
  [[nodiscard]] int64_t weights_bytes() const { return weights_bytes_; }
  [[nodiscard]] int64_t operator_count() const;
  // Elements of the largest activation so far.
  [[nodiscard]] int64_t largest_activation() const { return largest_activation_; }

  // The graph with `outputs`; the builder is spent.
  [[nodiscard]] Result<Graph> finish(const std::vector<Id>& outputs);

 private:
  // What is believed of a tensor's real values, and which tensors share its quantisation.
  struct Values {
    double mean = 0, variance = 0;
    double low = 0, high = 0;
    bool fixed = false;    // the kernel prescribes the scale: 1/256 from 0 to 255/256
    bool centred = false;  // with `fixed`: 1/128 from -1 to 127/128 (TANH)
    bool follows = false;  // a constant that has the quantisation of its group
    Id group = kNoTensor;  // parent in the forest of tensors of equal quantisation
  };
  // Filter and bias of an operator whose quantisation waits for `finish`.
  struct Weights {
    Id input = kNoTensor, filter = kNoTensor, bias = kNoTensor;
    std::vector<double> scale;  // one a channel, or one
    std::vector<double> bias_values;
  };

  Id add_tensor(std::string name, DataType type, Shape shape);
  Id add_constant(std::string name, DataType type, Shape shape, std::span<const std::byte> bytes);
  Id add_ints(std::string name, const std::vector<int64_t>& values);
  Id add_scalar_constant(double value);
  // A value a channel, drawn between `low` and `high` around their mean.
  Id add_channel_constant(std::string_view name, int64_t channels, double low, double high);
  // A constant of drawn or given values, which counts as weights.
  Id add_stored_constant(std::string_view name, Shape shape, const std::vector<int8_t>& stored,
                         double scale);
  std::vector<int8_t> drawn_bytes(const Shape& shape);  // none where constants have no bytes
  [[nodiscard]] bool has_bytes() const { return !options_.count_only && !options_.shapes_only; }
  static Values squares(double mean, double variance);
  // What sums of `depth` products of both tensors' values are.
  Values product(Id a, Id b, int64_t depth);
  Id resize(OpKind kind, Id x, int64_t height, int64_t width, Corners corners);
  // Appends the operator, infers and adds its output; kNoTensor and the status on errors.
  Id append(Operator op, Values values);
  std::vector<Id> append_all(Operator op, const Values& values);
  // The same with shapes that are known.
  std::vector<Id> append_shaped(Operator op, const Values& values, std::span<const Shape> shapes);
  Id weighted(Operator op, const Shape& filter_shape, const FilterLayout& layout,
              Activation activation);
  // `overlap` is the share of a filter's values that meet in one output.
  Values weigh(Id x, Id filter, const FilterLayout& layout, std::span<const int8_t> stored,
               Activation activation, double overlap, Weights& weights);
  // The same without values: `shapes_only`.
  Values weigh_shapes(Id x, Id filter, const FilterLayout& layout, Activation activation,
                      double overlap, Weights& weights);
  void write_shapes(const Weights& weights);
  Id elementwise(OpKind kind, Id a, Id b, Values values, Activation activation);
  Id pool(OpKind kind, Id x, const Pool2D& options);
  Id pass(Operator op, Id x);  // output with the quantisation of x
  Id unary(OpKind kind, Id x, int32_t version, Values values);

  bool fail(const Error& error);
  bool usable(std::span<const Id> ids);
  [[nodiscard]] Tensor& tensor(Id x) { return graph_.main().tensors[static_cast<size_t>(x)]; }
  [[nodiscard]] Values& values(Id x) { return values_[static_cast<size_t>(x)]; }
  static void activate(Activation activation, double jitter, Values& output);
  Id root(Id x);
  void share(Id a, Id b);
  [[nodiscard]] bool is_int8() const { return options_.type == DataType::kInt8; }
  void quantise_activations();
  void write_weights(const Weights& weights);

  Options options_;
  Graph graph_;
  std::vector<Values> values_;  // one a tensor
  std::vector<Weights> weights_;
  Rng rng_;
  Status status_;
  int64_t macs_ = 0;
  int64_t weights_bytes_ = 0;
  int64_t largest_activation_ = 0;
};

}  // namespace edgesage
