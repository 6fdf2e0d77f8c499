// Convolutions, pooling and what slides a window otherwise.
#include <algorithm>

#include "src/io/onnx/shapes_rules.h"

namespace edgesage::onnx {
namespace {

enum class Padding : uint8_t { kGiven, kSame, kNone };

struct Window {
  std::vector<Dimension> kernel;
  std::vector<int64_t> strides, dilations, pads;  // pads: all begins, then all ends
  Padding padding = Padding::kGiven;
};

Padding padding_of(const Node& node) {
  const std::string_view text = node.attr_string("auto_pad", "NOTSET");
  if (text == "VALID") return Padding::kNone;
  return text == "SAME_UPPER" || text == "SAME_LOWER" ? Padding::kSame : Padding::kGiven;
}

// Sums of a few such numbers cannot overflow.
constexpr int64_t kMost = int64_t{1} << 40;

bool fill(NodeContext& node, std::string_view name, size_t count, int64_t otherwise, bool positive,
          std::vector<int64_t>& values) {
  const auto given = node.node().attr_ints(name);
  values.assign(given.begin(), given.end());
  if (values.empty()) values.assign(count, otherwise);
  if (values.size() != count) {
    node.fail(std::string(name) + " has " + std::to_string(values.size()) + " numbers, not " +
              std::to_string(count));
    return false;
  }
  if (positive && std::ranges::any_of(values, [](int64_t value) { return value < 1; })) {
    node.fail(std::string(name) + " holds a number below 1");
    return false;
  }
  if (std::ranges::any_of(values, [](int64_t value) { return value < -kMost || value > kMost; })) {
    node.fail(std::string(name) + " holds a number beyond 2^40");
    return false;
  }
  return true;
}

// The attributes, for `rank` spatial dimensions. `weights`: the shape that has the kernel's sizes
// from its dimension 2 on, where kernel_shape is absent; may be null.
std::optional<Window> window_of(NodeContext& node, size_t rank, const Shape* weights) {
  Window window;
  window.padding = padding_of(node.node());
  if (!fill(node, "strides", rank, 1, true, window.strides) ||
      !fill(node, "dilations", rank, 1, true, window.dilations) ||
      !fill(node, "pads", 2 * rank, 0, false, window.pads))
    return std::nullopt;
  if (window.padding != Padding::kGiven) window.pads.assign(2 * rank, 0);
  const auto given = node.node().attr_ints("kernel_shape");
  if (!given.empty()) {
    window.kernel = shape_of(given);
  } else if (weights != nullptr && weights->size() >= 2) {
    window.kernel.assign(weights->begin() + 2, weights->end());
  } else {
    window.kernel.resize(rank);
  }
  if (window.kernel.size() != rank) {
    node.fail("a kernel of " + std::to_string(window.kernel.size()) + " dimensions over " +
              std::to_string(rank));
    return std::nullopt;
  }
  if (std::ranges::any_of(window.kernel, [](const Dimension& size) { return size.value == 0; })) {
    node.fail("a kernel of size 0");
    return std::nullopt;
  }
  return window;
}

// Span of a dilated kernel.
Dimension span_of(const Window& window, size_t axis) {
  const Dimension& kernel = window.kernel[axis];
  if (!kernel.known()) return {};
  return number(kernel.value - 1) * number(window.dilations[axis]) + number(1);
}

// How many positions a window has; unknown where a part is, fail() where there is none.
Dimension positions(NodeContext& node, const Window& window, size_t axis, const Dimension& size,
                    bool round_up) {
  const int64_t stride = window.strides[axis];
  if (!size.known() || size.value > kMost) return {};
  if (window.padding == Padding::kSame) return number((size.value + stride - 1) / stride);
  const Dimension span = span_of(window, axis);
  if (!span.known() || span.value > kMost) return {};
  const size_t rank = window.kernel.size();
  const int64_t room = size.value + window.pads[axis] + window.pads[axis + rank] - span.value;
  if (room < 0) {
    node.fail("a window of " + std::to_string(span.value) + " does not fit into " +
              std::to_string(size.value) + " with its padding");
    return {};
  }
  int64_t count = room / stride + 1;
  // A last window that is cut off counts, unless it would begin in the padding at the end.
  if (round_up && room % stride != 0 && count * stride < size.value + window.pads[axis]) ++count;
  return number(count);
}

bool check_rank(NodeContext& node, const Shape& shape, size_t least) {
  if (shape.size() >= least) return true;
  node.fail("an input of shape " + text(shape) + ", not of at least " + std::to_string(least) +
            " dimensions");
  return false;
}

// Of com.microsoft: NhwcConv, and others by an attribute.
bool channels_last(const NodeContext& node) {
  return node.node().domain == "com.microsoft" &&
         (node.node().op_type.starts_with("Nhwc") || node.node().attr_int("channels_last", 0) != 0);
}

Shape channels_first(Shape shape, bool last) {
  if (last && shape.size() > 2) std::rotate(shape.begin() + 1, shape.end() - 1, shape.end());
  return shape;
}

Shape channels_back(Shape shape, bool last) {
  if (last && shape.size() > 2) std::rotate(shape.begin() + 1, shape.begin() + 2, shape.end());
  return shape;
}

void conv(NodeContext& node) { convolution(node, 0, 1, node.element(0)); }
void conv_integer(NodeContext& node) { convolution(node, 0, 1, ElementType::kInt32); }
void qlinear_conv(NodeContext& node) { convolution(node, 0, 3, node.element(7)); }
void deform_conv(NodeContext& node) { convolution(node, 0, 1, node.element(0)); }

void conv_transpose(NodeContext& node) {
  const ElementType element = node.element(0);
  node.set_element(0, element);
  const Shape* input = node.shape(0);
  const Shape* weights = node.shape(1);
  if (input == nullptr || weights == nullptr) return;
  if (!check_rank(node, *input, 2) || !check_rank(node, *weights, 2)) return;
  const size_t rank = input->size() - 2;
  const auto window = window_of(node, rank, weights);
  std::vector<int64_t> more;
  if (!window || !fill(node, "output_padding", rank, 0, false, more)) return;
  Shape result = {(*input)[0], (*weights)[1] * number(node.node().attr_int("group", 1))};
  const auto given = node.node().attr_ints("output_shape");
  if (!given.empty() && given.size() != rank) return node.fail("output_shape has another rank");
  for (size_t k = 0; k < rank; ++k) {
    const Dimension& size = (*input)[k + 2];
    const Dimension span = span_of(*window, k);
    if (!given.empty()) {
      result.push_back(number(given[k]));
    } else if (!size.known() || !span.known() || size.value == 0) {
      result.emplace_back();
    } else {
      const Dimension full =
          number(size.value - 1) * number(window->strides[k]) + span + number(more[k]);
      // Padding on both sides cuts away what goes beyond the size times the stride.
      const Dimension same = size * number(window->strides[k]);
      int64_t cut = window->pads[k] + window->pads[k + rank];
      if (window->padding == Padding::kSame && full.known() && same.known())
        cut = std::max<int64_t>(full.value - same.value, 0);
      if (full.known() && full.value < cut) return node.fail("padding cuts away all of the output");
      result.push_back(full.known() ? number(full.value - cut) : Dimension{});
    }
  }
  node.set(0, element, std::move(result));
}

void max_or_average_pool(NodeContext& node) {
  pooling(node, 0, node.element(0));
  if (node.wants_output(1)) pooling(node, 1, ElementType::kInt64);
}

void max_unpool(NodeContext& node) {
  const ElementType element = node.element(0);
  node.set_element(0, element);
  const Shape* input = node.shape(0);
  if (node.has_input(2)) {
    auto sizes = sizes_as_shape(node, 2);
    if (sizes) node.set(0, element, std::move(*sizes));
    return;
  }
  if (input == nullptr || !check_rank(node, *input, 2)) return;
  const size_t rank = input->size() - 2;
  const auto window = window_of(node, rank, nullptr);
  if (!window) return;
  Shape result = {(*input)[0], (*input)[1]};
  for (size_t k = 0; k < rank; ++k) {
    const Dimension& size = (*input)[k + 2];
    const Dimension span = span_of(*window, k);
    const int64_t cut = window->pads[k] + window->pads[k + rank];
    Dimension full;
    if (size.value > 0) full = number(size.value - 1) * number(window->strides[k]) + span;
    result.push_back(full.known() && full.value >= cut ? number(full.value - cut) : Dimension{});
  }
  node.set(0, element, std::move(result));
}

void max_roi_pool(NodeContext& node) {
  const auto pooled = node.node().attr_ints("pooled_shape");
  const Shape* input = node.shape(0);
  const Shape* rois = node.shape(1);
  Shape result = {rois != nullptr && !rois->empty() ? (*rois)[0] : Dimension{},
                  input != nullptr && input->size() > 1 ? (*input)[1] : Dimension{}};
  for (const int64_t size : pooled) result.push_back(number(size));
  node.set(0, node.element(0), std::move(result));
}

void roi_align(NodeContext& node) {
  const Shape* input = node.shape(0);
  const Shape* rois = node.shape(1);
  const Shape* indices = node.shape(2);
  Dimension count;
  if (rois != nullptr && !rois->empty()) count = (*rois)[0];
  if (indices != nullptr && !indices->empty()) count = either(count, (*indices)[0]);
  node.set(0, node.element(0),
           {count, input != nullptr && input->size() > 1 ? (*input)[1] : Dimension{},
            number(node.node().attr_int("output_height", 1)),
            number(node.node().attr_int("output_width", 1))});
}

void col2im(NodeContext& node) {
  const ElementType element = node.element(0);
  node.set_element(0, element);
  const auto image = sizes_as_shape(node, 1);
  const auto block = sizes_as_shape(node, 2);
  const Shape* input = node.shape(0);
  if (!image) return;
  Shape result = {Dimension{}, Dimension{}};
  if (input != nullptr && input->size() == 3 && block)
    result = {(*input)[0], (*input)[1] / product(*block, 0, block->size())};
  result.insert(result.end(), image->begin(), image->end());
  node.set(0, element, std::move(result));
}

constexpr RuleRow kRows[] = {
    {"AveragePool", max_or_average_pool},
    {"Col2Im", col2im},
    {"Conv", conv},
    {"ConvInteger", conv_integer},
    {"ConvTranspose", conv_transpose},
    {"DeformConv", deform_conv},
    {"GlobalAveragePool", global_pooling},
    {"GlobalLpPool", global_pooling},
    {"GlobalMaxPool", global_pooling},
    {"LpPool", max_or_average_pool},
    {"MaxPool", max_or_average_pool},
    {"MaxRoiPool", max_roi_pool},
    {"MaxUnpool", max_unpool},
    {"QLinearConv", qlinear_conv},
    {"RoiAlign", roi_align},
};

}  // namespace

RuleRows window_rules() { return kRows; }

void convolution(NodeContext& node, size_t input_at, size_t weights_at, ElementType element) {
  node.set_element(0, element);
  const Shape* weights = node.shape(weights_at);
  if (node.shape(input_at) == nullptr) return;
  const bool last = channels_last(node);
  const Shape input = channels_first(*node.shape(input_at), last);
  if (!check_rank(node, input, 2)) return;
  if (weights != nullptr && weights->size() != input.size())
    return node.fail("weights of shape " + text(*weights) + " on an input of shape " + text(input));
  const size_t rank = input.size() - 2;
  const auto window = window_of(node, rank, weights);
  if (!window) return;
  Shape result = {input[0], weights != nullptr ? (*weights)[0] : Dimension{}};
  for (size_t k = 0; k < rank && !node.failed(); ++k)
    result.push_back(positions(node, *window, k, input[k + 2], false));
  node.set(0, element, channels_back(std::move(result), last));
}

void pooling(NodeContext& node, size_t output, ElementType element) {
  node.set_element(output, element);
  if (node.shape(0) == nullptr) return;
  const bool last = channels_last(node);
  const Shape input = channels_first(*node.shape(0), last);
  if (!check_rank(node, input, 2)) return;
  const size_t rank = input.size() - 2;
  const auto window = window_of(node, rank, nullptr);
  if (!window) return;
  const bool round_up = node.node().attr_int("ceil_mode", 0) == 1;
  Shape result = {input[0], input[1]};
  for (size_t k = 0; k < rank && !node.failed(); ++k)
    result.push_back(positions(node, *window, k, input[k + 2], round_up));
  node.set(output, element, channels_back(std::move(result), last));
}

void global_pooling(NodeContext& node) {
  const ElementType element = node.element(0);
  node.set_element(0, element);
  const Shape* input = node.shape(0);
  if (input == nullptr || !check_rank(node, *input, 2)) return;
  Shape result = *input;
  std::fill(result.begin() + 2, result.end(), number(1));
  node.set(0, element, std::move(result));
}

}  // namespace edgesage::onnx
