#include "src/io/onnx/shapes_rules.h"

#include <unordered_map>

namespace edgesage::onnx {
namespace {

using Table = std::unordered_map<std::string_view, Rule>;

Table table_of(std::initializer_list<RuleRows> groups) {
  Table table;
  for (const RuleRows rows : groups)
    for (const RuleRow& row : rows) table.emplace(row.op_type, row.rule);
  return table;
}

}  // namespace

Rule find_rule(std::string_view domain, std::string_view op_type) {
  static const Table standard =
      table_of({elementwise_rules(), window_rules(), matrix_rules(), reduction_rules(),
                layout_rules(), slicing_rules(), index_rules(), constant_rules(), resize_rules(),
                recurrent_rules(), attention_rules(), normalization_rules(), quantization_rules(),
                sequence_rules(), signal_rules(), text_rules()});
  static const Table microsoft = table_of({microsoft_rules()});
  static const Table classical = table_of({classical_rules()});
  static const Table preview = table_of({preview_rules()});
  static const Table training = table_of({training_rules()});
  const Table* table = nullptr;
  if (domain.empty() || domain == "ai.onnx") table = &standard;
  if (domain == "com.microsoft") table = &microsoft;
  if (domain == "ai.onnx.ml") table = &classical;
  if (domain == "ai.onnx.preview") table = &preview;
  if (domain == "ai.onnx.preview.training") table = &training;
  if (table == nullptr) return nullptr;
  auto at = table->find(op_type);
  if (at == table->end()) return nullptr;
  if (at->second != nullptr) return at->second;
  at = standard.find(op_type == "FusedGemm" ? "Gemm" : op_type);
  return at == standard.end() ? nullptr : at->second;
}

void same_as_first(NodeContext& node) {
  if (const FoldedPtr folded = node.data(0)) {
    node.fold(0, folded);
  } else if (const Constant* constant = node.constant(0)) {
    node.set_constant(0, *constant);
  } else {
    node.set(0, node.type(0));
  }
}

void like_first(NodeContext& node) { same_type_as(node, 0, 0); }

void same_type_as(NodeContext& node, size_t output, size_t input) {
  node.set(output, node.type(input));
}

void shape_like(NodeContext& node, size_t output, ElementType element, size_t input) {
  if (const Shape* shape = node.shape(input)) return node.set(output, element, *shape);
  node.set_element(output, element);
}

void broadcast_inputs(NodeContext& node, size_t output, ElementType element,
                      std::initializer_list<size_t> which) {
  broadcast_inputs(node, output, element, std::span(which.begin(), which.size()));
}

void broadcast_inputs(NodeContext& node, size_t output, ElementType element,
                      std::span<const size_t> which) {
  node.set_element(output, element);
  Shape result;
  for (const size_t input : which) {
    const Shape* shape = node.shape(input);
    if (shape == nullptr) return;
    const auto wider = broadcast(result, *shape);
    if (!wider)
      return node.fail("shapes " + text(result) + " and " + text(*shape) + " do not meet");
    result = *wider;
  }
  node.set(output, element, std::move(result));
}

Shape open_shape(size_t rank) { return Shape(rank); }

std::optional<Shape> sizes_as_shape(NodeContext& node, size_t input) {
  if (const FoldedPtr sizes = node.sizes(input)) {
    Shape shape;
    for (const Scalar& size : sizes->elements) {
      if (size.known && size.i < 0) {
        node.fail("a dimension of " + std::to_string(size.i));
        return std::nullopt;
      }
      shape.push_back(dimension_of(size));
    }
    return shape;
  }
  const auto length = node.list_length(input);
  return length ? std::optional(open_shape(*length)) : std::nullopt;
}

ElementType element_attribute(const NodeContext& node, std::string_view name,
                              ElementType otherwise) {
  return static_cast<ElementType>(node.node().attr_int(name, static_cast<int64_t>(otherwise)));
}

}  // namespace edgesage::onnx
