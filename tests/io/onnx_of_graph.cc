#include "tests/io/onnx_of_graph.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "src/graph/op_registry.h"
#include "src/graph/shape_inference.h"
#include "tests/io/onnx_test_support.h"

namespace edgesage::test {
namespace {

using onnx::ElementType;
using Order = std::vector<int64_t>;

template <class T>
std::vector<T> values_of(std::span<const std::byte> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

template <class T>
std::string raw_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

Shape reordered(const Shape& shape, const Order& order) {
  Shape result;
  for (const int64_t d : order) result.push_back(shape[static_cast<size_t>(d)]);
  return result;
}

// Elements such that result dimension i is source dimension order[i].
std::string transposed(std::span<const std::byte> bytes, const Shape& shape, const Order& order,
                       size_t width) {
  const Shape target = reordered(shape, order);
  std::vector<int64_t> stride(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) stride[i - 1] = stride[i] * shape[i];
  std::string result(bytes.size(), '\0');
  std::vector<int64_t> index(target.size(), 0);
  for (size_t at = 0; at + width <= bytes.size(); at += width) {
    int64_t from = 0;
    for (size_t d = 0; d < index.size(); ++d)
      from += index[d] * stride[static_cast<size_t>(order[d])];
    std::memcpy(result.data() + at, bytes.data() + static_cast<size_t>(from) * width, width);
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < target[d]) break;
      index[d] = 0;
    }
  }
  return result;
}

constexpr std::string_view kFused = "fused_activation_function";
const Order kToImage{0, 3, 1, 2}, kToRows{0, 2, 3, 1};

class Writer {
 public:
  explicit Writer(const Graph& graph)
      : graph_(graph), net_(graph.main()), out_("network"), flattened_(net_.tensors.size()) {}

  std::vector<std::byte> run() {
    for (const int32_t input : net_.inputs) {
      const Tensor& tensor = at(input);
      const std::string name = fmt::format("t{}", input);
      out_.input(name, element(tensor), dims(image_shape(tensor)));
      enter(input, name);
    }
    for (const Operator& op : net_.operators) write(op);
    for (const int32_t output : net_.outputs) {
      const bool image = at(output).shape.size() == 4;
      out_.output(raw(output, image), element(at(output)),
                  dims(image ? image_shape(at(output)) : at(output).shape));
    }
    return OnnxModel(out_).opset("", 17).bytes();
  }

 private:
  const Tensor& at(int32_t x) const { return net_.tensors[static_cast<size_t>(x)]; }
  static bool is_int8(const Tensor& tensor) { return tensor.type == DataType::kInt8; }
  static ElementType element(const Tensor& tensor) {
    switch (tensor.type) {
      case DataType::kInt8:
        return ElementType::kInt8;
      case DataType::kInt32:
        return ElementType::kInt32;
      case DataType::kInt64:
        return ElementType::kInt64;
      default:
        return ElementType::kFloat;
    }
  }
  static OnnxDims dims(const Shape& shape) { return {shape.begin(), shape.end()}; }
  static Shape image_shape(const Tensor& tensor) {
    return tensor.shape.size() == 4 ? reordered(tensor.shape, kToImage) : tensor.shape;
  }
  std::string fresh() { return fmt::format("v{}", count_++); }

  std::string node(std::string_view op, const OnnxNames& inputs,
                   const std::vector<OnnxAttribute>& attributes = {}) {
    const std::string name = fresh();
    out_.node(op, inputs, {name}, attributes);
    return name;
  }
  std::string int64s(const std::vector<int64_t>& values) {
    const std::string name = fresh();
    out_.initializer(onnx_int64s(name, {static_cast<int64_t>(values.size())}, values));
    return name;
  }
  std::string floats(const Shape& shape, const std::vector<float>& values) {
    const std::string name = fresh();
    out_.initializer(onnx_floats(name, shape, values));
    return name;
  }
  // Scale and zero point of a tensor; a list where there are several.
  std::pair<std::string, std::string> parameters(const Quantization& quantization,
                                                 ElementType type) {
    const auto count = static_cast<int64_t>(quantization.scale.size());
    const Shape shape = count == 1 ? Shape{} : Shape{count};
    const std::string zero = fresh();
    std::vector<int32_t> zeros(quantization.zero_point.begin(), quantization.zero_point.end());
    out_.initializer(onnx_int32s(zero, type, shape, zeros));
    return {floats(shape, quantization.scale), zero};
  }

