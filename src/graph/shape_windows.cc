#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <utility>

#include "src/graph/shape_rules.h"

namespace edgesage {

int64_t window_positions(int64_t size, int64_t kernel, int64_t stride, int64_t dilation,
                         int64_t padding) {
  if (stride <= 0 || kernel <= 0 || dilation <= 0) return 0;
  if (padding == 0) return (size + stride - 1) / stride;
  const int64_t reach = (kernel - 1) * dilation + 1;
  return size < reach ? 0 : (size - reach) / stride + 1;
}

namespace shape_rules {
namespace {

// Height and width after a window slides over an NHWC shape.
Result<Shape> slide(const Context& context, const Shape& input, int64_t kernel_h, int64_t kernel_w,
                    int64_t channels) {
  const Operator& op = context.op;
  const int64_t padding = op.attr_int("padding", 0);
  const int64_t height = window_positions(input[1], kernel_h, op.attr_int("stride_h", 0),
                                          op.attr_int("dilation_h_factor", 1), padding);
  const int64_t width = window_positions(input[2], kernel_w, op.attr_int("stride_w", 0),
                                         op.attr_int("dilation_w_factor", 1), padding);
  if (height <= 0 || width <= 0)
    return context.bad(fmt::format("a window of {}x{} with strides {}x{} does not fit [{}]",
                                   kernel_h, kernel_w, op.attr_int("stride_h", 0),
                                   op.attr_int("stride_w", 0), fmt::join(input, ",")));
  return Shape{input[0], height, width, channels};
}

}  // namespace

Shapes conv_2d(const Context& context) {
  EDGESAGE_ASSIGN_OR_RETURN(const Shape* input, context.shape(0, 4));
  EDGESAGE_ASSIGN_OR_RETURN(const Shape* filter, context.shape(1, 4));
  const int64_t depth = (*filter)[3];
  // A filter with fewer input channels is a grouped convolution.
  if (depth <= 0 || (*input)[3] % depth != 0 || (*filter)[0] % ((*input)[3] / depth) != 0)
    return context.bad(fmt::format("filter [{}] does not fit the {} channels of its input",
                                   fmt::join(*filter, ","), (*input)[3]));
  EDGESAGE_ASSIGN_OR_RETURN(Shape output,
                            slide(context, *input, (*filter)[1], (*filter)[2], (*filter)[0]));
  return std::vector<Shape>{std::move(output)};
}

Shapes depthwise_conv_2d(const Context& context) {
  EDGESAGE_ASSIGN_OR_RETURN(const Shape* input, context.shape(0, 4));
  EDGESAGE_ASSIGN_OR_RETURN(const Shape* filter, context.shape(1, 4));
  if ((*input)[3] <= 0 || (*filter)[3] % (*input)[3] != 0)
    return context.bad(fmt::format("filter [{}] is no multiple of the {} channels of its input",
                                   fmt::join(*filter, ","), (*input)[3]));
  EDGESAGE_ASSIGN_OR_RETURN(Shape output,
                            slide(context, *input, (*filter)[1], (*filter)[2], (*filter)[3]));
  return std::vector<Shape>{std::move(output)};
}

Shapes pool_2d(const Context& context) {
  EDGESAGE_ASSIGN_OR_RETURN(const Shape* input, context.shape(0, 4));
  EDGESAGE_ASSIGN_OR_RETURN(Shape output,
                            slide(context, *input, context.op.attr_int("filter_height", 0),
                                  context.op.attr_int("filter_width", 0), (*input)[3]));
  return std::vector<Shape>{std::move(output)};
}

// The target is the caller's; the window only has to exist.
Shapes transpose_conv(const Context& context) {
  EDGESAGE_ASSIGN_OR_RETURN(Shape output, context.values(0));
  EDGESAGE_ASSIGN_OR_RETURN(const Shape* filter, context.shape(1, 4));
  EDGESAGE_ASSIGN_OR_RETURN(const Shape* input, context.shape(2, 4));
  if (output.size() != 4 || output[0] != (*input)[0] || output[3] != (*filter)[0] ||
      (*filter)[3] != (*input)[3])
    return context.bad(fmt::format("filter [{}] does not lead from [{}] to [{}]",
                                   fmt::join(*filter, ","), fmt::join(*input, ","),
                                   fmt::join(output, ",")));
  EDGESAGE_ASSIGN_OR_RETURN(const Shape back,
                            slide(context, output, (*filter)[1], (*filter)[2], (*input)[3]));
  if (back != *input)
    return context.bad(fmt::format(
        "strides {}x{} do not lead from [{}] to [{}]", context.op.attr_int("stride_h", 0),
        context.op.attr_int("stride_w", 0), fmt::join(*input, ","), fmt::join(output, ",")));
  return std::vector<Shape>{std::move(output)};
}

Shapes depth_to_space(const Context& context) {
  EDGESAGE_ASSIGN_OR_RETURN(const Shape* input, context.shape(0, 4));
  const int64_t block = context.op.attr_int("block_size", 0);
  if (block <= 0 || block > std::numeric_limits<int16_t>::max() ||
      (*input)[3] % (block * block) != 0)
    return context.bad(
        fmt::format("{} channels are no multiple of a block of {}x{}", (*input)[3], block, block));
  return std::vector<Shape>{
      {(*input)[0], (*input)[1] * block, (*input)[2] * block, (*input)[3] / (block * block)}};
}

Shapes resize(const Context& context) {
  EDGESAGE_ASSIGN_OR_RETURN(const Shape* input, context.shape(0, 4));
  EDGESAGE_ASSIGN_OR_RETURN(const std::vector<int64_t> size, context.values(1));
  if (size.size() != 2 || size[0] <= 0 || size[1] <= 0)
    return context.bad(
        fmt::format("a target of [{}]; height and width are needed", fmt::join(size, ",")));
  return std::vector<Shape>{{(*input)[0], size[0], size[1], (*input)[3]}};
}

}  // namespace shape_rules
}  // namespace edgesage
