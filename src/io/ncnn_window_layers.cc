// Convolutions, pooling and fully connected layers of ncnn.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "src/io/ncnn_layers.h"

namespace edgesage {
namespace {

constexpr int64_t kMostSide = 1 << 20;  // kernels, strides, pads
constexpr int64_t kMostChannels = 1 << 24;
constexpr int64_t kSameUpper = -233, kSameLower = -234;
constexpr int64_t kFusedRelu = 1, kFusedRelu6 = 3;

struct Side {
  int64_t kernel = 1, stride = 1, dilation = 1;
  int64_t before = 0, after = 0;  // pads
  bool same = false;
};
struct Window {
  Side h, w;
};

int64_t reach(const Side& side) { return (side.kernel - 1) * side.dilation + 1; }

// Positions as ncnn counts them; `up`: a last window that is not full counts.
int64_t positions(int64_t size, const Side& side, bool up) {
  if (side.same) return (size + side.stride - 1) / side.stride;
  const int64_t room = size + side.before + side.after - reach(side);
  if (room < 0) return 0;
  return (room + (up ? side.stride - 1 : 0)) / side.stride + 1;
}

// The way of padding that gives `out`: 0 SAME, 1 VALID; -1: the input must be padded first.
int64_t padding_for(const Window& window, const Shape& in, const Shape& out) {
  for (const int64_t padding : {1, 0}) {
    if (padding == 1 && window.h.before + window.h.after + window.w.before + window.w.after > 0 &&
        !window.h.same)
      continue;
    if (window_positions(in[1], window.h.kernel, window.h.stride, window.h.dilation, padding) ==
            out[1] &&
        window_positions(in[2], window.w.kernel, window.w.stride, window.w.dilation, padding) ==
            out[2])
      return padding;
  }
  return -1;
}

// `x` padded such that a VALID window gives `out`.
int32_t pad_for(NcnnEmitter& net, int32_t x, const Window& window, const Shape& out) {
  const Shape& in = net.shape(x);
  const auto missing = [](int64_t size, const Side& side, int64_t count) {
    return std::max<int64_t>(0, (count - 1) * side.stride + reach(side) - size - side.before);
  };
  return net.pad(x, {0, 0, window.h.before, missing(in[1], window.h, out[1]), window.w.before,
                     missing(in[2], window.w, out[2]), 0, 0});
}

void set_window(Operator& op, const Window& window, int64_t padding) {
  op.set("padding", padding);
  op.set("stride_h", window.h.stride);
  op.set("stride_w", window.w.stride);
  if (op.kind != OpKind::kConv2D && op.kind != OpKind::kDepthwiseConv2D) return;
  op.set("dilation_h_factor", window.h.dilation);
  op.set("dilation_w_factor", window.w.dilation);
}

Result<Window> convolution_window(const NcnnCall& call) {
  Window window;
  EDGESAGE_ASSIGN_OR_RETURN(window.w.kernel, call.bounded(1, 0, 1, kMostSide, "kernel width"));
  EDGESAGE_ASSIGN_OR_RETURN(window.h.kernel,
                            call.bounded(11, window.w.kernel, 1, kMostSide, "kernel height"));
  EDGESAGE_ASSIGN_OR_RETURN(window.w.dilation, call.bounded(2, 1, 1, kMostSide, "dilation"));
  EDGESAGE_ASSIGN_OR_RETURN(window.h.dilation,
                            call.bounded(12, window.w.dilation, 1, kMostSide, "dilation"));
  EDGESAGE_ASSIGN_OR_RETURN(window.w.stride, call.bounded(3, 1, 1, kMostSide, "stride"));
  EDGESAGE_ASSIGN_OR_RETURN(window.h.stride,
                            call.bounded(13, window.w.stride, 1, kMostSide, "stride"));
  const int64_t pad = call.layer.integer(4, 0);
  window.h.same = window.w.same = pad == kSameUpper || pad == kSameLower;
  if (window.h.same) return window;
  EDGESAGE_ASSIGN_OR_RETURN(window.w.before, call.bounded(4, 0, 0, kMostSide, "left padding"));
  EDGESAGE_ASSIGN_OR_RETURN(window.w.after,
                            call.bounded(15, window.w.before, 0, kMostSide, "right padding"));
  EDGESAGE_ASSIGN_OR_RETURN(window.h.before,
                            call.bounded(14, window.w.before, 0, kMostSide, "top padding"));
  EDGESAGE_ASSIGN_OR_RETURN(window.h.after,
                            call.bounded(16, window.h.before, 0, kMostSide, "bottom padding"));
  return window;
}

// Parameter 9 and its arguments: fused where TFLite can, else an operator behind.
int64_t fused_activation(const NcnnLayer& layer) {
  const int64_t kind = layer.integer(9, 0);
  if (kind == 1) return kFusedRelu;
  const auto limits = layer.parameters.find(10);
  const bool to_six = limits != layer.parameters.end() && limits->second.size() == 2 &&
                      limits->second[0] == 0 && limits->second[1] == 6;
  return kind == 3 && to_six ? kFusedRelu6 : 0;
}

int32_t activate(const NcnnCall& call, int32_t x) {
  NcnnEmitter& net = call.net;
  switch (call.layer.integer(9, 0)) {
    case 0:
    case 1:
      return x;
    case 2: {
      const int32_t made = net.unary(OpKind::kLeakyRelu, x);
      net.graph().main().operators.back().set("alpha", call.layer.real(10, 0));
      return made;
    }
    case 3: {
      if (fused_activation(call.layer) != 0) return x;
      const auto limits = call.layer.parameters.find(10);
      const bool given = limits != call.layer.parameters.end() && limits->second.size() == 2;
      const double low = given ? limits->second[0] : 0, high = given ? limits->second[1] : 6;
      x = net.binary(OpKind::kMaximum, x, net.scalar(low, net.type(x)), net.shape(x));
      return net.binary(OpKind::kMinimum, x, net.scalar(high, net.type(x)), net.shape(x));
    }
    case 4:
      return net.unary(OpKind::kLogistic, x);
    case 6:
      return net.unary(OpKind::kHardSwish, x);
    default: {
      const int32_t made = net.unary(OpKind::kUnknown, x);
      net.graph().main().operators.back().custom_code =
          fmt::format("activation {}", call.layer.integer(9, 0));
      net.warn(fmt::format("line {}: activation {} of {} is not known", call.layer.line,
                           call.layer.integer(9, 0), call.layer.type));
      return made;
    }
  }
}

// Int8 layers have parameter 8; one without in an int8 network computes with float weights.
int32_t input_of(const NcnnCall& call) {
  return call.layer.integer(8, 0) == 0 ? call.net.as_float(call.in[0]) : call.in[0];
}

NcnnOutputs inner_product(const NcnnCall& call) {
  EDGESAGE_ASSIGN_OR_RETURN(const int64_t units, call.bounded(0, 0, 1, kMostChannels, "outputs"));
  const int32_t x = input_of(call);
  const Shape& in = call.net.shape(x);
  Tensor counted;
  counted.shape = in;
  const int64_t all = counted.element_count();
  const int64_t weights =
      call.layer.integer(2, 0) > 0 ? call.layer.integer(2, 0) : call.layer.integer(6, 0);
  const bool by_row = in.size() == 3 && in[1] > 1 && weights == units * in[2];
  const int64_t depth = by_row ? in[2] : all;
  if (weights != 0 && weights / units != depth)
    return call.bad(
        fmt::format("has {} weights for {} outputs of {} inputs", weights, units, depth));
  Operator op;
  op.kind = OpKind::kFullyConnected;
  op.set("keep_num_dims", static_cast<int64_t>(by_row));
  op.set("fused_activation_function", fused_activation(call.layer));
  const bool bias = call.layer.integer(call.layer.type == "InnerProduct" ? 1 : 5, 0) != 0;
  const Shape out = by_row ? Shape{1, in[1], units} : Shape{1, units};
  return std::vector{
      activate(call, call.net.weighted(std::move(op), x, {units, depth}, units, bias, out))};
}

NcnnOutputs convolution(const NcnnCall& call) {
  if (call.shape().size() == 2) return inner_product(call);
  if (call.shape().size() != 4) return call.bad("reads a blob that is no image");
  EDGESAGE_ASSIGN_OR_RETURN(const int64_t channels,
                            call.bounded(0, 0, 1, kMostChannels, "outputs"));
  EDGESAGE_ASSIGN_OR_RETURN(const Window window, convolution_window(call));
  EDGESAGE_ASSIGN_OR_RETURN(const int64_t groups, call.bounded(7, 1, 1, kMostChannels, "groups"));
  int32_t x = input_of(call);
  const Shape in = call.net.shape(x);
  if (in[3] % groups != 0 || channels % groups != 0)
    return call.bad(
        fmt::format("has {} groups for {} inputs and {} outputs", groups, in[3], channels));
  const int64_t depth = in[3] / groups;
  const int64_t weights = call.layer.integer(6, 0);
  const int64_t taps = window.h.kernel * window.w.kernel;
  if (weights != 0 && (weights % channels != 0 || weights / channels / depth != taps))
    return call.bad(fmt::format("has {} weights for {} outputs of {}x{}x{} inputs", weights,
                                channels, depth, window.h.kernel, window.w.kernel));
  const Shape out{1, positions(in[1], window.h, false), positions(in[2], window.w, false),
                  channels};
  if (out[1] <= 0 || out[2] <= 0)
    return call.bad(fmt::format("has a window of {}x{} that does not fit {}x{} (height, width)",
                                reach(window.h), reach(window.w), in[1], in[2]));
  int64_t padding = padding_for(window, in, out);
  if (padding < 0) {
    x = pad_for(call.net, x, window, out);
    padding = 1;
  }
  Operator op;
  const bool depthwise = groups > 1 && depth == 1;
  op.kind = depthwise ? OpKind::kDepthwiseConv2D : OpKind::kConv2D;
  set_window(op, window, padding);
  if (depthwise) op.set("depth_multiplier", channels / in[3]);
  op.set("fused_activation_function", fused_activation(call.layer));
  const Shape filter = depthwise ? Shape{1, window.h.kernel, window.w.kernel, channels}
                                 : Shape{channels, window.h.kernel, window.w.kernel, depth};
  return std::vector{activate(call, call.net.weighted(std::move(op), x, filter, channels,
                                                      call.layer.integer(5, 0) != 0, out))};
}

NcnnOutputs deconvolution(const NcnnCall& call) {
  if (call.shape().size() != 4) return call.bad("reads a blob that is no image");
  EDGESAGE_ASSIGN_OR_RETURN(const int64_t channels,
                            call.bounded(0, 0, 1, kMostChannels, "outputs"));
  EDGESAGE_ASSIGN_OR_RETURN(const Window window, convolution_window(call));
  EDGESAGE_ASSIGN_OR_RETURN(const int64_t groups, call.bounded(7, 1, 1, kMostChannels, "groups"));
  EDGESAGE_ASSIGN_OR_RETURN(const int64_t more_w,
                            call.bounded(18, 0, 0, kMostSide, "output padding"));
  EDGESAGE_ASSIGN_OR_RETURN(const int64_t more_h,
                            call.bounded(19, more_w, 0, kMostSide, "output padding"));
  const int32_t x = input_of(call);
  const Shape in = call.net.shape(x);
  if (in[3] % groups != 0 || channels % groups != 0)
    return call.bad(
        fmt::format("has {} groups for {} inputs and {} outputs", groups, in[3], channels));
  const auto size = [](int64_t from, const Side& side, int64_t more) {
    return side.same ? from * side.stride
                     : (from - 1) * side.stride + reach(side) - side.before - side.after + more;
  };
  const Shape out{1, size(in[1], window.h, more_h), size(in[2], window.w, more_w), channels};
  if (out[1] <= 0 || out[2] <= 0) return call.bad("pads more than its output has");
  Operator op;
  op.kind = OpKind::kTransposeConv;
  set_window(op, window, out[1] == in[1] * window.h.stride ? 0 : 1);
  op.set("fused_activation_function", fused_activation(call.layer));
  const Shape filter{channels, window.h.kernel, window.w.kernel, in[3] / groups};
  return std::vector{activate(call, call.net.weighted(std::move(op), x, filter, channels,
                                                      call.layer.integer(5, 0) != 0, out))};
}

Result<Window> pooling_window(const NcnnCall& call, int64_t mode) {
  Window window;
  EDGESAGE_ASSIGN_OR_RETURN(window.w.kernel, call.bounded(1, 0, 1, kMostSide, "kernel width"));
  EDGESAGE_ASSIGN_OR_RETURN(window.h.kernel,
                            call.bounded(11, window.w.kernel, 1, kMostSide, "kernel height"));
  EDGESAGE_ASSIGN_OR_RETURN(window.w.stride, call.bounded(2, 1, 1, kMostSide, "stride"));
  EDGESAGE_ASSIGN_OR_RETURN(window.h.stride,
                            call.bounded(12, window.w.stride, 1, kMostSide, "stride"));
  window.h.same = window.w.same = mode == 2 || mode == 3;
  if (window.h.same) return window;
  EDGESAGE_ASSIGN_OR_RETURN(window.w.before, call.bounded(3, 0, 0, kMostSide, "left padding"));
  EDGESAGE_ASSIGN_OR_RETURN(window.w.after,
                            call.bounded(14, window.w.before, 0, kMostSide, "right padding"));
  EDGESAGE_ASSIGN_OR_RETURN(window.h.before,
                            call.bounded(13, window.w.before, 0, kMostSide, "top padding"));
  EDGESAGE_ASSIGN_OR_RETURN(window.h.after,
                            call.bounded(15, window.h.before, 0, kMostSide, "bottom padding"));
  return window;
}

NcnnOutputs pooling(const NcnnCall& call) {
  if (call.shape().size() != 4) return call.bad("reads a blob that is no image");
  const bool average = call.layer.integer(0, 0) == 1;
  int32_t x = call.in[0];
  const Shape in = call.shape();
  Operator op;
  if (call.layer.integer(4, 0) != 0) {
    op.kind = average ? OpKind::kMean : OpKind::kReduceMax;
    op.inputs = {x, call.net.ints({1, 2})};
    return std::vector{call.net.add(std::move(op), Shape{1, in[3]})};
  }
  const int64_t mode = call.layer.integer(5, 0);
  Window window;
  if (call.layer.integer(7, 0) != 0) {  // adaptive: the output's size is given
    EDGESAGE_ASSIGN_OR_RETURN(const int64_t out_w, call.bounded(8, 1, 1, in[2], "output width"));
    EDGESAGE_ASSIGN_OR_RETURN(const int64_t out_h,
                              call.bounded(18, out_w, 1, in[1], "output height"));
    window.h = {.kernel = in[1] - (out_h - 1) * (in[1] / out_h), .stride = in[1] / out_h};
    window.w = {.kernel = in[2] - (out_w - 1) * (in[2] / out_w), .stride = in[2] / out_w};
  } else {
    EDGESAGE_ASSIGN_OR_RETURN(window, pooling_window(call, mode));
  }
  const bool up = mode == 0;
  const Shape out{1, positions(in[1], window.h, up), positions(in[2], window.w, up), in[3]};
  if (out[1] <= 0 || out[2] <= 0)
    return call.bad(fmt::format("has a window of {}x{} that does not fit {}x{} (height, width)",
                                window.h.kernel, window.w.kernel, in[1], in[2]));
  int64_t padding = padding_for(window, in, out);
  if (padding < 0) {
    x = pad_for(call.net, x, window, out);
    padding = 1;
  }
  op.kind = average ? OpKind::kAveragePool2D : OpKind::kMaxPool2D;
  op.inputs = {x};
  set_window(op, window, padding);
  op.set("filter_height", window.h.kernel);
  op.set("filter_width", window.w.kernel);
  return std::vector{call.net.add(std::move(op), out)};
}

NcnnOutputs gemm(const NcnnCall& call) {
  const NcnnLayer& layer = call.layer;
  const int32_t a = call.net.as_float(call.in[0]);
  const Shape in = call.net.shape(a);
  if (layer.integer(2, 0) != 0 || layer.integer(4, 0) != 0 || in.size() > 3)
    return call.bad("multiplies a constant or a transposed first matrix, which is not read");
  const int64_t rows = in.size() == 3 ? in[1] : 1;
  if (layer.integer(5, 0) != 0) {
    EDGESAGE_ASSIGN_OR_RETURN(const int64_t units, call.bounded(8, 0, 1, kMostChannels, "columns"));
    if (layer.integer(9, in.back()) != in.back())
      return call.bad(fmt::format("multiplies rows of {} by a matrix of {}", in.back(),
                                  layer.integer(9, in.back())));
    Operator op;
    op.kind = OpKind::kFullyConnected;
    op.set("keep_num_dims", int64_t{in.size() == 3});
    const bool bias = layer.integer(6, 0) != 0 && layer.integer(10, 0) != -1;
    const Shape out = in.size() == 3 ? Shape{1, rows, units} : Shape{1, units};
    return std::vector{call.net.weighted(std::move(op), a, {units, in.back()}, units, bias, out)};
  }
  if (call.in.size() < 2) return call.bad("multiplies one matrix; two are needed");
  const int32_t b = call.net.as_float(call.in[1]);
  const Shape& other = call.net.shape(b);
  const bool turned = layer.integer(3, 0) != 0;
  if (other.size() != 3 || in.size() != 3 || other[turned ? 2 : 1] != in[2])
    return call.bad("multiplies matrices that do not fit");
  const int64_t columns = other[turned ? 1 : 2];
  Operator op;
  op.kind = OpKind::kBatchMatmul;
  op.inputs = {a, b};
  op.set("adj_y", static_cast<int64_t>(turned));
  return std::vector{call.net.add(std::move(op), Shape{1, rows, columns})};
}

}  // namespace

std::optional<NcnnRule> ncnn_window_rule(std::string_view type) {
  if (type == "Convolution" || type == "ConvolutionDepthWise") return NcnnRule{convolution};
  if (type == "Deconvolution" || type == "DeconvolutionDepthWise") return NcnnRule{deconvolution};
  if (type == "Pooling") return NcnnRule{pooling};
  if (type == "InnerProduct") return NcnnRule{inner_product};
  if (type == "Gemm") return NcnnRule{gemm};
  return std::nullopt;
}

}  // namespace edgesage