  // An activation in both forms, as far as they are made: integers or reals, image or rows.
  void enter(int32_t x, const std::string& name) { raw_[{x, at(x).shape.size() == 4}] = name; }
  void enter_rows(int32_t x, const std::string& name) { raw_[{x, false}] = name; }
  std::string raw(int32_t x, bool image) {
    std::string& name = raw_[{x, image}];
    if (name.empty())
      name = node("Transpose", {raw_.at({x, !image})}, {attr("perm", image ? kToImage : kToRows)});
    return name;
  }
  // What nodes read: reals.
  std::string real(int32_t x, bool image) {
    if (!is_int8(at(x))) return raw(x, image);
    std::string& name = real_[{x, image}];
    if (name.empty()) {
      const auto [scale, zero] = parameters(at(x).quantization, ElementType::kInt8);
      name = node("DequantizeLinear", {raw(x, image), scale, zero});
    }
    return name;
  }
  std::string image(int32_t x) { return real(x, at(x).shape.size() == 4); }
  std::string rows(int32_t x) { return real(x, false); }

  // A constant in another order, as reals.
  std::string constant(int32_t x, const Shape& shape, const std::string& bytes, int64_t axis) {
    const Tensor& tensor = at(x);
    const std::string name = fresh();
    out_.initializer(onnx_raw(name, element(tensor), shape, bytes));
    if (tensor.type == DataType::kFloat32) return name;
    const auto [scale, zero] = parameters(tensor.quantization, element(tensor));
    if (tensor.quantization.scale.size() == 1) return node("DequantizeLinear", {name, scale, zero});
    return node("DequantizeLinear", {name, scale, zero}, {attr("axis", axis)});
  }
  std::string filter(int32_t x, const Order& order, int64_t axis) {
    const Tensor& tensor = at(x);
    const size_t width = is_int8(tensor) ? 1 : 4;
    return constant(x, reordered(tensor.shape, order),
                    transposed(graph_.constant(tensor), tensor.shape, order, width), axis);
  }
  std::string vector_of(int32_t x, const Shape& shape) {
    const auto bytes = graph_.constant(at(x));
    return constant(x, shape, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, 0);
  }

  // The result of an operator: its activation, then integers.
  void finish(const Operator& op, std::string name, bool is_image) {
    const int32_t x = op.outputs[0];
    switch (op.attr_int(kFused, 0)) {
      case 1:
        name = node("Relu", {name});
        break;
      case 2:
        name = node("Clip", {name, floats({}, {-1}), floats({}, {1})});
        break;
      case 3:
        name = node("Clip", {name, floats({}, {0}), floats({}, {6})});
        break;
      default:
        break;
    }
    store(x, name, is_image);
  }
  void store(int32_t x, std::string name, bool is_image) {
    if (is_int8(at(x))) {
      const auto [scale, zero] = parameters(at(x).quantization, ElementType::kInt8);
      name = node("QuantizeLinear", {name, scale, zero});
    }
    raw_[{x, is_image}] = name;
  }

  // top, left, bottom, right of TFLite's SAME.
  Order pads(const Operator& op, const Shape& in, const Shape& out, int64_t kernel_h,
             int64_t kernel_w) const {
    if (op.attr_int("padding", 0) != 0) return {0, 0, 0, 0};
    const auto total = [&](size_t d, int64_t kernel, const char* stride, const char* dilation) {
      const int64_t reach = (kernel - 1) * op.attr_int(dilation, 1) + 1;
      return std::max<int64_t>(0, (out[d] - 1) * op.attr_int(stride, 1) + reach - in[d]);
    };
    const int64_t h = total(1, kernel_h, "stride_h", "dilation_h_factor");
    const int64_t w = total(2, kernel_w, "stride_w", "dilation_w_factor");
    return {h / 2, w / 2, h - h / 2, w - w / 2};
  }
  std::vector<OnnxAttribute> window(const Operator& op, const Order& padding, int64_t kernel_h,
                                    int64_t kernel_w) const {
    return {attr("kernel_shape", Order{kernel_h, kernel_w}), attr("pads", padding),
            attr("strides", Order{op.attr_int("stride_h", 1), op.attr_int("stride_w", 1)})};
  }

