// Values that come from attributes or shapes alone.
#include <algorithm>
#include <cmath>

#include "src/io/onnx/shapes_rules.h"

namespace edgesage::onnx {
namespace {

Folded vector_of(ElementType element, std::vector<Scalar> elements, bool scalar) {
  Folded folded;
  folded.element = element;
  if (!scalar) folded.dims = {std::ssize(elements)};
  folded.elements = std::move(elements);
  return folded;
}

void constant_strings(NodeContext& node, std::vector<std::string_view> strings, bool scalar) {
  Constant constant;
  constant.element = ElementType::kString;
  if (!scalar) constant.dims = {std::ssize(strings)};
  constant.strings = std::move(strings);
  node.set_constant(0, std::move(constant));
}

void constant_numbers(NodeContext& node, ElementType element, std::vector<Scalar> elements,
                      bool scalar) {
  const Folded folded = vector_of(element, std::move(elements), scalar);
  if (std::ssize(folded.elements) <= kMaxFoldedElements) return node.fold(0, folded);
  node.set_constant(0, store(folded));
}

void constant(NodeContext& node) {
  for (const Attribute& attribute : node.node().attributes) {
    std::vector<Scalar> numbers;
    if ((attribute.name == "value" || attribute.name == "sparse_value") &&
        !attribute.tensors.empty())
      return node.set_constant(0, attribute.tensors[0]);
    if (attribute.name == "value_int")
      return constant_numbers(node, ElementType::kInt64, {known_integer(attribute.i)}, true);
    if (attribute.name == "value_float")
      return constant_numbers(node, ElementType::kFloat, {known_real(attribute.f)}, true);
    if (attribute.name == "value_string") return constant_strings(node, {attribute.s}, true);
    if (attribute.name == "value_strings") return constant_strings(node, attribute.strings, false);
    if (attribute.name == "value_ints") {
      std::ranges::transform(attribute.ints, std::back_inserter(numbers), known_integer);
      return constant_numbers(node, ElementType::kInt64, std::move(numbers), false);
    }
    if (attribute.name == "value_floats") {
      std::ranges::transform(attribute.floats, std::back_inserter(numbers), known_real);
      return constant_numbers(node, ElementType::kFloat, std::move(numbers), false);
    }
  }
  node.fail("no value");
}

void constant_of_shape(NodeContext& node) {
  ElementType element = ElementType::kFloat;
  Scalar value = known_real(0);
  const Attribute* attribute = node.node().find("value");
  if (attribute != nullptr && !attribute->tensors.empty()) {
    element = attribute->tensors[0].element;
    const FoldedPtr given = load(attribute->tensors[0]);
    value = given != nullptr && given->elements.size() == 1 ? given->elements[0] : Scalar{};
  }
  node.set_element(0, element);
  const auto shape = sizes_as_shape(node, 0);
  if (!shape) return;
  node.set(0, element, *shape);
  const auto dims = small_dims(*shape);
  if (!dims || !is_foldable(element)) return;
  Folded folded;
  folded.element = element;
  folded.dims = *dims;
  folded.elements.assign(*small_count(*dims), value);
  node.fold(0, std::move(folded));
}

void shape(NodeContext& node) {
  node.set_element(0, ElementType::kInt64);
  const Shape* input = node.shape(0);
  if (input == nullptr) return node.set(0, ElementType::kInt64, open_shape(1));
  const auto rank = std::ssize(*input);
  const auto clamp = [&](int64_t at) {
    return std::clamp(at < 0 ? at + rank : at, int64_t{0}, rank);
  };
  const int64_t begin = clamp(node.node().attr_int("start", 0));
  const int64_t end = clamp(node.node().attr_int("end", rank));
  std::vector<Scalar> sizes;
  for (int64_t k = begin; k < end; ++k)
    sizes.push_back(scalar_of((*input)[static_cast<size_t>(k)]));
  node.fold(0, vector_of(ElementType::kInt64, std::move(sizes), false));
}

void size(NodeContext& node) {
  node.set(0, ElementType::kInt64, {});
  const Shape* input = node.shape(0);
  if (input == nullptr) return;
  node.fold(0,
            vector_of(ElementType::kInt64, {scalar_of(product(*input, 0, input->size()))}, true));
}

Scalar range_element(ElementType element, const Scalar& start, const Scalar& step, int64_t at) {
  if (is_real(element)) return rounded(element, start.f + static_cast<double>(at) * step.f);
  return fitting(element, start.i + at * step.i);
}

// How many elements; nullopt where it is not known or does not fit.
std::optional<int64_t> range_count(ElementType element, const Scalar& start, const Scalar& limit,
                                   const Scalar& step) {
  if (!start.known || !limit.known || !step.known) return std::nullopt;
  double count = 0;
  if (is_real(element)) {
    count = std::ceil((limit.f - start.f) / step.f);
  } else {
    if (step.i == 0 || step.i == INT64_MIN) return std::nullopt;
    int64_t distance = 0;
    if (__builtin_sub_overflow(limit.i, start.i, &distance) || distance == INT64_MIN)
      return std::nullopt;
    if (distance == 0 || (distance < 0) != (step.i < 0)) return 0;
    return (std::abs(distance) - 1) / std::abs(step.i) + 1;
  }
  if (!(std::abs(count) < 9e15)) return std::nullopt;
  return count > 0 ? static_cast<int64_t>(count) : 0;
}

void range(NodeContext& node) {
  const ElementType element = node.element(0);
  node.set(0, element, open_shape(1));
  const FoldedPtr start = node.data(0);
  const FoldedPtr limit = node.data(1);
  const FoldedPtr step = node.data(2);
  if (start == nullptr || limit == nullptr || step == nullptr) return;
  if (start->elements.size() != 1 || limit->elements.size() != 1 || step->elements.size() != 1)
    return;
  const Scalar& first = start->elements[0];
  const Scalar& last = limit->elements[0];
  const Scalar& by = step->elements[0];
  const bool whole = is_integer(element) && first.known && first.i == 0 && by.known && by.i == 1;
  if (whole && !last.known) return node.set(0, element, {dimension_of(last)});
  const auto count = range_count(element, first, last, by);
  if (!count) return;
  node.set(0, element, {number(*count)});
  if (*count > kMaxFoldedElements) return;
  std::vector<Scalar> elements;
  for (int64_t k = 0; k < *count; ++k) elements.push_back(range_element(element, first, by, k));
  node.fold(0, vector_of(element, std::move(elements), false));
}

void eye_like(NodeContext& node) {
  shape_like(node, 0, element_attribute(node, "dtype", node.element(0)), 0);
}

Shape shape_attribute(const NodeContext& node) { return shape_of(node.node().attr_ints("shape")); }

void random(NodeContext& node) {
  node.set(0, element_attribute(node, "dtype", ElementType::kFloat), shape_attribute(node));
}

void random_like(NodeContext& node) {
  shape_like(node, 0, element_attribute(node, "dtype", node.element(0)), 0);
}

void multinomial(NodeContext& node) {
  const Shape* input = node.shape(0);
  const ElementType element = element_attribute(node, "dtype", ElementType::kInt32);
  node.set(0, element,
           {input != nullptr && !input->empty() ? (*input)[0] : Dimension{},
            number(node.node().attr_int("sample_size", 1))});
}

constexpr RuleRow kRows[] = {
    {"Bernoulli", random_like},
    {"Constant", constant},
    {"ConstantOfShape", constant_of_shape},
    {"EyeLike", eye_like},
    {"Multinomial", multinomial},
    {"RandomNormal", random},
    {"RandomNormalLike", random_like},
    {"RandomUniform", random},
    {"RandomUniformLike", random_like},
    {"Range", range},
    {"Shape", shape},
    {"Size", size},
};

}  // namespace

RuleRows constant_rules() { return kRows; }

}  // namespace edgesage::onnx
