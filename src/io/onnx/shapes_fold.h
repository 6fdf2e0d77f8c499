// Element-by-element arithmetic on folded values.
//
// What is not certain is unknown: a result that its integer type cannot hold, a division by 0. A
// symbol survives what leaves a number as it is (adding 0, multiplying by 1).
#pragma once

#include <functional>
#include <initializer_list>
#include <span>

#include "src/io/onnx/shapes_node.h"

namespace edgesage::onnx {

// Of the inputs' elements at one place, in their order.
using ScalarFunction = std::function<Scalar(ElementType, std::span<const Scalar>)>;

// Folds output 0 by `function` of the broadcast inputs, its type `element`; the first argument of
// `function` is the element type of input `typed_by`. Does nothing unless all inputs are folded.
void fold_elementwise(NodeContext& node, ElementType element, std::initializer_list<size_t> inputs,
                      size_t typed_by, const ScalarFunction& function);
void fold_elementwise(NodeContext& node, ElementType element, std::span<const size_t> inputs,
                      size_t typed_by, const ScalarFunction& function);

[[nodiscard]] Scalar add(ElementType element, const Scalar& a, const Scalar& b);
[[nodiscard]] Scalar subtract(ElementType element, const Scalar& a, const Scalar& b);
[[nodiscard]] Scalar multiply(ElementType element, const Scalar& a, const Scalar& b);
[[nodiscard]] Scalar divide(ElementType element, const Scalar& a, const Scalar& b);
[[nodiscard]] Scalar power(ElementType element, const Scalar& a, const Scalar& b);
// `like_c`: the sign of the dividend (fmod = 1), else that of the divisor.
[[nodiscard]] Scalar modulo(ElementType element, const Scalar& a, const Scalar& b, bool like_c);
[[nodiscard]] Scalar smaller(ElementType element, const Scalar& a, const Scalar& b);
[[nodiscard]] Scalar larger(ElementType element, const Scalar& a, const Scalar& b);
// -1, 0, 1, or nullopt where it is not known (one is unknown or not a number).
[[nodiscard]] std::optional<int> compare(ElementType element, const Scalar& a, const Scalar& b);
[[nodiscard]] Scalar convert(ElementType from, ElementType to, const Scalar& value);

}  // namespace edgesage::onnx
