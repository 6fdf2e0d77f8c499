// Rules for convolutions and pooling. Rows of one dimension are images of height 1; volumes of
// three are CONV_3D.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "src/io/onnx/convert_call.h"

namespace edgesage::onnx::convert {
namespace {

constexpr int64_t kMostSide = int64_t{1} << 31;

// What a window does along the spatial dimensions.
struct Window {
  std::vector<int64_t> kernel, stride, dilation, before, out;
  [[nodiscard]] size_t size() const { return kernel.size(); }
  [[nodiscard]] int64_t reach(size_t i) const { return (kernel[i] - 1) * dilation[i] + 1; }
};

std::vector<int64_t> filled(std::span<const int64_t> given, size_t count, int64_t otherwise) {
  std::vector<int64_t> values(given.begin(), given.end());
  values.resize(count, otherwise);
  return values;
}

// Reads kernel, strides, dilations and pads; `in` and `out` are spatial sides.
std::optional<Window> read_window(const Call& call, std::span<const int64_t> kernel,
                                  std::span<const int64_t> in, std::span<const int64_t> out) {
  const size_t count = in.size();
  Window window;
  window.kernel = filled(kernel, count, 1);
  window.stride = filled(call.node.attr_ints("strides"), count, 1);
  window.dilation = filled(call.node.attr_ints("dilations"), count, 1);
  window.out.assign(out.begin(), out.end());
  const std::string_view automatic = call.node.attr_string("auto_pad", "NOTSET");
  const std::vector<int64_t> pads = filled(call.node.attr_ints("pads"), 2 * count, 0);
  for (size_t i = 0; i < count; ++i) {
    for (const int64_t side : {window.kernel[i], window.stride[i], window.dilation[i]})
      if (side <= 0 || side > kMostSide) return std::nullopt;
    if (std::abs(pads[i]) > kMostSide || in[i] <= 0 || out[i] <= 0) return std::nullopt;
    int64_t before = pads[i];
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      const int64_t total =
          std::max<int64_t>(0, (out[i] - 1) * window.stride[i] + window.reach(i) - in[i]);
      before = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
    } else if (automatic == "VALID") {
      before = 0;
    }
    window.before.push_back(before);
  }
  return window;
}

// Padding of TFLite for all dimensions alike, and the pads of a PAD before it (NHWC, two each).
struct ImagePadding {
  Padding padding = Padding::kSame;
  std::vector<int64_t> pads;  // empty: none
};

ImagePadding image_padding(const Window& window, std::span<const int64_t> in) {
  ImagePadding result;
  bool all_same = true, all_valid = true;
  std::vector<WindowPadding> by_side;
  for (size_t i = 0; i < window.size(); ++i) {
    by_side.push_back(
        window_padding(in[i], window.out[i], window.reach(i), window.stride[i], window.before[i]));
    const bool padded = by_side[i].before != 0 || by_side[i].after != 0;
    const bool valid = by_side[i].padding == Padding::kValid && !padded;
    // A window that both rules place alike (1x1, stride 1) may go with either.
    const bool same = by_side[i].padding == Padding::kSame ||
                      (valid &&
                       window_positions(in[i], window.kernel[i], window.stride[i],
                                        window.dilation[i], 0) == window.out[i] &&
                       (window.out[i] - 1) * window.stride[i] + window.reach(i) <= in[i]);
    all_same = all_same && same;
    all_valid = all_valid && valid;
  }
  if (all_same && std::ranges::any_of(by_side, [](const WindowPadding& side) {
        return side.padding == Padding::kSame;
      }))
    return result;
  result.padding = Padding::kValid;
  if (all_valid) return result;
  result.pads.assign(2 * (window.size() + 2), 0);
  for (size_t i = 0; i < window.size(); ++i) {
    int64_t before = by_side[i].before, after = by_side[i].after;
    if (by_side[i].padding == Padding::kSame) {  // beside one that is not
      const int64_t total =
          std::max<int64_t>(0, (window.out[i] - 1) * window.stride[i] + window.reach(i) - in[i]);
      before = total / 2;
      after = total - before;
    }
    result.pads[2 * (i + 1)] = before;
    result.pads[2 * (i + 1) + 1] = after;
  }
  return result;
}

// Positive pads by a PAD, negative ones by a SLICE.
Id apply_pads(Call& call, Id x, std::vector<int64_t> pads, OpKind kind, double value) {
  if (pads.empty()) return x;
  std::vector<int64_t> begin(pads.size() / 2, 0);
  Shape size = call.net.shape(x);
  for (size_t d = 0; d < size.size(); ++d) {
    for (const size_t side : {2 * d, 2 * d + 1}) {
      if (pads[side] >= 0) continue;
      if (side % 2 == 0) begin[d] = -pads[side];
      size[d] += pads[side];
      pads[side] = 0;
    }
  }
  if (std::ranges::any_of(size, [](int64_t side) { return side <= 0; })) return x;
  return call.net.pad(call.net.slice(x, begin, size), pads, kind, value);
}

void set_window(Operator& op, const Window& window, Padding padding) {
  op.set("padding", static_cast<int64_t>(padding));
  const size_t count = window.size();
  const auto at = [&](const std::vector<int64_t>& sides, size_t from_end) {
    return count > from_end ? sides[count - 1 - from_end] : 1;
  };
  op.set("stride_h", at(window.stride, 1));
  op.set("stride_w", at(window.stride, 0));
  if (count == 3) op.set("stride_d", window.stride[0]);
  const bool dilates = std::ranges::any_of(window.dilation, [](int64_t side) { return side != 1; });
  if (!dilates) return;
  op.set("dilation_h_factor", at(window.dilation, 1));
  op.set("dilation_w_factor", at(window.dilation, 0));
  if (count == 3) op.set("dilation_d_factor", window.dilation[0]);
}

std::vector<int64_t> spatial(const Shape& nchw) {
  return nchw.size() < 2 ? std::vector<int64_t>{}
                         : std::vector<int64_t>(nchw.begin() + 2, nchw.end());
}

// The order of a filter's ONNX dimensions (out, in/groups, spatial...) in TFLite's.
DimOrder filter_order(size_t rank, bool depthwise, bool transposed) {
  if (rank == 5) return {2, 3, 4, 1, 0};  // depth, height, width, then in, out or out, in
  const DimOrder window = rank == 3 ? DimOrder{kNoDim, 2} : DimOrder{2, 3};
  const int32_t out = transposed ? 1 : 0, in = transposed ? 0 : 1;
  if (depthwise) return {in, window[0], window[1], out};
  return {out, window[0], window[1], in};
}

// A filter or bias of integers where the node is quantised.
Id bias_of(Call& call, const Val* bias, int64_t channels, Id weights, Id x) {
  if (bias == nullptr || !bias->exists()) return kNoTensor;
  if (!call.quantised()) return call.x(*bias, DimOrder{0});
  Val integers = *bias;
  integers.quant = nullptr;
  const bool stored = bias->is_constant() && bias->element == ElementType::kInt32;
  Id id = kNoTensor;
  if (stored) {
    id = call.net.stored(integers, DimOrder{0});
  } else {
    id = call.net.absent({DataType::kInt32, nullptr}, {channels});
  }
  Tensor& tensor = call.net.tensor(id);
  const Quantization& filter = call.net.tensor(weights).quantization;
  const Quantization& input = call.net.tensor(x).quantization;
  if (!filter.scale.empty() && !input.scale.empty() && tensor.quantization.scale.empty()) {
    std::vector<float> scales;
    for (const float scale : filter.scale) scales.push_back(scale * input.scale.front());
    Tensor& made = call.net.tensor(id);
    made.quantization.zero_point.assign(scales.size(), 0);
    made.quantization.scale = std::move(scales);
  }
  return id;
}

struct ConvInputs {
  const Val& x;
  const Val& weights;
  const Val* bias = nullptr;
};

Outcome convolve(Call& call, const ConvInputs& in) {
  const size_t rank = in.x.view.rank();
  if (rank < 3 || rank > 5 || in.weights.view.rank() != rank || !call.knows(0) ||
      call.out_shape().size() != rank)
    return std::vector<Val>{};
  const Shape image = in.x.view.shape(), filter = in.weights.view.shape(), out = call.out_shape();
  const int64_t groups = call.node.attr_int("group", 1);
  if (groups <= 0 || filter[1] <= 0 || image[1] != filter[1] * groups || filter[0] % groups != 0)
    return call.bad(fmt::format(
        "weights of shape [{}] in {} groups do not fit an input of shape [{}] ({} channels); if "
        "the shape was given, it may be meant in another order",
        fmt::join(filter, ","), groups, fmt::join(image, ","), image[1]));
  const std::vector<int64_t> sides = spatial(image), kernel = spatial(filter);
  const auto window = read_window(call, kernel, sides, spatial(out));
  if (!window) return std::vector<Val>{};
  Window positions = *window;
  std::vector<int64_t> flat_sides = sides;
  const bool depthwise = rank < 5 && groups > 1 && groups == image[1];
  const DimOrder order = image_order(rank);
  Id x = call.x(in.x, order);
  const ImagePadding padding = image_padding(positions, flat_sides);
  std::vector<int64_t> pads = padding.pads;
  if (rank == 3 && !pads.empty()) pads.insert(pads.begin() + 2, {0, 0});
  x = apply_pads(call, x, pads, OpKind::kPad, 0);
  Operator op;
  op.kind = rank == 5 ? OpKind::kConv3D : depthwise ? OpKind::kDepthwiseConv2D : OpKind::kConv2D;
  if (depthwise) op.set("depth_multiplier", filter[0] / image[1]);
  if (groups > 1 && !depthwise) op.version = 6;
  set_window(op, positions, padding.padding);
  op.set("fused_activation_function", int64_t{0});
  const Id weights = call.x(in.weights, filter_order(rank, depthwise, false));
  op.inputs = {x, weights, bias_of(call, in.bias, filter[0], weights, x)};
  const Id id = call.net.add(std::move(op), call.made(), View(out, order).stored_shape(order));
  return one(call.result(id, order));
}

Outcome conv(Call& call) {
  if (!call.has(0) || !call.has(1)) return std::vector<Val>{};
  return convolve(call, {call.in(0), call.in(1), call.has(2) ? &call.in(2) : nullptr});
}

Outcome fused_conv(Call& call) {
  EDGESAGE_ASSIGN_OR_RETURN(auto values, conv(call));
  if (!values.empty() && call.node.attr_string("activation", "") == "Relu")
    call.net.last().set("fused_activation_function", static_cast<int64_t>(Activation::kRelu));
  return values;
}

// Integers with their parameters as a real value that stands for them.
Val as_real(const Val& integers, Quant quant) {
  Val value = integers;
  value.element = ElementType::kFloat;
  value.quant = std::move(quant);
  return value;
}

// The output is the integers themselves, by ONNX's types.
std::vector<Val> as_integers(Call& call, std::vector<Val> values, const QuantParameters& y) {
  Tensor& made = call.net.tensor(values.front().tensor);
  made.type = y.type;
  made.quantization = quantization_of(y, 0);
  values.front().quant = nullptr;
  return values;
}

Outcome qlinear_conv(Call& call) {
  if (call.count() < 8) return std::vector<Val>{};
  const auto quant = [&](size_t scale, int64_t axis) {
    Quant made = make_quant(call.in(scale), &call.in(scale + 1), axis, DataType::kUInt8);
    return made != nullptr ? made : nominal_quant(call.in(scale + 1));
  };
  const Quant x = quant(1, 1), w = quant(4, 0), y = quant(6, 1);
  call.quantise(y);
  const Val input = as_real(call.in(0), x), weights = as_real(call.in(3), w);
  Tensor* tensor = input.is_constant() ? nullptr : &call.net.tensor(input.tensor);
  if (tensor != nullptr && tensor->quantization.empty())
    tensor->quantization = quantization_of(*x, 0);
  EDGESAGE_ASSIGN_OR_RETURN(auto values,
                            convolve(call, {input, weights, call.has(8) ? &call.in(8) : nullptr}));
  if (values.empty()) return values;
  return as_integers(call, std::move(values), *y);
}

Outcome conv_integer(Call& call) {
  if (!call.has(0) || !call.has(1)) return std::vector<Val>{};
  const bool dynamic = call.in(0).role == Val::Role::kDynamic;
  EDGESAGE_ASSIGN_OR_RETURN(auto values, convolve(call, {call.in(0), call.in(1), nullptr}));
  if (values.empty() || !dynamic) return values;
  call.net.tensor(values.front().tensor).type = DataType::kFloat32;
  values.front().role = Val::Role::kDynamicSum;
  return values;
}

// A transposed convolution gives (in - 1) * stride + reach elements; pads cut, output padding adds.
Outcome conv_transpose(Call& call) {
  if (!call.has(0) || !call.has(1)) return std::vector<Val>{};
  const size_t rank = call.rank(0);
  if (rank < 3 || rank > 5 || call.rank(1) != rank || !call.knows(0)) return std::vector<Val>{};
  const Shape image = call.shape(0), filter = call.shape(1), out = call.out_shape();
  if (image[1] != filter[0])
    return call.bad(fmt::format("weights of shape [{}] do not fit the {} channels of the input",
                                fmt::join(filter, ","), image[1]));
  const std::vector<int64_t> sides = spatial(image), kernel = spatial(filter);
  const auto window = read_window(call, kernel, sides, spatial(out));
  if (!window) return std::vector<Val>{};
  const size_t count = window->size();
  std::vector<int64_t> whole, cut(count, 0);
  bool all_same = true;
  const std::string_view automatic = call.node.attr_string("auto_pad", "NOTSET");
  for (size_t i = 0; i < count; ++i) {
    whole.push_back((sides[i] - 1) * window->stride[i] + window->reach(i));
    const int64_t surplus = std::max<int64_t>(0, whole[i] - window->out[i]);
    cut[i] = automatic == "NOTSET" || automatic == "VALID" ? std::min(surplus, window->before[i])
             : automatic == "SAME_UPPER"                   ? surplus / 2
                                                           : surplus - surplus / 2;
    const int64_t same = sides[i] * window->stride[i];
    all_same =
        all_same && window->out[i] == same && std::max<int64_t>(0, whole[i] - same) / 2 == cut[i];
  }
  const bool all_valid = whole == window->out;
  const DimOrder order = image_order(rank);
  const Shape wanted = View(out, order).stored_shape(order);
  Shape made = wanted;
  if (!all_same && !all_valid)
    for (size_t i = 0; i < count; ++i) made[made.size() - 1 - count + i] = whole[i];
  Operator op;
  op.kind = rank == 5 ? OpKind::kConv3DTranspose : OpKind::kTransposeConv;
  set_window(op, *window, all_same && !all_valid ? Padding::kSame : Padding::kValid);
  const Id x = call.x(0, order);
  const Id weights = call.x(call.in(1), filter_order(rank, false, true));
  op.inputs = {call.net.ints(made), weights, x};
  const Id bias = bias_of(call, call.has(2) ? &call.in(2) : nullptr, out[1], weights, x);
  if (bias != kNoTensor) op.inputs.push_back(bias);
  Id id = call.net.add(std::move(op), call.made(), made);
  if (made != wanted) {
    std::vector<int64_t> begin(made.size(), 0), pads(2 * made.size(), 0);
    Shape size = made;
    for (size_t i = 0; i < count; ++i) {
      const size_t d = made.size() - 1 - count + i;
      begin[d] = std::min(cut[i], made[d] - 1);
      size[d] = std::min(wanted[d], made[d] - begin[d]);
      pads[2 * d + 1] = wanted[d] - size[d];
    }
    id = call.net.pad(call.net.slice(id, begin, size), pads);
  }
  return one(call.result(id, order));
}

// The input is known not to be negative, so that padding by 0 never wins over it.
bool is_activated(Call& call) {
  const Val& in = call.in(0);
  if (in.made_by < 0) return false;
  const Operator& op = call.net.subgraph().operators[static_cast<size_t>(in.made_by)];
  const int64_t fused = op.attr_int("fused_activation_function", 0);
  return fused == static_cast<int64_t>(Activation::kRelu) ||
         fused == static_cast<int64_t>(Activation::kRelu6) || op.kind == OpKind::kRelu ||
         op.kind == OpKind::kRelu6;
}

Outcome pool(Call& call, OpKind kind) {
  const size_t rank = call.has(0) ? call.rank(0) : 0;
  // Volumes have no pooling among the built-in operators.
  if ((rank != 3 && rank != 4) || !call.knows(0) || call.wants(1)) return std::vector<Val>{};
  const Shape image = call.shape(0), out = call.out_shape();
  if (out.size() != rank) return std::vector<Val>{};
  const std::vector<int64_t> sides = spatial(image);
  const auto window = read_window(call, call.node.attr_ints("kernel_shape"), sides, spatial(out));
  if (!window) return std::vector<Val>{};
  const DimOrder order = image_order(rank);
  // Maxima are values of the input: whatever its integers stand for, they stay.
  const bool keeps = kind == OpKind::kMaxPool2D && call.in(0).quant != nullptr;
  Id x = keeps ? call.net.stored(call.in(0), order) : call.x(0, order);
  ImagePadding padding = image_padding(*window, sides);
  const bool average = kind != OpKind::kMaxPool2D;
  if (average && padding.padding == Padding::kSame &&
      call.node.attr_int("count_include_pad", 0) != 0) {
    Window apart = *window;
    padding = {Padding::kValid, std::vector<int64_t>(2 * rank, 0)};
    for (size_t i = 0; i < apart.size(); ++i) {
      padding.pads[2 * (i + 1)] = apart.before[i];
      padding.pads[2 * (i + 1) + 1] = std::max<int64_t>(
          0, (apart.out[i] - 1) * apart.stride[i] + apart.reach(i) - sides[i] - apart.before[i]);
    }
  }
  const bool zeros = average || is_activated(call);
  if (rank == 3 && !padding.pads.empty()) padding.pads.insert(padding.pads.begin() + 2, {0, 0});
  x = apply_pads(call, x, padding.pads, zeros ? OpKind::kPad : OpKind::kPadv2,
                 std::numeric_limits<float>::lowest());
  Operator op;
  op.kind = kind;
  op.inputs = {x};
  set_window(op, *window, padding.padding);
  op.set("filter_height", rank == 4 ? window->kernel[0] : 1);
  op.set("filter_width", window->kernel.back());
  op.set("fused_activation_function", int64_t{0});
  const Made made = keeps ? call.net.made_of(x) : call.made();
  const Id id = call.net.add(std::move(op), made, View(out, order).stored_shape(order));
  if (keeps) return one(call.moved(id, View(out, order), call.in(0)));
  return one(call.result(id, order));
}

Outcome max_pool(Call& call) { return pool(call, OpKind::kMaxPool2D); }
Outcome average_pool(Call& call) { return pool(call, OpKind::kAveragePool2D); }
Outcome lp_pool(Call& call) {
  return call.node.attr_int("p", 2) == 2 ? pool(call, OpKind::kL2Pool2D)
                                         : Outcome(std::vector<Val>{});
}

Outcome global_pool(Call& call, OpKind kind) {
  const size_t rank = call.has(0) ? call.rank(0) : 0;
  if (rank < 3) return std::vector<Val>{};
  const DimOrder order = image_order(rank);
  const Id x = call.x(0, order);
  std::vector<int64_t> axes;
  for (size_t d = 1; d + 1 < order.size(); ++d) axes.push_back(static_cast<int64_t>(d));
  const Id id = call.net.reduce(kind, x, axes, true, call.made());
  Shape out = call.shape(0);
  std::fill(out.begin() + 2, out.end(), 1);
  return one(call.result(id, View(out, order)));
}

Outcome global_average(Call& call) { return global_pool(call, OpKind::kMean); }
Outcome global_max(Call& call) { return global_pool(call, OpKind::kReduceMax); }

// QLinearAveragePool and QLinearGlobalAveragePool: input, scale, zero, output scale, zero.
template <bool global>
Outcome qlinear_pool(Call& call) {
  if (call.count() < 5 || call.node.attr_int("channels_last", 0) != 0) return std::vector<Val>{};
  const Quant y = make_quant(call.in(3), &call.in(4), 1, DataType::kUInt8);
  if (y == nullptr) return std::vector<Val>{};
  call.quantise(y);
  EDGESAGE_ASSIGN_OR_RETURN(auto values, global ? global_average(call) : average_pool(call));
  if (values.empty()) return values;
  return as_integers(call, std::move(values), *y);
}

constexpr std::array kRules{
    NamedRule{"Conv", conv},
    NamedRule{"FusedConv", fused_conv},
    NamedRule{"QLinearConv", qlinear_conv},
    NamedRule{"ConvInteger", conv_integer},
    NamedRule{"ConvTranspose", conv_transpose},
    NamedRule{"MaxPool", max_pool},
    NamedRule{"AveragePool", average_pool},
    NamedRule{"LpPool", lp_pool},
    NamedRule{"GlobalAveragePool", global_average},
    NamedRule{"GlobalMaxPool", global_max},
    NamedRule{"QLinearAveragePool", qlinear_pool<false>},
    NamedRule{"QLinearGlobalAveragePool", qlinear_pool<true>},
};

}  // namespace

WindowPadding window_padding(int64_t in, int64_t out, int64_t reach, int64_t stride,
                             int64_t before) {
  // What the windows really touch: pads behind the last one do not count.
  const int64_t used = (out - 1) * stride + reach;
  const int64_t same_total = std::max<int64_t>(0, used - in);
  if (before == 0 && used <= in) {
    // Both may hold; VALID where the number of positions is that of VALID.
    return {Padding::kValid, 0, 0};
  }
  if (out == (in + stride - 1) / stride && before == same_total / 2) return {Padding::kSame, 0, 0};
  return {Padding::kValid, before, std::max<int64_t>(0, used - in - before)};
}

std::span<const NamedRule> window_rules() { return kRules; }

}  // namespace edgesage::onnx::convert