  void convolution(const Operator& op) {
    const bool depthwise = op.kind == OpKind::kDepthwiseConv2D;
    const Tensor& weights = at(op.inputs[1]);
    const Shape &in = at(op.inputs[0]).shape, &out = at(op.outputs[0]).shape;
    const int64_t h = weights.shape[1], w = weights.shape[2];
    auto attributes = window(op, pads(op, in, out, h, w), h, w);
    attributes.push_back(attr("dilations", Order{op.attr_int("dilation_h_factor", 1),
                                                 op.attr_int("dilation_w_factor", 1)}));
    attributes.push_back(attr("group", depthwise ? in[3] : in[3] / weights.shape[3]));
    OnnxNames names{image(op.inputs[0]),
                    filter(op.inputs[1], depthwise ? Order{3, 0, 1, 2} : kToImage, 0)};
    if (op.inputs.size() > 2 && op.inputs[2] >= 0)
      names.push_back(vector_of(op.inputs[2], at(op.inputs[2]).shape));
    finish(op, node("Conv", names, attributes), true);
  }

  void transpose_conv(const Operator& op) {
    const Tensor& weights = at(op.inputs[1]);
    const Shape &in = at(op.inputs[2]).shape, &out = at(op.outputs[0]).shape;
    const int64_t kernel = weights.shape[1], stride = op.attr_int("stride_h", 1);
    Order cut(4, 0), more(2, 0);
    for (size_t d = 0; d < 2; ++d) {
      const int64_t whole = (in[d + 1] - 1) * stride + kernel;
      const int64_t surplus = std::max<int64_t>(0, whole - out[d + 1]);
      cut[d] = surplus / 2;
      cut[d + 2] = surplus - surplus / 2;
      more[d] = std::max<int64_t>(0, out[d + 1] - whole);
    }
    auto attributes = window(op, cut, kernel, kernel);
    attributes.push_back(attr("output_padding", more));
    OnnxNames names{image(op.inputs[2]), filter(op.inputs[1], {3, 0, 1, 2}, 1)};
    if (op.inputs.size() > 3) names.push_back(vector_of(op.inputs[3], at(op.inputs[3]).shape));
    finish(op, node("ConvTranspose", names, attributes), true);
  }

  // Weights of a flattened image count their columns channel by channel in ONNX.
  std::string columns(int32_t weights, const Shape& flattened) {
    const Tensor& tensor = at(weights);
    const size_t width = is_int8(tensor) ? 1 : 4;
    const Shape apart{tensor.shape[0], flattened[1], flattened[2], flattened[3]};
    return constant(weights, tensor.shape,
                    transposed(graph_.constant(tensor), apart, kToImage, width), 0);
  }

  void fully_connected(const Operator& op) {
    const Shape flat = flattened_[static_cast<size_t>(op.inputs[0])];
    const std::string weights =
        flat.empty() ? filter(op.inputs[1], {0, 1}, 0) : columns(op.inputs[1], flat);
    OnnxNames names{rows(op.inputs[0]), weights};
    if (op.inputs.size() > 2 && op.inputs[2] >= 0)
      names.push_back(vector_of(op.inputs[2], at(op.inputs[2]).shape));
    EXPECT_EQ(at(op.inputs[0]).shape.size(), 2U) << "rows are written as a Gemm";
    finish(op, node("Gemm", names, {attr("transB", 1)}), false);
  }

  void pool(const Operator& op) {
    const int64_t h = op.attr_int("filter_height", 1), w = op.attr_int("filter_width", 1);
    const Order padding = pads(op, at(op.inputs[0]).shape, at(op.outputs[0]).shape, h, w);
    finish(op,
           node(op.kind == OpKind::kMaxPool2D ? "MaxPool" : "AveragePool", {image(op.inputs[0])},
                window(op, padding, h, w)),
           true);
  }

  // An operand of an addition or multiplication.
  std::string operand(int32_t x, bool is_image) {
    const Tensor& tensor = at(x);
    if (!tensor.is_constant()) return is_image ? image(x) : rows(x);
    if (tensor.shape.empty() || !is_image) return vector_of(x, tensor.shape);
    return vector_of(x, {tensor.shape.back(), 1, 1});
  }
  void binary(const Operator& op, std::string_view name) {
    const bool is_image = at(op.outputs[0]).shape.size() == 4;
    finish(op, node(name, {operand(op.inputs[0], is_image), operand(op.inputs[1], is_image)}),
           is_image);
  }
  void unary(const Operator& op, std::string_view name,
             const std::vector<OnnxAttribute>& attributes = {}) {
    const bool is_image = at(op.outputs[0]).shape.size() == 4;
    finish(op, node(name, {image(op.inputs[0])}, attributes), is_image);
  }

