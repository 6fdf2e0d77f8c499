// Elements picked, placed, sorted and counted by index.
#include "src/io/onnx/shapes_rules.h"

namespace edgesage::onnx {
namespace {

void fold_gathered(NodeContext& node, size_t axis, const Shape& shape) {
  const FoldedPtr data = node.data(0);
  const FoldedPtr indices = node.data(1);
  const auto dims = small_dims(shape);
  if (data == nullptr || indices == nullptr || !dims || !is_integer(indices->element)) return;
  Folded folded;
  folded.element = data->element;
  folded.dims = *dims;
  const auto size = static_cast<size_t>(data->dims[axis]);
  size_t inner = 1;
  for (size_t k = axis + 1; k < data->dims.size(); ++k) inner *= static_cast<size_t>(data->dims[k]);
  const size_t outer = *small_count(std::span(*dims).first(axis));
  for (size_t k = 0; k < outer; ++k) {
    for (const Scalar& index : indices->elements) {
      const auto at = index.known ? at_axis(index.i, size) : std::nullopt;
      if (index.known && !at)
        return node.fail("index " + std::to_string(index.i) + " of " + std::to_string(size));
      for (size_t e = 0; e < inner; ++e)
        folded.elements.push_back(at ? data->elements[(k * size + *at) * inner + e] : Scalar{});
    }
  }
  node.fold(0, std::move(folded));
}

void gather(NodeContext& node) {
  const ElementType element = node.element(0);
  node.set_element(0, element);
  const Shape* input = node.shape(0);
  const Shape* indices = node.shape(1);
  if (input == nullptr || indices == nullptr) return;
  const int64_t given = node.node().attr_int("axis", 0);
  const auto axis = at_axis(given, input->size());
  if (!axis) return node.fail("axis " + std::to_string(given) + " of " + text(*input));
  const auto middle = input->begin() + static_cast<std::ptrdiff_t>(*axis);
  Shape result(input->begin(), middle);
  result.insert(result.end(), indices->begin(), indices->end());
  result.insert(result.end(), middle + 1, input->end());
  node.set(0, element, result);
  fold_gathered(node, *axis, result);
}

void gather_elements(NodeContext& node) { shape_like(node, 0, node.element(0), 1); }

void gather_nd(NodeContext& node) {
  const ElementType element = node.element(0);
  node.set_element(0, element);
  const Shape* input = node.shape(0);
  const Shape* indices = node.shape(1);
  if (input == nullptr || indices == nullptr || indices->empty()) return;
  const Dimension& depth = indices->back();
  const int64_t batch = node.node().attr_int("batch_dims", 0);
  if (!depth.known()) return;
  const auto rank = std::ssize(*input);
  if (batch < 0 || batch > rank || depth.value > rank - batch)
    return node.fail("indices of shape " + text(*indices) + " into " + text(*input));
  Shape result(indices->begin(), indices->end() - 1);
  result.insert(result.end(), input->begin() + batch + depth.value, input->end());
  node.set(0, element, std::move(result));
}

void one_hot(NodeContext& node) {
  const ElementType element = node.element(2);
  node.set_element(0, element);
  const Shape* indices = node.shape(0);
  if (indices == nullptr) return;
  const int64_t given = node.node().attr_int("axis", -1);
  const auto axis = at_axis(given, indices->size() + 1);
  if (!axis) return node.fail("axis " + std::to_string(given) + " for " + text(*indices));
  const auto depth = node.real(1);
  Shape result = *indices;
  result.insert(
      result.begin() + static_cast<std::ptrdiff_t>(*axis),
      depth && *depth >= 0 && *depth < 9e15 ? number(static_cast<int64_t>(*depth)) : Dimension{});
  node.set(0, element, std::move(result));
}

// The number of elements kept: an attribute in version 1, an input since 10.
void top_k(NodeContext& node) {
  node.set_element(0, node.element(0));
  node.set_element(1, ElementType::kInt64);
  const Shape* input = node.shape(0);
  if (input == nullptr) return;
  const int64_t given = node.node().attr_int("axis", -1);
  const auto axis = at_axis(given, input->size());
  if (!axis) return node.fail("axis " + std::to_string(given) + " of " + text(*input));
  Dimension count;
  if (node.since() < 10 && node.node().find("k") != nullptr) {
    count = number(node.node().attr_int("k", -1));
  } else if (const auto k = node.integer(1)) {
    count = number(*k);
  }
  Shape result = *input;
  if (count.known() && result[*axis].known() && count.value > result[*axis].value)
    return node.fail("k of " + text(count) + " in " + text(*input));
  result[*axis] = count;
  node.set(0, node.element(0), result);
  node.set(1, ElementType::kInt64, std::move(result));
}

void non_zero(NodeContext& node) {
  const Shape* input = node.shape(0);
  node.set(0, ElementType::kInt64, open_shape(2));
  if (input == nullptr) return;
  const auto rank = std::ssize(*input);
  const FoldedPtr data = node.data(0);
  if (data == nullptr || !data->complete() || data->dims.size() != 1)
    return node.set(0, ElementType::kInt64, {number(rank), Dimension{}});
  Folded folded;
  for (size_t k = 0; k < data->elements.size(); ++k) {
    const Scalar& scalar = data->elements[k];
    if (is_real(data->element) ? scalar.f != 0 : scalar.i != 0)
      folded.elements.push_back(known_integer(static_cast<int64_t>(k)));
  }
  folded.dims = {1, std::ssize(folded.elements)};
  node.fold(0, std::move(folded));
}

void unique(NodeContext& node) {
  for (size_t o = 1; o < 4; ++o) node.set(o, ElementType::kInt64, open_shape(1));
  const Attribute* attribute = node.node().find("axis");
  const Shape* input = node.shape(0);
  node.set_element(0, node.element(0));
  if (attribute == nullptr) return node.set(0, node.element(0), open_shape(1));
  if (input == nullptr) return;
  const auto axis = at_axis(attribute->i, input->size());
  if (!axis) return node.fail("axis " + std::to_string(attribute->i) + " of " + text(*input));
  Shape result = *input;
  result[*axis] = {};
  node.set(0, node.element(0), std::move(result));
}

void non_max_suppression(NodeContext& node) {
  node.set(0, ElementType::kInt64, {Dimension{}, number(3)});
}

constexpr RuleRow kRows[] = {
    {"Gather", gather},        {"GatherElements", gather_elements},
    {"GatherND", gather_nd},   {"NonMaxSuppression", non_max_suppression},
    {"NonZero", non_zero},     {"OneHot", one_hot},
    {"Scatter", like_first},   {"ScatterElements", like_first},
    {"ScatterND", like_first}, {"TensorScatter", like_first},
    {"TopK", top_k},           {"Unique", unique},
};

}  // namespace

RuleRows index_rules() { return kRows; }

}  // namespace edgesage::onnx
