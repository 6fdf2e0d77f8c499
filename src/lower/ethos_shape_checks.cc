#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "src/lower/ethos_checks.h"
#include "src/lower/operator_shapes.h"

namespace edgesage::ethos {
namespace {

constexpr int64_t kPaddingValid = 1;

struct Stride {
  int64_t h = 1, w = 1;
};

Stride stride_of(const Operator& op) {
  return {op.attr_int("stride_h", 1), op.attr_int("stride_w", 1)};
}

std::string stride_text(const Stride& stride, std::string_view rule) {
  return fmt::format("stride {}x{} {}", stride.h, stride.w, rule);
}

Shape4 input_shape(const OperatorView& view) {
  const Tensor* tensor = input_tensor(view.subgraph, view.op, operand_roles(view.op).ifm);
  return tensor != nullptr ? to_shape4(*tensor) : Shape4{};
}

Shape4 output_shape(const OperatorView& view) {
  const Tensor* tensor = output_tensor(view.subgraph, view.op, 0);
  return tensor != nullptr ? to_shape4(*tensor) : Shape4{};
}

std::string resize_scale_on_u55(const OperatorView& view, bool bilinear) {
  const Shape4 in = input_shape(view), out = output_shape(view);
  if ((in.h == 1 && in.w == 1) || in == out) return {};
  const int64_t corner = view.op.attr_int("align_corners", 0) != 0 ? 1 : 0;
  const bool half_pixel = view.op.attr_int("half_pixel_centers", 0) != 0;
  const double h = static_cast<double>(out.h - corner) / static_cast<double>(in.h - corner);
  const double w = static_cast<double>(out.w - corner) / static_cast<double>(in.w - corner);
  const bool flat_h = out.h == 1 && in.h == 1, flat_w = out.w == 1 && in.w == 1;
  if (h != w && !flat_h && !flat_w) return fmt::format("scales {:g}x{:g} differ", h, w);
  const double scale = flat_h ? w : h;
  if (bilinear && half_pixel && scale != 2)
    return fmt::format("scale {:g} with half pixel centers; 2 is allowed", scale);
  if (scale != 2 && scale != 4 && scale != 8)
    return fmt::format("scale {:g}; 2, 4 and 8 are allowed", scale);
  return {};
}

std::string resize_scale_on_u85(const OperatorView& view, bool power_of_two) {
  const Shape4 in = input_shape(view), out = output_shape(view);
  const bool corners = view.op.attr_int("align_corners", 0) != 0;
  if (corners && view.op.attr_int("half_pixel_centers", 0) != 0)
    return "align corners and half pixel centers exclude each other";
  const int64_t limit = corners ? 2048 : 1024;
  const int64_t shift = corners ? 1 : 0;
  for (const auto& [from, to] : {std::pair{in.h, out.h}, std::pair{in.w, out.w}}) {
    if (from == 1 || from == to) continue;
    const double scale = static_cast<double>(to - shift) / static_cast<double>(from - shift);
    if (scale > static_cast<double>(limit))
      return fmt::format("scale {:g} is above {}", scale, limit);
    if (power_of_two && std::exp2(std::round(std::log2(std::max(scale, 1e-9)))) != scale)
      return fmt::format("scale {:g} is not a power of two", scale);
  }
  return {};
}

}  // namespace

std::string narrow_stride(const OperatorView& view) {
  const Stride stride = stride_of(view.op);
  if (view.is_u85) return {};
  return std::max(stride.h, stride.w) > 3 ? stride_text(stride, "is above 3") : "";
}

std::string wide_stride(const OperatorView& view) {
  const Stride stride = stride_of(view.op);
  if (view.is_u85 || std::max(stride.h, stride.w) <= 3) return {};
  Row row;
  fill_geometry(view.graph, view.subgraph, view.op, row);
  const bool padded = row.pad_top + row.pad_bottom + row.pad_left + row.pad_right > 0;
  const bool dilated = row.dilation_h > 1 || row.dilation_w > 1;
  if (!padded && !dilated) return {};
  return stride_text(
      stride, padded ? "is above 3 and the input is padded" : "is above 3 and the kernel dilated");
}

std::string average_pool_kernel(const OperatorView& view) {
  const int64_t h = view.op.attr_int("filter_height", 1), w = view.op.attr_int("filter_width", 1);
  if (view.op.attr_int("padding", 0) == kPaddingValid) return max_pool_kernel(view);
  if (h > 8 || w > 8) return fmt::format("kernel {}x{} with SAME padding is above 8x8", h, w);
  return {};
}

std::string max_pool_kernel(const OperatorView& view) {
  const int64_t h = view.op.attr_int("filter_height", 1), w = view.op.attr_int("filter_width", 1);
  if (h > 256 ||
      saturating_product(std::array{std::max<int64_t>(h, 0), std::max<int64_t>(w, 0)}) > 65536)
    return fmt::format("kernel {}x{} is above 256 high or 65536 elements", h, w);
  return {};
}

std::string mean_shape(const OperatorView& view) {
  const Tensor* input = input_tensor(view.subgraph, view.op, 0);
  if (input == nullptr) return "the input is missing";
  const int64_t limit = input->type == DataType::kInt8    ? 16777216
                        : input->type == DataType::kUInt8 ? 8388608
                        : input->type == DataType::kInt16 ? 65536
                                                          : 0;
  if (limit == 0)
    return fmt::format("{} input; int8, uint8 or int16 are allowed", type_name(input->type));
  const auto axes = reduction_axes(view.graph, view.subgraph, view.op);
  if (!axes) return "the axes are not constant";
  const Shape4 shape = to_shape4(*input);
  if (shape.n != 1) return fmt::format("batch {}; 1 is allowed", shape.n);
  int64_t elements = 1;
  const auto rank = static_cast<int64_t>(input->shape.size());
  for (const int64_t axis : *axes) {
    const int64_t size = input->shape[static_cast<size_t>(axis)];
    if (size >= 4096) return fmt::format("reduced axis of {} is not below 4096", size);
    elements *= std::max<int64_t>(size, 1);
    if (axis == rank - 1 && shape.h != 1 && shape.w != 1 && shape.c != 1)
      return "reduction over depth needs a height, width or depth of 1";
  }
  if (elements > limit) return fmt::format("{} reduced elements are above {}", elements, limit);
  return {};
}

std::string arg_max_shape(const OperatorView& view) {
  if (view.is_u85) return {};
  const Tensor* input = input_tensor(view.subgraph, view.op, 0);
  const auto axes = reduction_axes(view.graph, view.subgraph, view.op);
  if (input == nullptr || !axes || axes->size() != 1) return "the axis is not a constant";
  if (axes->front() + 1 != static_cast<int64_t>(input->shape.size()))
    return "the axis is not the depth";
  if (input->shape.back() > 127) return fmt::format("depth {} is above 127", input->shape.back());
  return {};
}

std::string mat_mul_operands(const OperatorView& view) {
  if (view.is_u85) return {};
  const Tensor* input = input_tensor(view.subgraph, view.op, 0);
  if (input != nullptr && input->type != DataType::kInt8)
    return fmt::format("{} input; int8 is allowed", type_name(input->type));
  const Shape4 in = input_shape(view), out = output_shape(view);
  if (in.c > 65536 || out.c > 65536) return "a matrix is wider than 65536";
  return {};
}

std::string fully_connected_weights(const OperatorView& view) {
  const Tensor* weights = input_tensor(view.subgraph, view.op, 1);
  if (weights == nullptr) return "the weights are missing";
  for (size_t i = 1; i + 1 < weights->shape.size(); ++i)
    if (weights->shape[i] != 1) return "the weights are not a matrix";
  return {};
}

std::string transpose_conv_stride(const OperatorView& view) {
  const Stride stride = stride_of(view.op);
  const Shape4 in = input_shape(view), out = output_shape(view);
  const Tensor* weights = input_tensor(view.subgraph, view.op, 1);
  const Shape4 kernel = weights != nullptr ? to_shape4(*weights) : Shape4{};
  const bool valid = view.op.attr_int("padding", 0) == kPaddingValid;
  const int64_t extra_h = valid ? std::max<int64_t>(kernel.h - stride.h, 0) : 0;
  const int64_t extra_w = valid ? std::max<int64_t>(kernel.w - stride.w, 0) : 0;
  if (out.h != in.h * stride.h + extra_h || out.w != in.w * stride.w + extra_w)
    return fmt::format("output {}x{} is not the input times the stride", out.h, out.w);
  if (view.is_u85) return {};
  const bool square = stride.h == stride.w && (stride.w == 1 || stride.w == 2);
  const bool flat = (stride.w == 2 && stride.h == 1 && in.h == 1 && kernel.h == 1) ||
                    (stride.w == 1 && stride.h == 2 && in.w == 1 && kernel.w == 1);
  return square || flat ? "" : stride_text(stride, "is not 1x1 or 2x2");
}

std::string resize_bilinear_scale(const OperatorView& view) {
  return view.is_u85 ? resize_scale_on_u85(view, true) : resize_scale_on_u55(view, true);
}

std::string resize_nearest_scale(const OperatorView& view) {
  return view.is_u85 ? resize_scale_on_u85(view, false) : resize_scale_on_u55(view, false);
}

std::string softmax_shape(const OperatorView& view) {
  const Shape4 in = input_shape(view);
  if (saturating_product(std::array{in.h, in.w}) > 65536)
    return fmt::format("height x width of {}x{} is above 65536", in.h, in.w);
  return {};
}

std::string transpose_shape(const OperatorView& view) {
  const Tensor* input = input_tensor(view.subgraph, view.op, 0);
  if (input == nullptr) return "the input is missing";
  if (input->shape.size() > 8) return fmt::format("rank {} is above 8", input->shape.size());
  if (!view.is_u85 && input->type == DataType::kInt32 && input->shape.size() > 4)
    return fmt::format("int32 of rank {} is above 4", input->shape.size());
  return {};
}

std::string slice_strides(const OperatorView& view) {
  const Tensor* strides = input_tensor(view.subgraph, view.op, 3);
  const auto values = strides != nullptr ? constant_ints(view.graph, *strides) : std::nullopt;
  if (!values) return {};
  for (const int64_t stride : *values)
    if (stride < 0) return fmt::format("stride {} is negative", stride);
  return {};
}

std::string no_reverse_on_u55(const OperatorView& view) {
  return view.is_u85 ? "" : "REVERSE_V2 is supported on Ethos-U85 only";
}

std::string lstm_variant(const OperatorView& view) {
  const Operator& op = view.op;
  const auto given = [&op](size_t i) { return i < op.inputs.size() && op.inputs[i] >= 0; };
  for (size_t i = 1; i <= 8; ++i)
    if (!given(i)) return "a gate has no weights";
  for (size_t i = 9; i <= 11; ++i)
    if (given(i)) return "peephole connections";
  if (given(16) || given(17)) return "projection";
  for (size_t i = 20; i <= 23; ++i)
    if (given(i)) return "gate normalization";
  return {};
}

std::string gather_axis(const OperatorView& view) {
  const int64_t axis = view.op.attr_int("axis", 0), batch = view.op.attr_int("batch_dims", 0);
  if (axis == batch) return {};
  return fmt::format("axis {} is not batch_dims {}", axis, batch);
}

std::string scatter_operands(const OperatorView& view) {
  const Tensor* indices = input_tensor(view.subgraph, view.op, 0);
  const Tensor* shape = input_tensor(view.subgraph, view.op, 2);
  if (indices == nullptr || !indices->is_constant()) return "the indices are not constant";
  if (shape == nullptr || !shape->is_constant()) return "the shape is not constant";
  if (indices->shape.empty() || indices->shape.back() != 1) return "indices of more than one axis";
  return {};
}

std::string parameters_are_constant(const OperatorView& view) {
  for (size_t i = 1; i < view.op.inputs.size(); ++i) {
    const Tensor* tensor = input_tensor(view.subgraph, view.op, i);
    if (tensor != nullptr && !tensor->is_constant()) return "its parameters are not constant";
  }
  return {};
}

}  // namespace edgesage::ethos
