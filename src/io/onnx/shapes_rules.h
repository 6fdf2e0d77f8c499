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
[[nodiscard]] RuleRows preview_rules();    // ai.onnx.preview
[[nodiscard]] RuleRows training_rules();   // ai.onnx.preview.training

// Used by several kinds.

// Type, shape and value of the first input.
void same_as_first(NodeContext& node);
// Type and shape of the first input, without its value.
void like_first(NodeContext& node);
// The same of another input, for another output.
void same_type_as(NodeContext& node, size_t output, size_t input);
// Element type of an input, shape of another.
void shape_like(NodeContext& node, size_t output, ElementType element, size_t input);
// These inputs broadcast together; the result has `element`.
void broadcast_inputs(NodeContext& node, size_t output, ElementType element,
                      std::span<const size_t> which);
void broadcast_inputs(NodeContext& node, size_t output, ElementType element,
                      std::initializer_list<size_t> which);
// An output of known rank and open dimensions.
[[nodiscard]] Shape open_shape(size_t rank);
// The dimensions that an input lists: all, some, or their number; nullopt where not even that is
// known, or after node.fail().
[[nodiscard]] std::optional<Shape> sizes_as_shape(NodeContext& node, size_t input);
// A product of stacks of matrices by NumPy's rule; `turn_a` and `turn_b` swap the last two
// dimensions first.
void matrix_product(NodeContext& node, size_t a, size_t b, ElementType element, bool turn_a = false,
                    bool turn_b = false);
// `shape` without `axes`, or with 1 in their place (`keep`); nullopt after node.fail().
[[nodiscard]] std::optional<Shape> reduced(NodeContext& node, const Shape& shape,
                                           std::span<const int64_t> axes, bool keep);
// Inputs `first`, `first + step`, ... laid one behind the other.
struct Joined {
  Shape shape;
  size_t axis = 0;
  bool complete = true;  // the shapes of all parts are known
};
// nullopt where no shape is known, or after node.fail().
[[nodiscard]] std::optional<Joined> joined(NodeContext& node, int64_t axis, size_t first,
                                           size_t step);
// Element type of an attribute that holds one (`dtype`, `to`); `otherwise` where it is absent.
[[nodiscard]] ElementType element_attribute(const NodeContext& node, std::string_view name,
                                            ElementType otherwise);
// Windows: Conv, pooling and their quantised forms. Channels are the first dimension of `weights`.
void convolution(NodeContext& node, size_t input, size_t weights, ElementType element);
void pooling(NodeContext& node, size_t output, ElementType element);
void global_pooling(NodeContext& node);

}  // namespace edgesage::onnx
