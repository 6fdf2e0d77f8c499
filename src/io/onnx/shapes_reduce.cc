// Reductions over axes, and losses.
#include <algorithm>

#include "src/io/onnx/shapes_fold.h"
#include "src/io/onnx/shapes_rules.h"

namespace edgesage::onnx {
namespace {

struct Axes {
  bool all = false;
  bool none = false;  // noop_with_empty_axes
  bool known = true;
  std::vector<int64_t> list;
};

Axes axes_of(const NodeContext& node, int64_t input_since) {
  Axes axes;
  if (node.since() >= input_since) {
    if (node.has_input(1)) {
      const auto given = node.ints(1);
      axes.known = given.has_value();
      if (given) axes.list = *given;
      const Shape* shape = node.shape(1);
      if (!given && shape != nullptr && shape->size() == 1 && (*shape)[0].value == 0)
        axes.known = true;
    }
    if (axes.known && axes.list.empty() && node.node().attr_int("noop_with_empty_axes", 0) == 1)
      axes.none = true;
  } else {
    const auto given = node.node().attr_ints("axes");
    axes.list.assign(given.begin(), given.end());
  }
  axes.all = axes.known && axes.list.empty() && !axes.none;
  return axes;
}

void reduce_shape(NodeContext& node, const Axes& axes, ElementType element) {
  node.set_element(0, element);
  const Shape* shape = node.shape(0);
  if (shape == nullptr) {
    if (axes.all && node.node().attr_int("keepdims", 1) != 1) node.set(0, element, {});
    return;
  }
  const bool keep = node.node().attr_int("keepdims", 1) == 1;
  if (!axes.known) {
    if (keep) node.set(0, element, open_shape(shape->size()));
    return;
  }
  const auto every = axes.all ? all_axes(shape->size()) : axes.list;
  auto result = reduced(node, *shape, every, keep);
  if (result) node.set(0, element, std::move(*result));
}

using Binary = Scalar (*)(ElementType, const Scalar&, const Scalar&);

// Folds a vector or scalar to its one number.
void fold_vector(NodeContext& node, const Axes& axes, Binary function) {
  const FoldedPtr data = node.data(0);
  if (data == nullptr || data->dims.size() > 1 || data->elements.empty() || axes.none ||
      !axes.known || node.failed())
    return;
  Folded folded;
  folded.element = data->element;
  if (data->dims.size() == 1 && node.node().attr_int("keepdims", 1) == 1) folded.dims = {1};
  Scalar result = data->elements[0];
  for (size_t k = 1; k < data->elements.size(); ++k)
    result = function(data->element, result, data->elements[k]);
  folded.elements = {result};
  node.fold(0, std::move(folded));
}

template <int64_t kInputSince>
void reduce(NodeContext& node) {
  reduce_shape(node, axes_of(node, kInputSince), node.element(0));
}

template <int64_t kInputSince, Binary kFunction>
void reduce_fold(NodeContext& node) {
  const Axes axes = axes_of(node, kInputSince);
  reduce_shape(node, axes, node.element(0));
  fold_vector(node, axes, kFunction);
}

void arg(NodeContext& node) {
  Axes axes;
  axes.list = {node.node().attr_int("axis", 0)};
  reduce_shape(node, axes, ElementType::kInt64);
}

// Of one number for each sample, or of all of them together.
void likelihood_loss(NodeContext& node) {
  const ElementType element = node.element(0);
  node.set_element(0, element);
  if (node.node().attr_string("reduction", "mean") != "none") return node.set(0, element, {});
  if (const Shape* target = node.shape(1)) return node.set(0, element, *target);
  const Shape* scores = node.shape(0);
  if (scores == nullptr || scores->size() < 2) return;
  Shape result = *scores;
  result.erase(result.begin() + 1);
  node.set(0, element, std::move(result));
}

void cross_entropy(NodeContext& node) {
  likelihood_loss(node);
  same_type_as(node, 1, 0);
}

constexpr RuleRow kRows[] = {
    {"ArgMax", arg},
    {"ArgMin", arg},
    {"NegativeLogLikelihoodLoss", likelihood_loss},
    {"ReduceL1", reduce<18>},
    {"ReduceL2", reduce<18>},
    {"ReduceLogSum", reduce<18>},
    {"ReduceLogSumExp", reduce<18>},
    {"ReduceMax", reduce_fold<18, larger>},
    {"ReduceMean", reduce<18>},
    {"ReduceMin", reduce_fold<18, smaller>},
    {"ReduceProd", reduce_fold<18, multiply>},
    {"ReduceSum", reduce_fold<13, add>},
    {"ReduceSumSquare", reduce<18>},
    {"SoftmaxCrossEntropyLoss", cross_entropy},
};

}  // namespace

RuleRows reduction_rules() { return kRows; }

std::optional<Shape> reduced(NodeContext& node, const Shape& shape, std::span<const int64_t> axes,
                             bool keep) {
  std::vector<bool> gone(shape.size(), false);
  for (const int64_t axis : axes) {
    const auto at = at_axis(axis, shape.size());
    if (!at) {
      node.fail("axis " + std::to_string(axis) + " of " + text(shape));
      return std::nullopt;
    }
    gone[*at] = true;
  }
  Shape result;
  for (size_t k = 0; k < shape.size(); ++k)
    if (!gone[k] || keep) result.push_back(gone[k] ? number(1) : shape[k]);
  return result;
}

}  // namespace edgesage::onnx
