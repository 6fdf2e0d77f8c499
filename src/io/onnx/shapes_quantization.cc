// Quantised numbers and back.
#include "src/io/onnx/shapes_rules.h"

namespace edgesage::onnx {
namespace {

// The type is that of the zero point, else of the attribute, else uint8.
void quantize(NodeContext& node) {
  ElementType element = element_attribute(node, "output_dtype", ElementType::kUndefined);
  if (element == ElementType::kUndefined)
    element = node.has_input(2) ? node.element(2) : ElementType::kUint8;
  shape_like(node, 0, element, 0);
}

// Before version 19 always float, since then as the scale.
void dequantize(NodeContext& node) {
  ElementType element = element_attribute(node, "output_dtype", ElementType::kUndefined);
  if (element == ElementType::kUndefined)
    element = node.since() < 19 ? ElementType::kFloat : node.element(1);
  shape_like(node, 0, element, 0);
}

void dynamic_quantize(NodeContext& node) {
  shape_like(node, 0, ElementType::kUint8, 0);
  node.set(1, ElementType::kFloat, {});
  node.set(2, ElementType::kUint8, {});
}

constexpr RuleRow kRows[] = {
    {"DequantizeLinear", dequantize},
    {"DynamicQuantizeLinear", dynamic_quantize},
    {"QuantizeLinear", quantize},
};

}  // namespace

RuleRows quantization_rules() { return kRows; }

}  // namespace edgesage::onnx
