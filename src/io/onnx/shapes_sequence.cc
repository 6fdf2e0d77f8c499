// Sequences and optional values.
#include "src/io/onnx/shapes_rules.h"

namespace edgesage::onnx {
namespace {

using Kind = ValueType::Kind;

const ValueType* inner(const NodeContext& node, size_t input, Kind kind) {
  const ValueType& type = node.type(input);
  return type.kind == kind ? type.inner.get() : nullptr;
}

void sequence_at(NodeContext& node) {
  if (const ValueType* type = inner(node, 0, Kind::kSequence)) node.set(0, *type);
}

void sequence_construct(NodeContext& node) {
  if (node.inputs() == 0) return;
  ValueType element = node.type(0);
  for (size_t i = 1; i < node.inputs(); ++i) element = common(element, node.type(i));
  node.set(0, holder(Kind::kSequence, std::move(element)));
}

void sequence_empty(NodeContext& node) {
  node.set(0,
           holder(Kind::kSequence, tensor(element_attribute(node, "dtype", ElementType::kFloat))));
}

void sequence_insert(NodeContext& node) {
  if (const ValueType* type = inner(node, 0, Kind::kSequence))
    node.set(0, holder(Kind::kSequence, common(*type, node.type(1))));
}

void sequence_length(NodeContext& node) { node.set(0, ElementType::kInt64, {}); }

void split_to_sequence(NodeContext& node) {
  const ElementType element = node.element(0);
  node.set(0, holder(Kind::kSequence, tensor(element)));
  const Shape* input = node.shape(0);
  if (input == nullptr) return;
  const auto axis = at_axis(node.node().attr_int("axis", 0), input->size());
  if (!axis)
    return node.fail("axis " + std::to_string(node.node().attr_int("axis", 0)) + " of " +
                     text(*input));
  Shape part = *input;
  const bool keep = node.node().attr_int("keepdims", 1) == 1;
  const auto position = part.begin() + static_cast<std::ptrdiff_t>(*axis);
  if (!node.has_input(1)) {
    *position = number(1);
    if (!keep) part.erase(position);
  } else {
    // Lengths that all parts share; a number given for all leaves a shorter last part.
    const Dimension size = *position;
    const FoldedPtr lengths = node.data(1);
    Dimension each;
    if (lengths != nullptr && !lengths->elements.empty() && is_integer(lengths->element)) {
      each = dimension_of(lengths->elements[0]);
      for (const Scalar& length : lengths->elements) each = common(each, dimension_of(length));
      const bool one_for_all = lengths->dims.empty();
      if (one_for_all && !(each.value > 0 && size.known() && size.value % each.value == 0))
        each = {};
    }
    *position = each;
  }
  node.set(0, holder(Kind::kSequence, tensor(element, std::move(part))));
}

void concat_from_sequence(NodeContext& node) {
  const ValueType* type = inner(node, 0, Kind::kSequence);
  if (type == nullptr) return;
  node.set_element(0, type->element);
  if (!type->has_shape) return;
  const bool fresh = node.node().attr_int("new_axis", 0) != 0;
  Shape result = type->shape;
  const auto axis = at_axis(node.node().attr_int("axis", 0), result.size() + (fresh ? 1 : 0));
  if (!axis)
    return node.fail("axis " + std::to_string(node.node().attr_int("axis", 0)) + " of " +
                     text(result));
  if (fresh) result.insert(result.begin() + static_cast<std::ptrdiff_t>(*axis), Dimension{});
  result[*axis] = {};
  node.set(0, type->element, std::move(result));
}

void optional(NodeContext& node) {
  const Attribute* attribute = node.node().find("type");
  if (attribute != nullptr && !attribute->types.empty())
    return node.set(0, holder(Kind::kOptional, attribute->types[0]));
  if (node.has_input(0)) node.set(0, holder(Kind::kOptional, node.type(0)));
}

void optional_get(NodeContext& node) {
  const ValueType* type = inner(node, 0, Kind::kOptional);
  node.set(0, type != nullptr ? *type : node.type(0));
}

void optional_has(NodeContext& node) { node.set(0, ElementType::kBool, {}); }

constexpr RuleRow kRows[] = {
    {"ConcatFromSequence", concat_from_sequence},
    {"Optional", optional},
    {"OptionalGetElement", optional_get},
    {"OptionalHasElement", optional_has},
    {"SequenceAt", sequence_at},
    {"SequenceConstruct", sequence_construct},
    {"SequenceEmpty", sequence_empty},
    {"SequenceErase", like_first},
    {"SequenceInsert", sequence_insert},
    {"SequenceLength", sequence_length},
    {"SplitToSequence", split_to_sequence},
};

}  // namespace

RuleRows sequence_rules() { return kRows; }

}  // namespace edgesage::onnx
