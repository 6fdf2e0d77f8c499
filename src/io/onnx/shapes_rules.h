// The rules of inference: one function an operator, by domain and name, grouped by kind in
// shapes_<kind>.cc. Versions are told apart inside of a rule by NodeContext::since().
//
// Specification: https://onnx.ai/onnx/operators/ (ai.onnx 1 to 27, ai.onnx.ml 1 to 5) and
// https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md (com.microsoft).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "src/io/onnx/shapes_node.h"

namespace edgesage::onnx {

using Rule = void (*)(NodeContext&);

struct RuleRow {
  std::string_view op_type;
  Rule rule;
};
using RuleRows = std::span<const RuleRow>;

// The rule of an operator, or null.
[[nodiscard]] Rule find_rule(std::string_view domain, std::string_view op_type);

// What the table is made of; ai.onnx, where not said otherwise.
[[nodiscard]] RuleRows elementwise_rules();
[[nodiscard]] RuleRows window_rules();
[[nodiscard]] RuleRows matrix_rules();
[[nodiscard]] RuleRows reduction_rules();
[[nodiscard]] RuleRows layout_rules();
[[nodiscard]] RuleRows slicing_rules();
[[nodiscard]] RuleRows index_rules();
[[nodiscard]] RuleRows constant_rules();
[[nodiscard]] RuleRows resize_rules();
[[nodiscard]] RuleRows recurrent_rules();
[[nodiscard]] RuleRows attention_rules();
[[nodiscard]] RuleRows normalization_rules();
[[nodiscard]] RuleRows quantization_rules();
[[nodiscard]] RuleRows sequence_rules();
[[nodiscard]] RuleRows signal_rules();
[[nodiscard]] RuleRows text_rules();
[[nodiscard]] RuleRows microsoft_rules();  // com.microsoft
[[nodiscard]] RuleRows classical_rules();  // ai.onnx.ml
[[nodiscard]] RuleRows training_rules();   // ai.onnx.preview.training

// Used by several kinds.

// Type, shape and value of the first input.
void same_as_first(NodeContext& node);
// Type and shape of an input, without its value.
void same_type_as(NodeContext& node, size_t output, size_t input);
// Element type of an input, shape of another.
void shape_like(NodeContext& node, size_t output, ElementType element, size_t input);
// All inputs from `first` to before `end` broadcast together; the result has `element`.
void broadcast_inputs(NodeContext& node, size_t output, ElementType element,
                      std::initializer_list<size_t> which);
// An output of known rank and open dimensions.
[[nodiscard]] Shape open_shape(size_t rank);
// The dimensions that an input lists: all, some, or their number; nullopt where not even that is
// known, or after node.fail().
[[nodiscard]] std::optional<Shape> sizes_as_shape(NodeContext& node, size_t input);
// A matrix product of stacks of matrices, NumPy's rule; nullopt after node.fail().
[[nodiscard]] std::optional<Shape> matmul_shape(NodeContext& node, const Shape& a, const Shape& b);
// Element type of an attribute that holds one (`dtype`, `to`); `otherwise` where it is absent.
[[nodiscard]] ElementType element_attribute(const NodeContext& node, std::string_view name,
                                            ElementType otherwise);
// Windows: Conv, pooling and their quantised forms. Channels are the first dimension of `weights`.
void convolution(NodeContext& node, size_t input, size_t weights, ElementType element);
void pooling(NodeContext& node, size_t output, ElementType element);
void global_pooling(NodeContext& node);

}  // namespace edgesage::onnx