  void mean(const Operator& op) {
    const bool keep = op.attr_int("keep_dims", 0) != 0;
    EXPECT_EQ(constant_ints(graph_, at(op.inputs[1])), (Order{1, 2}));
    const std::string x = image(op.inputs[0]);
    finish(op,
           keep ? node("GlobalAveragePool", {x})
                : node("ReduceMean", {x}, {attr("axes", Order{2, 3}), attr("keepdims", 0)}),
           keep);
  }

  void reshape(const Operator& op) {
    const Tensor &in = at(op.inputs[0]), &out = at(op.outputs[0]);
    if (in.shape.size() == 4 && out.shape.size() == 2) {  // for what a dense layer reads
      flattened_[static_cast<size_t>(op.outputs[0])] = in.shape;
      return finish(op, node("Flatten", {image(op.inputs[0])}), false);
    }
    const bool vector_to_image =
        out.shape.size() == 4 && in.shape.size() == 2 && out.shape[1] * out.shape[2] == 1;
    const Shape target = vector_to_image ? image_shape(out) : out.shape;
    finish(op, node("Reshape", {rows(op.inputs[0]), int64s(target)}), vector_to_image);
  }

  void transpose(const Operator& op) {
    const auto order = constant_ints(graph_, at(op.inputs[1]));
    finish(op, node("Transpose", {rows(op.inputs[0])}, {attr("perm", *order)}), false);
  }

  void pad(const Operator& op) {
    const auto amounts = *constant_ints(graph_, at(op.inputs[1]));
    const bool is_image = at(op.inputs[0]).shape.size() == 4;
    Order before, after;
    for (size_t d = 0; d < at(op.inputs[0]).shape.size(); ++d) {
      const auto from = is_image ? static_cast<size_t>(kToImage[d]) : d;
      before.push_back(amounts[2 * from]);
      after.push_back(amounts[2 * from + 1]);
    }
    before.insert(before.end(), after.begin(), after.end());
    finish(op, node("Pad", {image(op.inputs[0]), int64s(before)}), is_image);
  }

  void concatenation(const Operator& op) {
    const bool is_image = at(op.outputs[0]).shape.size() == 4;
    OnnxNames names;
    for (const int32_t x : op.inputs) names.push_back(image(x));
    const int64_t axis = op.attr_int("axis", 0);
    const int64_t moved = is_image ? Order{0, 2, 3, 1}[static_cast<size_t>(axis)] : axis;
    finish(op, node("Concat", names, {attr("axis", moved)}), is_image);
  }

  void split(const Operator& op) {
    OnnxNames names;
    for (size_t i = 0; i < op.outputs.size(); ++i) names.push_back(fresh());
    out_.node("Split", {image(op.inputs[1])}, names, {attr("axis", 1)});
    for (size_t i = 0; i < names.size(); ++i) store(op.outputs[i], names[i], true);
  }

  void resize(const Operator& op) {
    const bool nearest = op.kind == OpKind::kResizeNearestNeighbor;
    const char* where = op.attr_int("align_corners", 0) != 0        ? "align_corners"
                        : op.attr_int("half_pixel_centers", 0) != 0 ? "half_pixel"
                                                                    : "asymmetric";
    std::vector<OnnxAttribute> attributes{attr("mode", nearest ? "nearest" : "linear"),
                                          attr("coordinate_transformation_mode", where)};
    // TFLite rounds what it centres, and cuts what it does not.
    const bool plain = std::string_view(where) == "asymmetric";
    if (nearest) attributes.push_back(attr("nearest_mode", plain ? "floor" : "round_prefer_ceil"));
    finish(op,
           node("Resize", {image(op.inputs[0]), "", "", int64s(image_shape(at(op.outputs[0])))},
                attributes),
           true);
  }

  void arg_max(const Operator& op) {
    std::string name =
        node("ArgMax", {image(op.inputs[0])}, {attr("axis", 1), attr("keepdims", 0)});
    if (at(op.outputs[0]).type == DataType::kInt32) name = node("Cast", {name}, {attr("to", 6)});
    raw_[{op.outputs[0], false}] = name;
  }

