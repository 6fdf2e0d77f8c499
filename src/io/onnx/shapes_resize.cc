// Resampling: Resize, Upsample, GridSample, AffineGrid.
#include <algorithm>
#include <cmath>

#include "src/io/onnx/shapes_rules.h"

namespace edgesage::onnx {
namespace {

// In single precision, as the runtimes compute it: 3 * 1.6666666 rounded down.
Dimension scaled(const Dimension& size, double scale) {
  if (scale == 1) return size;
  if (!size.known()) return {};
  const double result = std::floor(static_cast<float>(size.value) * static_cast<float>(scale));
  return result >= 0 && result < 9e15 ? number(static_cast<int64_t>(result)) : Dimension{};
}

std::optional<std::vector<double>> reals(const NodeContext& node, size_t input) {
  const FoldedPtr data = node.data(input);
  if (data == nullptr || !data->complete() || !is_real(data->element)) return std::nullopt;
  std::vector<double> values;
  for (const Scalar& scalar : data->elements) values.push_back(scalar.f);
  return values;
}

void scale_all(NodeContext& node, const Shape& input, const std::vector<double>& scales,
               std::span<const int64_t> axes) {
  if (scales.size() != axes.size())
    return node.fail(std::to_string(scales.size()) + " scales for " + std::to_string(axes.size()) +
                     " axes");
  Shape result = input;
  for (size_t k = 0; k < axes.size(); ++k) {
    const auto axis = at_axis(axes[k], input.size());
    if (!axis) return node.fail("axis " + std::to_string(axes[k]) + " of " + text(input));
    result[*axis] = scaled(input[*axis], scales[k]);
  }
  node.set(0, node.element(0), std::move(result));
}

// keep_aspect_ratio_policy: one factor for all axes, the smallest or the largest.
std::optional<Shape> keep_ratio(const Shape& input, const Shape& sizes,
                                std::span<const int64_t> axes, bool smallest) {
  float factor = 0;
  for (size_t k = 0; k < axes.size(); ++k) {
    const Dimension& from = input[*at_axis(axes[k], input.size())];
    if (!from.known() || from.value == 0 || !sizes[k].known()) return std::nullopt;
    const float own = static_cast<float>(sizes[k].value) / static_cast<float>(from.value);
    factor = k == 0 ? own : smallest ? std::min(factor, own) : std::max(factor, own);
  }
  Shape result;
  for (const int64_t axis : axes) {
    const Dimension& from = input[*at_axis(axis, input.size())];
    result.push_back(number(std::lround(factor * static_cast<float>(from.value))));
  }
  return result;
}

void size_all(NodeContext& node, const Shape& input, Shape sizes, std::span<const int64_t> axes) {
  if (sizes.size() != axes.size())
    return node.fail(std::to_string(sizes.size()) + " sizes for " + std::to_string(axes.size()) +
                     " axes");
  for (const int64_t axis : axes)
    if (!at_axis(axis, input.size()))
      return node.fail("axis " + std::to_string(axis) + " of " + text(input));
  const std::string_view policy = node.node().attr_string("keep_aspect_ratio_policy", "stretch");
  if (policy != "stretch") {
    const auto kept = keep_ratio(input, sizes, axes, policy == "not_larger");
    sizes = kept ? *kept : open_shape(sizes.size());
  }
  Shape result = input;
  for (size_t k = 0; k < axes.size(); ++k) result[*at_axis(axes[k], input.size())] = sizes[k];
  node.set(0, node.element(0), std::move(result));
}

// Version 10: X, scales. Since 11: X, roi, scales, sizes.
void resize(NodeContext& node) {
  const ElementType element = node.element(0);
  node.set_element(0, element);
  const Shape* input = node.shape(0);
  if (input == nullptr) return;
  node.set(0, element, open_shape(input->size()));
  std::vector<int64_t> axes = all_axes(input->size());
  if (const Attribute* given = node.node().find("axes")) axes = given->ints;
  const bool old = node.since() < 11;
  // An empty list of scales means that the sizes are given.
  if (!old && node.has_input(3)) {
    auto sizes = sizes_as_shape(node, 3);
    if (node.failed()) return;
    if (sizes && !sizes->empty()) return size_all(node, *input, std::move(*sizes), axes);
  }
  // A cut-out of the input is scaled: its size depends on the numbers in roi.
  if (node.node().attr_string("coordinate_transformation_mode", "") == "tf_crop_and_resize") return;
  const auto scales = reals(node, old ? 1 : 2);
  if (scales && !scales->empty()) scale_all(node, *input, *scales, axes);
}

// Version 1: width_scale and height_scale of NCHW; 7: scales as an attribute; 9: as an input.
void upsample(NodeContext& node) {
  const ElementType element = node.element(0);
  node.set_element(0, element);
  const Shape* input = node.shape(0);
  if (input == nullptr) return;
  node.set(0, element, open_shape(input->size()));
  std::vector<int64_t> axes = all_axes(input->size());
  if (const Attribute* attribute = node.node().find("scales"))
    return scale_all(node, *input, attribute->floats, axes);
  if (node.node().find("height_scale") != nullptr) {
    if (input->size() != 4) return node.fail("an input of shape " + text(*input) + ", not NCHW");
    return scale_all(
        node, *input,
        {1, 1, node.node().attr_float("height_scale", 1), node.node().attr_float("width_scale", 1)},
        axes);
  }
  const auto scales = reals(node, 1);
  if (scales) scale_all(node, *input, *scales, axes);
}

void grid_sample(NodeContext& node) {
  const ElementType element = node.element(0);
  node.set_element(0, element);
  const Shape* input = node.shape(0);
  const Shape* grid = node.shape(1);
  if (input == nullptr || input->size() < 2) return;
  Shape result = open_shape(input->size());
  result[0] = (*input)[0];
  result[1] = (*input)[1];
  if (grid != nullptr) {
    if (grid->size() != input->size())
      return node.fail("a grid of shape " + text(*grid) + " for " + text(*input));
    std::copy(grid->begin() + 1, grid->end() - 1, result.begin() + 2);
  }
  node.set(0, element, std::move(result));
}

// Sizes are [N, C, H, W] or [N, C, D, H, W]; the grid has a coordinate for each spatial axis.
void affine_grid(NodeContext& node) {
  const ElementType element = node.element(0);
  node.set_element(0, element);
  const auto sizes = sizes_as_shape(node, 1);
  if (!sizes || sizes->size() < 3) return;
  Shape result = {(*sizes)[0]};
  result.insert(result.end(), sizes->begin() + 2, sizes->end());
  result.push_back(number(std::ssize(*sizes) - 2));
  node.set(0, element, std::move(result));
}

constexpr RuleRow kRows[] = {
    {"AffineGrid", affine_grid},
    {"GridSample", grid_sample},
    {"Resize", resize},
    {"Upsample", upsample},
};

}  // namespace

RuleRows resize_rules() { return kRows; }

}  // namespace edgesage::onnx