  void write(const Operator& op) {
    switch (op.kind) {
      case OpKind::kConv2D:
      case OpKind::kDepthwiseConv2D:
        return convolution(op);
      case OpKind::kTransposeConv:
        return transpose_conv(op);
      case OpKind::kFullyConnected:
        return fully_connected(op);
      case OpKind::kAveragePool2D:
      case OpKind::kMaxPool2D:
        return pool(op);
      case OpKind::kAdd:
        return binary(op, "Add");
      case OpKind::kMul:
        return binary(op, "Mul");
      case OpKind::kMean:
        return mean(op);
      case OpKind::kReshape:
        return reshape(op);
      case OpKind::kTranspose:
        return transpose(op);
      case OpKind::kPad:
        return pad(op);
      case OpKind::kConcatenation:
        return concatenation(op);
      case OpKind::kSplit:
        return split(op);
      case OpKind::kDepthToSpace:
        return unary(op, "DepthToSpace",
                     {attr("blocksize", op.attr_int("block_size", 1)), attr("mode", "DCR")});
      case OpKind::kResizeBilinear:
      case OpKind::kResizeNearestNeighbor:
        return resize(op);
      case OpKind::kArgMax:
        return arg_max(op);
      case OpKind::kRelu:
        return unary(op, "Relu");
      case OpKind::kRelu6:
        return finish(op, node("Clip", {image(op.inputs[0]), floats({}, {0}), floats({}, {6})}),
                      at(op.outputs[0]).shape.size() == 4);
      case OpKind::kLeakyRelu:
        return unary(op, "LeakyRelu",
                     {attr("alpha", static_cast<float>(op.attr_float("alpha", 0)))});
      case OpKind::kPrelu:
        return finish(op, node("PRelu", {image(op.inputs[0]), operand(op.inputs[1], true)}), true);
      case OpKind::kLogistic:
        return unary(op, "Sigmoid");
      case OpKind::kHardSwish:
        return unary(op, "HardSwish");
      case OpKind::kSoftmax:
        return unary(op, "Softmax", {attr("axis", at(op.outputs[0]).shape.size() == 4 ? 1 : -1)});
      default:
        ADD_FAILURE() << "no ONNX is written for " << op_name(op.kind);
    }
  }

  const Graph& graph_;
  const Subgraph& net_;
  OnnxGraph out_;
  int count_ = 0;
  std::map<std::pair<int32_t, bool>, std::string> raw_, real_;
  std::vector<Shape> flattened_;  // of a flattened image, its shape before
};

}  // namespace

std::vector<std::byte> onnx_of_graph(const Graph& graph) { return Writer(graph).run(); }

Graph float_network(const Graph& graph) {
  Graph result = graph;
  for (Tensor& tensor : result.main().tensors) {
    const bool bias = tensor.type == DataType::kInt32 && !tensor.quantization.scale.empty();
    if (tensor.type != DataType::kInt8 && !bias) continue;
    const Quantization quantization = std::exchange(tensor.quantization, {});
    tensor.type = DataType::kFloat32;
    if (!tensor.is_constant()) continue;
    std::vector<double> stored;
    const auto bytes = graph.constant(tensor);
    if (bias)
      for (const int32_t value : values_of<int32_t>(bytes)) stored.push_back(value);
    else
      for (const int8_t value : values_of<int8_t>(bytes)) stored.push_back(value);
    size_t inner = 1;  // elements that lie behind the quantised dimension
    for (auto d = static_cast<size_t>(quantization.axis) + 1; d < tensor.shape.size(); ++d)
      inner *= static_cast<size_t>(tensor.shape[d]);
    std::vector<float> reals;
    for (size_t i = 0; i < stored.size(); ++i) {
      const size_t slice =
          quantization.scale.size() == 1 ? 0 : i / inner % quantization.scale.size();
      reals.push_back(
          static_cast<float>((stored[i] - static_cast<double>(quantization.zero_point[slice])) *
                             static_cast<double>(quantization.scale[slice])));
    }
    tensor.buffer = static_cast<int32_t>(result.buffers.size());
    result.buffers.push_back(make_buffer(std::as_bytes(std::span(reals))));
  }
  return result;
}

}  // namespace edgesage::test
